/** Blame: which part of which change makes what does not hold. Part 9, versioning. */
import type { Change } from '../resources/change.ts'
import { changesSince } from './fixture.ts'

/** A promise that does not hold: in words, and where it could come from. */
export interface PromiseFault {
  readonly says: string
  /** The version that it is a promise of. */
  readonly label: string
  /** The field, under its name there; undefined where it is none of one field. */
  readonly field?: string | undefined
  /** What has to do with it, where a change makes the field. */
  readonly by: 'request' | 'response' | 'both' | 'filters' | 'sorts'
}

/** What to look at; nothing where no change since then has to do with it. */
export function mendOfFault(changes: readonly Change[], newest: string, { label, field, by }: PromiseFault): string {
  const since = changesSince(changes, newest, label).toReversed()
  let name = field
  for (const change of since) {
    const part = name === undefined ? soleFunction(since, change, by) : changePart(change, name, by)
    if (part) return `Look at \`${part}\` in the change of ${change.resource} in ${change.version}.`
    name = name && (change.renamed?.[name] ?? name)
  }
  return ''
}

/** Where nothing says which field it is, and one change alone has such a part. */
const soleFunction = (since: readonly Change[], change: Change, by: PromiseFault['by']): string | undefined =>
  by !== 'both' && change[by] && since.filter((one) => one[by]).length === 1 ? by : undefined

/** The part of a change that a field of before goes through; undefined where it only has another name, or none. */
function changePart(change: Change, name: string, by: PromiseFault['by']): string | undefined {
  const { renamed = {}, removed = {}, retyped = {}, required = {}, mapped = {}, shown = {}, moved = {} } = change
  const now = renamed[name] ?? name
  if (by === 'filters' && Object.hasOwn(change.filters ?? {}, name)) return `filters.${name}`
  if (by === 'sorts' && Object.hasOwn(change.sorts ?? {}, name)) return `sorts.${name}`
  const own = by === 'both' ? 'request` and `response' : by === 'filters' || by === 'sorts' ? 'response' : by
  if (Object.hasOwn(removed, name) || Object.hasOwn(retyped, now)) return own
  if (Object.hasOwn(moved, name)) return `moved.${name}`
  const parts = Object.entries({ required, mapped, shown }).filter(([, one]) => Object.hasOwn(one, now))
  return parts.length === 0 ? undefined : parts.map(([part]) => `${part}.${now}`).join('` and `')
}
