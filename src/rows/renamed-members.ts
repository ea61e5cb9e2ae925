/**
 * Renamed members: the names of fields that documents of former shapes have. Rows are rewritten when the declaration changes, but
 * events, revisions and first answers stay as they were, also when the declaration no longer says `was`. Part 2, resources.
 */
import { isObject } from '../fields/value-check.ts'
import type { Members, ShapedField } from './shape.ts'

/** The fields that a shape names otherwise than the shape before it. */
export interface Renaming {
  /** The number of the first shape that has the new names. */
  readonly shape: number
  /** The new paths by the former ones, nested ones with dots, items of lists as `*`. */
  readonly names: Readonly<Record<string, string>>
}

/** The new path of a field, whose objects may be renamed too. */
export const renamePath = (path: string, names: Renaming['names']): string =>
  path
    .split('.')
    .map((name, i, all) => names[all.slice(0, i + 1).join('.')]?.split('.').at(-1) ?? name)
    .join('.')

/** A document with new names for its renamed members; a removed member whose name is taken again is left out. */
export function renameMembers(document: Members, names: Renaming['names'], at = ''): Members {
  const rename = (inner: Members, inside: string) => renameMembers(inner, names, inside)
  const entries = Object.entries(document).map(([name, value]) => {
    const path = at + name
    const now = names[path]?.split('.').at(-1)
    return { name: now ?? name, isRenamed: now !== undefined, value: convertInside(value, path, rename) }
  })
  const taken = new Set(entries.filter(({ isRenamed }) => isRenamed).map(({ name }) => name))
  return Object.fromEntries(
    entries
      .filter(({ name, isRenamed }) => isRenamed || !taken.has(name))
      .map(({ name, value }): [string, unknown] => [name, value]),
  )
}

/** Converts the documents inside a value. `at` is the path of the value. */
function convertInside(value: unknown, at: string, convert: (document: Members, at: string) => Members): unknown {
  if (Array.isArray(value)) return value.map((one) => convertInside(one, `${at}.*`, convert))
  return isObject(value) ? convert(value as Members, `${at}.`) : value
}

type StructurePart = readonly [name: string, kind: string, writeOnly: boolean, digits: unknown, inner: StructurePart[]]

/** The kinds of fields by their path: those of a declaration, or of the name of a structure. References are of one kind. */
export function kindsIn(fields: string | readonly ShapedField[]): ReadonlyMap<string, string> {
  const kinds = new Map<string, string>()
  const add = (at: string, name: string, kind: string): string => {
    kinds.set(at + name, kind.replace(/^ref .*$/, 'ref'))
    return `${at}${name}.`
  }
  const addParts = (parts: readonly StructurePart[], at = ''): void => {
    for (const [name, kind, , , inner] of parts) addParts(inner, add(at, name, kind))
  }
  const addFields = (all: readonly ShapedField[], at = ''): void => {
    for (const { name, kind, inner } of all) addFields(inner, add(at, name, kind))
  }
  if (typeof fields === 'string') addParts(JSON.parse(fields.slice(fields.indexOf('['))))
  else addFields(fields)
  return kinds
}

/** A document without the members at some paths; a list whose items are at one of them is left out as a whole. */
export function omitMembers(document: Members, paths: ReadonlySet<string>, at = ''): Members {
  const omit = (inner: Members, inside: string) => omitMembers(inner, paths, inside)
  return Object.fromEntries(
    Object.entries(document).flatMap(([name, value]): [string, unknown][] => {
      const path = at + name
      if (paths.has(path) || paths.has(`${path}.*`)) return []
      return [[name, convertInside(value, path, omit)]]
    }),
  )
}
