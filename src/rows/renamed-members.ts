/**
 * Renamed members: the names of fields that documents of former shapes have. Rows are rewritten when a field is renamed, but
 * events, revisions and first answers stay as they were, also when the declaration no longer says `was`. Part 2, resources.
 */
import { isObject } from '../fields/value-check.ts'
import type { Members } from './shape.ts'

/** The fields that a shape names otherwise than the shape before it. */
export interface Renaming {
  /** The number of the first shape that has the new names. */
  readonly shape: number
  /** The new paths by the former ones, nested ones with dots, items of lists as `*`. */
  readonly names: Readonly<Record<string, string>>
}

/** A document with new names for its renamed members; a removed member whose name is taken again is left out. */
export function renameMembers(document: Members, names: Renaming['names'], at = ''): Members {
  const entries = Object.entries(document).map(([name, value]) => {
    const path = at + name
    const now = names[path]?.split('.').at(-1)
    return { name: now ?? name, isRenamed: now !== undefined, value: renameInside(value, names, `${path}.`) }
  })
  const taken = new Set(entries.filter(({ isRenamed }) => isRenamed).map(({ name }) => name))
  return Object.fromEntries(
    entries
      .filter(({ name, isRenamed }) => isRenamed || !taken.has(name))
      .map(({ name, value }): [string, unknown] => [name, value]),
  )
}

function renameInside(value: unknown, names: Renaming['names'], at: string): unknown {
  if (Array.isArray(value)) return value.map((one) => renameInside(one, names, `${at}*.`))
  return isObject(value) ? renameMembers(value as Members, names, at) : value
}
