/** Fault: a promise that does not hold, and the part of a change that may have broken it. Part 9, versioning. */
import type { Change } from '../resources/change.ts'
import { changesSince } from './version-service.ts'

/** A promise that does not hold: in words, and where it may come from. */
export interface PromiseFault {
  readonly says: string
  /** The version that made the promise. */
  readonly label: string
  /** The field, by its name in that version; undefined if the fault is not about one field. */
  readonly field?: string | undefined
  /** The part of a change that may be at fault, if a change computes the field. */
  readonly by: 'request' | 'response' | 'both' | 'filters' | 'sorts'
}

/** Names the part of a change to look at; empty if no later change affects the field. */
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

/** For an unknown field: the part, if only one change has such a part. */
const soleFunction = (since: readonly Change[], change: Change, by: PromiseFault['by']): string | undefined =>
  by !== 'both' && change[by] && since.filter((one) => one[by]).length === 1 ? by : undefined

/** The part of a change that converts an old field; undefined if the change only renames it, or does not affect it. */
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
