/** Row writer: makes the write of a row from its document, with the effects that follow from it. Part 4, methods. */
import type { FoundRow } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type {
  Consequences,
  Create,
  EffectRead,
  EffectReadResult,
  Remove,
  RemovedRow,
  RowChange,
  RowWrite,
  Update,
} from '../flow/plan.ts'
import { timestampOf } from '../formats/time.ts'
import { decodeDocument, encodeRow, updatedAtIn, withUpdatedAt } from '../resources/document.ts'
import { referencesIn } from '../resources/relations.ts'
import type { Resource } from '../resources/resource.ts'
import { cellsIn, type DocumentTexts, encodeDocument, type Reference, withDerivedValues } from '../rows/collection.ts'
import {
  consequencesOf,
  type DocumentWrite,
  type EffectMaker,
  type EffectTools,
  LaterDocument,
} from './effect-maker.ts'

type NewRow = Pick<Create, 'key' | 'parent' | 'time'> & Partial<Create> & Guarded

/** A check of other rows, which are locked until the write is committed. */
export interface RowGuard {
  readonly reads: readonly EffectRead[]
  /** Throws to refuse the write. */
  readonly admit: (seen: readonly EffectReadResult[]) => void
}

interface Guarded {
  readonly guard?: RowGuard | undefined
}

/** A row that is there, and when it is changed. */
interface SeenRow extends Pick<RowChange, 'key' | 'time'>, Guarded {
  readonly seen: FoundRow
  readonly before: Document
  /** Whether the write counts as a change even if the document stays the same. R112 */
  readonly always: boolean
  /** Whether a transition enters the state anew, even if it is the same one. */
  readonly entered?: boolean
}

/** Makes all writes of rows, so that none is without its effects. */
export interface RowWriter {
  readonly create: (resource: Resource, document: Document, row: NewRow) => Create
  /** Writes nothing if the row has this document already. */
  readonly update: (resource: Resource, document: Document, row: SeenRow) => RowWrite
  readonly remove: (
    resource: Resource,
    row: Omit<Remove, 'do' | 'collection' | 'revision'> & Guarded,
    seen: FoundRow,
  ) => Remove
}

export function rowWriter(resources: ReadonlyMap<string, Resource>, makers: readonly EffectMaker[]): RowWriter {
  const byResource = Map.groupBy(makers, ({ resource }) => resource)
  const follow: FollowWrite = ({ name }, write, make) => {
    const own = byResource.get(name)
    if (!own) return undefined
    const made = write()
    return consequencesOf(own, made, changeAt(made.time), make)
  }
  const changeAt =
    (time: number): EffectTools['change'] =>
    (name, key, act) =>
      rowChange(writer, resources.get(name) as Resource, { key, time }, act)
  const onRemove = new Map(
    [...byResource.keys()].map((name) => [
      name,
      (row: RemovedRow) => followRemoval(follow, resources.get(name) as Resource, row, { do: 'keep' }) as Consequences,
    ]),
  )
  const held = heldByState(resources)
  const writer: RowWriter = {
    create: (...given) => newRow(follow, ...given),
    update: (...given) => changedRow(follow, ...given),
    remove: (resource, { guard, ...row }, seen) => {
      const made: Remove = { do: 'remove', collection: resource.name, revision: seen.revision, held, onRemove, ...row }
      return guarded(made, followRemoval(follow, resource, { ...seen, ...row }, made), guard)
    },
  }
  return writer
}

/** By resource: whether the state of a row forbids its removal. */
const heldByState = (resources: ReadonlyMap<string, Resource>): NonNullable<Remove['held']> =>
  new Map(
    [...resources.values()].flatMap(({ name, machine }) => {
      const allowed = machine?.writable.remove
      return machine && allowed
        ? [[name, (doc: string) => !allowed.includes(String((JSON.parse(doc) as Document)[machine.field]))]]
        : []
    }),
  )

function newRow(follow: FollowWrite, resource: Resource, document: Document, { guard, ...row }: NewRow): Create {
  const { fields } = resource.collection
  const made = creation(resource, withDerivedValues(fields, document), row)
  const again = (after: Document) => creation(resource, withDerivedValues(fields, after), row)
  return guarded(
    made,
    follow(resource, () => ({ ...row, before: null, after: document }), again),
    guard,
  )
}

function changedRow(follow: FollowWrite, resource: Resource, document: Document, row: SeenRow): RowWrite {
  const { fields } = resource.collection
  const texts = encodeDocument(resource.collection, withDerivedValues(fields, document))
  if (!row.always && texts.doc === row.seen.doc && texts.hidden === row.seen.hidden)
    return guarded({ do: 'keep' }, undefined, row.guard)
  const made = changed(resource, document, texts, row)
  const again = (after: Document) => {
    const derived = withDerivedValues(fields, after)
    return changed(resource, derived, encodeDocument(resource.collection, derived), row)
  }
  return guarded(
    made,
    follow(resource, () => ({ ...row, after: document }), again),
    row.guard,
  )
}

/** The consequences of a write; undefined if no maker follows the writes of the resource. */
type FollowWrite = (
  resource: Resource,
  write: () => DocumentWrite,
  make: (after: Document) => RowWrite,
) => Consequences | undefined

const followRemoval = (
  follow: FollowWrite,
  resource: Resource,
  { key, time, doc, hidden }: RemovedRow,
  made: RowWrite,
): Consequences | undefined =>
  follow(
    resource,
    () => ({ key, time, before: decodeDocument(resource, doc, hidden), after: null }),
    () => made,
  )

/** A write with its consequences, if the check of its guard lets it pass. */
function guarded<W extends RowWrite>(write: W, follows: Consequences | undefined, guard: RowGuard | undefined): W {
  if (guard === undefined) return follows === undefined ? write : { ...write, consequences: follows }
  const consequences: Consequences = {
    reads: [...guard.reads, ...(follows?.reads ?? [])],
    decide: (all) => {
      guard.admit(all.slice(0, guard.reads.length))
      return follows ? follows.decide(all.slice(guard.reads.length)) : write
    },
  }
  return { ...write, consequences }
}

/** A change of the document of a row; a row that is not there stays so. */
const rowChange = (
  { update }: RowWriter,
  resource: Resource,
  row: Pick<RowChange, 'key' | 'time'>,
  act: (document: Document) => Document | LaterDocument,
): RowChange => ({
  collection: resource.name,
  ...row,
  change: (seen) => {
    if (seen.is !== 'found') return { do: 'keep' }
    const before = decodeDocument(resource, seen.doc, seen.hidden)
    const written = (after: Document) => update(resource, after, { ...row, seen, before, always: false })
    const after = act(before)
    if (!(after instanceof LaterDocument)) return written(after)
    return { do: 'keep', consequences: { reads: after.reads, decide: (rows) => written(after.make(rows)) } }
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
