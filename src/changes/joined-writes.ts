/** Joined writes: write the moved fields in a body of an older version to the rows that have them now. Part 9, versions. */

import { type MergeValue, mergePatch } from '../resources/document.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { JoinedTexts } from './answer.ts'
import { compileConversion, joinedSource, type ValueSource, type VersionDocument } from './conversion.ts'
import { runConversion } from './conversion-error.ts'
import { mergePatchFor, olderDocument, type ResourceConversion } from './convert-body.ts'

/** A write to another row. */
export interface JoinedWrite {
  readonly by: string
  readonly today: Resource
  /** Returns the fields of the row that change. */
  readonly patch: (row: VersionDocument) => VersionDocument
}

/** A field of a body that another row has now, with its value as it was in the version that moved it. */
interface MovedBodyValue {
  readonly source: ValueSource
  readonly name: string
  readonly value: unknown
}

/** The values in a body for fields that other rows have now; a patch is merged with the values of these rows. */
function movedBodyValues(
  own: ResourceConversion,
  body: VersionDocument,
  document: VersionDocument,
  rows: JoinedTexts,
  merge: MergeValue = mergePatch,
): MovedBodyValue[] {
  const { resource, down, up } = own
  const sources = Object.keys(body).flatMap((name) => {
    const source = joinedSource(down.sources.get(name))
    return source && resource.byName.get(name)?.from === 'caller' ? [{ name, source }] : []
  })
  if (sources.length === 0) return []
  const shown = olderDocument(own, document, rows)
  const checked = sources.map(({ name }) => {
    const { field, check } = resource.byName.get(name) as Member
    return [name, check(rows.length > 0 ? merge(field, shown[name], body[name]) : body[name], '', [])]
  })
  const names = sources.map(({ source }) => source.name)
  const given = { ...shown, ...Object.fromEntries(checked) }
  const values = runConversion(resource, document, 0, () => compileConversion(up, names)(given))
  return sources.map((one, i) => ({ ...one, value: values[i] ?? null }))
}

interface JoinedWriteContext {
  readonly rows: JoinedTexts
  readonly resources: ReadonlyMap<string, Resource>
  readonly merge?: MergeValue | undefined
}

/** The writes of a body to other rows, one for each row. */
export function joinedWrites(
  own: ResourceConversion,
  body: VersionDocument,
  document: VersionDocument,
  { rows, resources, merge }: JoinedWriteContext,
): JoinedWrite[] {
  const all = movedBodyValues(own, body, document, rows, merge)
  return own.down.joined.flatMap(({ by, collection }, i) => {
    const some = all.filter(({ source }) => source.at === i)
    const today = resources.get(collection) as Resource
    const patch = (row: VersionDocument): VersionDocument => {
      const members: VersionDocument = {}
      for (const { source, value } of some)
        runConversion(today, row, 0, () => Object.assign(members, source.there?.put({ ...row, ...members }, value)))
      const merged = Object.entries(members).map(([name, value]) => {
        const member = today.byName.get(name)
        return [name, member ? mergePatchFor(member.field, row[name], value) : value]
      })
      return Object.fromEntries(merged)
    }
    return some.length === 0 ? [] : [{ by, today, patch }]
  })
}

/** Keeps the value of a moved field in this row while its link is null, and clears it otherwise. */
export function keepUnlinkedValues(
  own: ResourceConversion,
  body: VersionDocument,
  document: VersionDocument,
  rows: JoinedTexts = [],
  merge?: MergeValue,
): VersionDocument {
  for (const { source, value } of movedBodyValues(own, body, document, rows, merge))
    if (source.otherwise)
      document[source.name] = document[own.down.joined[source.at]?.by as string] == null ? value : null
  return document
}
