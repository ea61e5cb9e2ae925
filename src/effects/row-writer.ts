/** Row writer: makes the write of a row from its document, with the effects that follow from it. Part 4, methods. */
import type { FoundRow } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Consequences, Create, Remove, RemovedRow, RowChange, RowWrite, Update } from '../flow/plan.ts'
import { timestampOf } from '../formats/time.ts'
import { decodeDocument, encodeRow, updatedAtIn, withUpdatedAt } from '../resources/document.ts'
import { referencesIn } from '../resources/relations.ts'
import type { Resource } from '../resources/resource.ts'
import { cellsIn, type DocumentTexts, encodeDocument, type Reference } from '../rows/collection.ts'
import { consequencesOf, type DocumentWrite, type EffectMaker, type EffectTools } from './effect-maker.ts'

type NewRow = Pick<Create, 'key' | 'parent' | 'time'> & Partial<Create>

/** A row that is there, and when it is changed. */
interface SeenRow extends Pick<RowChange, 'key' | 'time'> {
  readonly seen: FoundRow
  readonly before: Document
  /** Whether the write counts as a change even if the document stays the same. R112 */
  readonly always: boolean
}

/** Makes all writes of rows, so that none is without its effects. */
export interface RowWriter {
  readonly create: (resource: Resource, document: Document, row: NewRow) => Create
  /** Writes nothing if the row has this document already. */
  readonly update: (resource: Resource, document: Document, row: SeenRow) => RowWrite
  readonly remove: (resource: Resource, row: Omit<Remove, 'do' | 'collection' | 'revision'>, seen: FoundRow) => Remove
}

export function rowWriter(resources: ReadonlyMap<string, Resource>, makers: readonly EffectMaker[]): RowWriter {
  const byResource = Map.groupBy(makers, ({ resource }) => resource)
  const follow = ({ name }: Resource, write: DocumentWrite, make: (after: Document) => RowWrite): Consequences =>
    consequencesOf(byResource.get(name) ?? [], write, changeAt(write.time), make)
  const changeAt =
    (time: number): EffectTools['change'] =>
    (name, key, act) =>
      rowChange(writer, resources.get(name) as Resource, { key, time }, act)
  const removed = (resource: Resource, row: RemovedRow, made: RowWrite): Consequences =>
    follow(resource, { ...row, before: decodeDocument(resource, row.doc, row.hidden), after: null }, () => made)
  const onRemove = new Map(
    [...byResource.keys()].map((name) => [
      name,
      (row: RemovedRow) => removed(resources.get(name) as Resource, row, { do: 'keep' }),
    ]),
  )
  const writer: RowWriter = {
    create: (resource, document, row) => {
      const made = creation(resource, document, row)
      if (!byResource.has(resource.name)) return made
      const write = { ...row, before: null, after: document }
      return { ...made, consequences: follow(resource, write, (after) => creation(resource, after, row)) }
    },
    update: (resource, document, row) => {
      const texts = encodeDocument(resource.collection, document)
      if (!row.always && texts.doc === row.seen.doc && texts.hidden === row.seen.hidden) return { do: 'keep' }
      const made = changed(resource, document, texts, row)
      if (!byResource.has(resource.name)) return made
      const again = (after: Document) => changed(resource, after, encodeDocument(resource.collection, after), row)
      return { ...made, consequences: follow(resource, { ...row, after: document }, again) }
    },
    remove: (resource, row, seen) => {
      const made: Remove = { do: 'remove', collection: resource.name, revision: seen.revision, onRemove, ...row }
      return byResource.has(resource.name)
        ? { ...made, consequences: removed(resource, { ...seen, ...row }, made) }
        : made
    },
  }
  return writer
}

/** A change of the document of a row; a row that is not there stays so. */
const rowChange = (
  { update }: RowWriter,
  resource: Resource,
  row: Pick<RowChange, 'key' | 'time'>,
  act: (document: Document) => Document,
): RowChange => ({
  collection: resource.name,
  ...row,
  change: (seen) => {
    if (seen.is !== 'found') return { do: 'keep' }
    const before = decodeDocument(resource, seen.doc, seen.hidden)
    return update(resource, act(before), { ...row, seen, before, always: false })
  },
})

function creation(resource: Resource, document: Document, row: NewRow): Create {
  const chosen = resource.key !== null || resource.settings.resource.id !== 'typeid'
  return {
    do: 'create',
    collection: resource.name,
    row: encodeRow(resource, document),
    id: chosen ? 'chosen' : 'fresh',
    references: changedReferences(resource, document),
    claim: null,
    ...row,
  }
}

function changed(resource: Resource, document: Document, { doc, hidden }: DocumentTexts, row: SeenRow): Update {
  const { key, time, seen, before } = row
  const last = laterTime(timestampOf(time), updatedAtIn(seen.doc))
  document[resource.updated] = last
  const [stood, cells] = [cellsIn(resource.collection, before), cellsIn(resource.collection, document)]
  return {
    do: 'update',
    collection: resource.name,
    key,
    revision: seen.revision,
    time,
    row: { doc: withUpdatedAt(doc, last), hidden, cells },
    changedCells: cells.flatMap((cell, i) => (cell === stood[i] ? [] : [i])),
    references: changedReferences(resource, document, before),
  }
}

const laterTime = (a: string, b: string): string => (a > b ? a : b)

/** The references of a document that differ from those it had before. */
function changedReferences({ members }: Resource, document: Document, before?: Document): Reference[] {
  return members.flatMap(({ name, field }) => {
    const known = before && JSON.stringify(before[name]) === JSON.stringify(document[name])
    return known ? [] : referencesIn(field, document[name], `/${name}`)
  })
}
