/** Tables: statements that create tables and indexes, and checks of renamed collections. Pure. The store. */
import { type Collection, keyColumns } from '../rows/collection.ts'
import { type Dialect, quoted } from '../sql/dialect.ts'
import { fieldSources } from '../sql/field-sources.ts'
import { indexTerm } from '../sql/index-width.ts'
import type { Layout, TableLayout } from '../sql/layout.ts'
import { createSearchIndex, isSearchIndex } from '../sql/search-index.ts'
import { dropView } from '../sql/statements.ts'
import { isConverted, isLaterVersion, storedVersionAt } from '../sql/stored-version.ts'
import { shardKeyColumn, shardKeyPrefix } from './shared-tables.ts'
import type { SchemaStep } from './step.ts'

/** A renamed resource needs a step without SQL, which stores the layout with the new name. */
export const renameSteps = ({ name, table }: Collection, was: Layout | null): SchemaStep[] => {
  if (was?.tables[name]?.table === table) return []
  const before = Object.entries(was?.tables ?? {}).find(([, one]) => one.table === table)?.[0] ?? name
  const note = 'The table and references to it stay as they are; nodes of the former declaration are not affected.'
  return before === name ? [] : [{ about: `rename the resource ${before} to ${name}`, phase: 'expand', sql: [], note }]
}

/** Refuses a declaration that knows a renamed resource only by its old name: it would create a second, empty table. */
export function refuseFormerName(name: string, all: readonly Collection[], was: Layout | null): void {
  const own = all.find((one) => one.name === name)?.table
  const [holder] = Object.entries(was?.tables ?? {}).find(([, { table }]) => table === own) ?? []
  if (holder === undefined || all.some((one) => one.name === holder)) return
  throw new Error(
    `The resource ${name} was renamed to ${holder} in a version that this declaration does not have. Start with the declaration that has ${holder}; it serves ${name} in its older versions.`,
  )
}

/** Refuses rows of an undeclared version that is later than all declared ones, or between them: they cannot be converted. */
export function refuseLaterRows(one: Collection, was: TableLayout): void {
  const storedVersion = storedVersionAt(one, was, was.shape)
  const { versions = [] } = one
  const newest = versions.at(-1)
  const isOver = newest === undefined ? lostFields(one, was).length > 0 : isLaterVersion(storedVersion, newest)
  const isLeftOut =
    isConverted(one, was) &&
    versions.some((label) => isLaterVersion(storedVersion, label)) &&
    !versions.includes(storedVersion)
  if (storedVersion === '' || !(isOver || isLeftOut)) return
  throw new Error(
    `The rows of ${one.name} are stored in the form of ${storedVersion}, which this declaration does not have. Start with the declaration that has it; it serves the older versions too.`,
  )
}

export function createTableSteps(one: Collection, is: TableLayout, dialect: Dialect): SchemaStep[] {
  const note = 'A new table; nothing waits for it.'
  return [{ about: `create ${one.name}`, phase: 'expand', sql: createTableStatements(one, is, dialect), note }]
}

export function createTableStatements(one: Collection, is: TableLayout, dialect: Dialect): string[] {
  const [text, integer] = [dialect.type('text'), dialect.type('integer')]
  const key = keyColumns(one)
  const columns = [
    ...key.map((name) => `${name} ${text} NOT NULL`),
    `revision ${integer} NOT NULL`,
    `shape ${integer} NOT NULL`,
    `doc ${text} NOT NULL`,
    `hidden ${text}`,
    ...Object.entries(is.columns).map(([name, { type }]) => `${quoted(name)} ${type}`),
    `PRIMARY KEY (${shardKeyPrefix(dialect)}${key.join(', ')})`,
  ]
  const table = `CREATE TABLE ${quoted(is.table)} (${shardKeyColumn(dialect)}${columns.join(', ')})${dialect.tableOptions}`
  const indexes = Object.entries(is.indexes).flatMap(([name, names]) => createIndexTexts(is, name, names, '', dialect))
  return [table, ...(dialect.distribute?.(is.table) ?? []), ...indexes, dropView(one), is.view]
}

export function createIndexTexts(
  { table, account, composite }: TableLayout,
  name: string,
  columns: readonly string[],
  how: string,
  dialect: Dialect,
): readonly string[] {
  if (isSearchIndex(name))
    return createSearchIndex(
      { name, table, key: keyColumns({ account: account ?? null, composite }), columns },
      how,
      dialect,
    )
  const unique = name.startsWith('unique') ? 'UNIQUE ' : ''
  return [`CREATE ${unique}INDEX ${how}${quoted(name)} ON ${quoted(table)} (${columns.map(indexTerm).join(', ')})`]
}

/** The old fields whose values are dropped, as no current field takes them. */
export function lostFields(one: Collection, was: TableLayout): string[] {
  const all = fieldSources(one.fields, was.kinds)
  return Object.keys(was.kinds).filter((path) => !all.some(({ from }) => from === path))
}
