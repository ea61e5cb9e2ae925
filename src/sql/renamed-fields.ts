/** Renamed fields: the former names of fields, as the database remembers them for events and revisions. Pure. The store. */
import {
  type Collection,
  type Members,
  type Renaming,
  renameMembers,
  type ShapeConversions,
} from '../rows/collection.ts'
import type { FieldSource } from './field-sources.ts'
import type { TableLayout } from './stored-layout.ts'
import { isConverted, isLaterVersion, storedVersionAt } from './stored-version.ts'

/** The path at which the old declaration has the values of a field; null if a version makes them in another way. */
export function formerPath(
  one: Collection,
  field: string,
  before: TableLayout,
  all: readonly FieldSource[],
): string | null {
  if (!isConverted(one, before)) return all.find(({ path }) => path === field)?.from ?? field
  const [top, ...rest] = field.split('.')
  const from = one.conversions?.sourceField(storedVersionAt(one, before, before.shape), top as string) ?? null
  return from === null ? null : [from, ...rest].join('.')
}

/** What a new shape, which follows all that the table has, renames. */
export function renamings(one: Collection, before: TableLayout, all: readonly FieldSource[]): Renaming[] {
  const names = Object.fromEntries(
    all.flatMap(({ path }): [string, string][] => {
      const from = formerPath(one, path, before, all)
      const isRenamed = from !== null && from.split('.').at(-1) !== path.split('.').at(-1)
      return isRenamed && Object.hasOwn(before.kinds, from) ? [[from, path]] : []
    }),
  )
  return Object.keys(names).length > 0 ? [{ shape: before.shapes.length + 1, names }] : []
}

/**
 * Gives the members of a record the names that the declared version of its shape has now. Later versions rename them by their
 * changes; versions that are no longer declared have none, so that the database's names are used. Undefined if no field was renamed.
 */
export function memberRenaming(one: Collection, table: TableLayout): ShapeConversions['renamed'] {
  const { renamed = [] } = table
  if (renamed.length === 0) return undefined
  const [oldest = ''] = one.versions ?? []
  return (shape, document) => {
    const version = storedVersionAt(one, table, shape)
    const last = oldest !== '' && isLaterVersion(oldest, version) ? oldest : version
    return renamed
      .filter((step) => step.shape > shape && !isLaterVersion(storedVersionAt(one, table, step.shape), last))
      .reduce<Members>((now, { names }) => renameMembers(now, names), document)
  }
}
