/** Table steps: the steps from the existing table of a collection to the declared one. The store. */
import type { Collection } from '../rows/collection.ts'
import { type Dialect, quoted, rowKeyColumns } from '../sql/dialect.ts'
import { incompatibilityOf } from '../sql/field-sources.ts'
import type { Layout, TableLayout } from '../sql/layout.ts'
import { dropSearchIndex, isSearchIndex } from '../sql/search-index.ts'
import { dropView } from '../sql/statements.ts'
import { isConverted } from '../sql/stored-version.ts'
import { behaviourSteps } from './behaviour-steps.ts'
import { ifExists, ifNotExists, reservationSteps } from './shared-tables.ts'
import type { SchemaStep, StepPhase } from './step.ts'
import { createIndexTexts, createTableStatements, lostFields } from './tables.ts'

/** The difference between two layouts of a table. */
interface TableDifference {
  readonly one: Collection
  readonly was: TableLayout
  readonly is: TableLayout
  readonly dialect: Dialect
  readonly freshColumns: readonly string[]
  readonly goneColumns: readonly string[]
  readonly freshIndexes: readonly string[]
  readonly goneIndexes: readonly string[]
}

/** The steps that one table needs. */
export function tableChanges(
  one: Collection,
  was: TableLayout,
  is: TableLayout,
  { was: layout, dialect }: { readonly was: Layout | null; readonly dialect: Dialect },
): SchemaStep[] {
  const reason = incompatibilityOf(one, was, layout)
  if (reason !== null) return [remakeStep(one, was, is, dialect, reason)]
  const [old, now] = [Object.keys(was.columns), Object.keys(is.columns)]
  const same = (name: string) => JSON.stringify(was.indexes[name]) === JSON.stringify(is.indexes[name])
  const difference: TableDifference = {
    one,
    was,
    is,
    dialect,
    freshColumns: now.filter((name) => !old.includes(name)),
    goneColumns: old.filter((name) => !now.includes(name)),
    freshIndexes: Object.keys(is.indexes).filter((name) => !same(name)),
    goneIndexes: Object.keys(was.indexes).filter((name) => !same(name)),
  }
  return [
    ...behaviourSteps(one, was, is, dialect),
    ...expandSteps(difference),
    ...reservationSteps(one.name, was, is, isConverted(one, was)),
    ...contractSteps(difference),
  ]
}

const isUniqueIndex = (name: string): boolean => name.startsWith('unique')

/** The steps that are safe while old nodes run. */
function expandSteps(difference: TableDifference): SchemaStep[] {
  const { one, was, is, dialect, freshColumns, freshIndexes, goneIndexes } = difference
  const relaxed = goneIndexes.filter(isUniqueIndex)
  const structure = is.shapes[is.shape - 1] as string
  // If the structure stays, only columns are new: documents and their tags do not change.
  const again = is.shape !== was.shape && structure !== was.shapes[was.shape - 1] && was.shapes.includes(structure)
  const changed = goneIndexes.filter((name) => !isUniqueIndex(name) && freshIndexes.includes(name))
  const ready = freshIndexes.filter((name) => !isUniqueIndex(name))
  const columnTexts = freshColumns.map(
    (name) =>
      `ALTER TABLE ${quoted(is.table)} ADD COLUMN ${ifNotExists(dialect)}${quoted(name)} ${is.columns[name]?.type}`,
  )
  return [
    ...dropIndexSteps(difference, `drop unique indexes of ${one.name} that are no longer declared`, relaxed, 'expand'),
    ...stepsWithSql({
      about: `add ${freshColumns.join(', ')} to ${one.name}`,
      phase: 'expand',
      sql: columnTexts,
      note: `Takes no value from existing rows, so it only holds the table for an instant.${olderVersionNote(difference)}`,
    }),
    ...(again ? [raiseRevisionsStep(one)] : []),
    ...(needsRowsAhead(difference) ? aheadSteps(difference) : []),
    ...dropIndexSteps(difference, `drop indexes of ${one.name} whose definition changed`, changed, 'expand'),
    ...indexSteps(difference, `index ${one.name}`, ready, 'expand'),
  ]
}

/** A step that is needed only if it has statements. */
const stepsWithSql = (step: SchemaStep): SchemaStep[] => (step.sql.length === 0 ? [] : [step])

const raiseRevisionsStep = ({ name }: Collection): SchemaStep => ({
  about: `raise the revisions of ${name}`,
  phase: 'expand',
  sql: [],
  note: 'The structure was used before; the rows get new revisions, so that no ETag of that time matches.',
  fill: { collection: name, again: true },
})

/** Explains columns that no current field has: they serve lists of older versions. */
function olderVersionNote({ one, freshColumns }: TableDifference): string {
  const own = one.columns
    .filter(({ name, of, isWords }) => of && !isWords && freshColumns.includes(name))
    .map(({ name }) => name)
  return own.length === 0 ? '' : ` Values that changes compute for lists of older versions are in ${own.join(', ')}.`
}

/** Whether new nodes query values that old rows lack, so that rows must be rewritten before new nodes start. */
const needsRowsAhead = ({ one, was, is, freshColumns }: TableDifference): boolean =>
  is.shape !== was.shape &&
  (freshColumns.length > 0 || (isConverted(one, was) && (one.conversions?.receivers.length ?? 0) > 0))

/** Rewrites rows in the new shape; a partial index finds the rows that old nodes write after that. */
function aheadSteps({ one, is, dialect }: TableDifference): SchemaStep[] {
  const [how, apart] = dialect.online ? ['CONCURRENTLY IF NOT EXISTS ', { apart: true }] : ['', {}]
  const key = rowKeyColumns(one, dialect).join(', ')
  return [
    {
      about: `index the rows of ${one.name} that old nodes write`,
      phase: 'expand',
      sql: [`CREATE INDEX ${how}${backlogIndex(is)} ON ${quoted(is.table)} (${key}) WHERE shape < ${is.shape}`],
      note: 'The index is dropped at the end of the change.',
      ...apart,
    },
    {
      about: `rewrite the rows of ${one.name} in advance`,
      phase: 'expand',
      sql: [],
      note: 'Runs in batches, each a short transaction; each row keeps the values that old nodes read.',
      fill: { collection: one.name, again: false, ahead: true },
    },
  ]
}

/** The partial index of rows of older shapes. */
const backlogIndex = ({ table }: TableLayout): string => quoted(`lagging__${table}`)

/** The steps that wait until no old nodes run. */
function contractSteps(difference: TableDifference): SchemaStep[] {
  const { one, was, is, dialect, goneColumns, freshIndexes, goneIndexes } = difference
  const late = freshIndexes.filter(isUniqueIndex)
  const idle = goneIndexes.filter((name) => !isUniqueIndex(name) && !freshIndexes.includes(name))
  const columns = goneColumns.map(
    (name) => `ALTER TABLE ${quoted(is.table)} DROP COLUMN ${ifExists(dialect)}${quoted(name)}`,
  )
  const views = was.view === is.view ? [] : [dropView(is), is.view]
  const dropBacklog = needsRowsAhead(difference) ? [`DROP INDEX IF EXISTS ${backlogIndex(is)}`] : []
  return [
    ...(is.shape === was.shape ? [] : refillSteps(difference)),
    ...indexSteps(difference, `build unique indexes of ${one.name}`, late, 'contract'),
    ...dropIndexSteps(difference, `drop indexes of ${one.name} that serve no list`, idle, 'contract'),
    ...stepsWithSql({
      about: `drop unused columns of ${one.name} and update its view`,
      phase: 'contract',
      sql: [...dropBacklog, ...columns, ...views],
      note: 'Nodes of the former declaration cannot write afterwards.',
    }),
  ]
}

/** Describes whether values of fields that are no longer declared are converted or dropped. */
function lossNote(one: Collection, was: TableLayout): string {
  const gone = lostFields(one, was)
  const fate = isConverted(one, was)
    ? 'are converted by the changes of versions'
    : 'go to bylaw_dropped, if --allow-loss names the field'
  const filled = one.fields.some(hasFill) ? '; values that a fill replaces go to bylaw_dropped' : ''
  return (gone.length === 0 ? '' : `; values of ${gone.join(', ')} ${fate}`) + filled
}

const hasFill = ({ fill, inner }: Collection['fields'][number]): boolean => fill !== null || inner.some(hasFill)

/** Makes the database refuse rows of old shapes, then rewrites the existing ones. */
function refillSteps(difference: TableDifference): SchemaStep[] {
  const { one, was, is, dialect } = difference
  const { refuse, validate } = dialect.floor(is.table, is.shape)
  const loss = lossNote(one, was)
  return [
    ...stepsWithSql({
      about: `refuse writes of rows of ${one.name} in the former shape`,
      phase: 'contract',
      sql: refuse,
      guards: true,
      note: 'Writes of nodes of the former declaration are refused from here on, as their rows would lack new values.',
    }),
    {
      about: `rewrite the rows of ${one.name}${loss}`,
      phase: 'contract',
      sql: [],
      note: 'Runs in batches, each a short transaction; if it is stopped, the next run continues there.',
      fill: { collection: one.name, again: false, ...(needsRowsAhead(difference) && { latest: true }) },
    },
    ...stepsWithSql({
      about: `check that no row of ${one.name} has the former shape`,
      phase: 'contract',
      sql: validate,
      apart: true,
      note: 'Reads the whole table without blocking others.',
    }),
  ]
}

/** Creates indexes; on dialects that change the schema online, while others read and write. */
export function indexSteps(
  { is, dialect }: Pick<TableDifference, 'is' | 'dialect'>,
  about: string,
  names: readonly string[],
  phase: StepPhase,
): SchemaStep[] {
  const { online } = dialect
  const how = online ? 'CONCURRENTLY IF NOT EXISTS ' : ''
  const note = online
    ? 'Reads and writes continue meanwhile; it waits for open transactions.'
    : 'Writers wait until it is built.'
  const unique = names.some(isUniqueIndex) ? ' It fails if rows have equal values: change them first.' : ''
  const sql = names.flatMap((name) => createIndexTexts(is, name, is.indexes[name] as readonly string[], how, dialect))
  return stepsWithSql({ about, phase, sql, note: note + unique, ...(online && { apart: true }) })
}

function dropIndexSteps(
  { dialect }: TableDifference,
  about: string,
  names: readonly string[],
  phase: StepPhase,
): SchemaStep[] {
  const { online } = dialect
  const how = online ? 'CONCURRENTLY ' : ''
  const sql = names.flatMap((name) =>
    isSearchIndex(name) ? dropSearchIndex(name, how, dialect) : [`DROP INDEX ${how}IF EXISTS ${quoted(name)}`],
  )
  const note = 'Lists that need it are slower from here on.'
  return stepsWithSql({ about, phase, sql, note, ...(online && { apart: true }) })
}

/** Recreates a table whose rows cannot be converted; refused unless it is empty. */
function remakeStep(one: Collection, was: TableLayout, is: TableLayout, dialect: Dialect, reason: string): SchemaStep {
  const sql = [
    dropView(was),
    ...(dialect.online ? [] : Object.keys(was.indexes).filter(isSearchIndex)).flatMap((name) =>
      dropSearchIndex(name, '', dialect),
    ),
    `DROP TABLE ${ifExists(dialect)}${quoted(was.table)}`,
    ...createTableStatements(one, is, dialect),
  ]
  const note = 'Only if the table has no rows; nodes of the former declaration fail afterwards.'
  return { about: `create ${one.name} again, as ${reason}`, phase: 'expand', sql, note, empty: was.table }
}
