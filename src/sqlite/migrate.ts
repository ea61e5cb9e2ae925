/** Migrate: changes the tables of a file to the declared ones, in one transaction. The store. */

import type { DatabaseSync } from 'node:sqlite'
import { storeContext } from '../catalog/context.ts'
import { type RunStatement, runSteps } from '../catalog/steps.ts'
import type { World } from '../flow/world.ts'
import { type AllowedDrops, admitChange } from '../rewrite/drop.ts'
import { prepareRefills, type RefillFor, refill } from '../rewrite/refill.ts'
import { admitUndrop, undropBatch } from '../rewrite/undrop.ts'
import type { BatchEnd } from '../schema/declared-rows.ts'
import type { Consent, SurveyedChange } from '../schema/hazard.ts'
import {
  changeOfPlan,
  type MigrationPlan,
  type MigrationResult,
  type PlanResult,
  planReadiness,
  type UndropResult,
} from '../schema/migration.ts'
import {
  forgetNode,
  presenceInterval,
  presenceRetryDelay,
  readOtherNodes,
  readSilentNodes,
} from '../schema/presence.ts'
import type { SchemaChange, SchemaState } from '../schema/schema-change.ts'
import {
  compareSchema,
  layoutName,
  readSchemaState,
  recordPlan,
  type SchemaComparison,
  type StoredParts,
  stateAfter,
  stepsOfPhase,
  withoutFormer,
  writeSchemaState,
} from '../schema/state.ts'
import { type SchemaStep, takenNameText } from '../schema/step.ts'
import { quoted, sqliteDialect } from '../sql/dialect.ts'
import { metaTable } from '../sql/statements.ts'
import { sqliteClock } from './clock.ts'
import { useWal } from './sqlite.ts'

/** The schema state that is stored in a file; null if the file is empty. */
export function readSqliteSchemaState(run: RunStatement): SchemaState | null {
  const [table] = run({ text: `SELECT 1 AS found FROM sqlite_schema WHERE name = ?1`, values: [metaTable] })
  return table ? runSteps(readSchemaState(), run) : null
}

export function compareSqliteSchema({
  run,
  ...stored
}: Pick<SqliteMigrationContext, 'run'> & StoredParts): SchemaComparison {
  const state = readSqliteSchemaState(run)
  return compareSchema(state, stored, sqliteDialect, state === null ? readOtherTables(run) : [])
}

/** The tables and views of a file, without those of SQLite and those named `bylaw_…`. */
const readOtherTables = (run: RunStatement): string[] =>
  run({
    text: `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'bylaw!_%' ESCAPE '!' ORDER BY name`,
    values: [],
  }).map(({ name }) => String(name))

export interface SqliteMigrationContext extends StoredParts {
  readonly db: DatabaseSync
  readonly run: RunStatement
  readonly consent: Consent
  readonly world: World
}

/** A process that starts at the same time waits for the write lock and then finds nothing left to do. */
export function migrateSqlite(site: SqliteMigrationContext): MigrationResult {
  const { db, world } = site
  const { state, change } = compareSqliteSchema(site)
  if (state === null) useWal(db, world)
  if (state !== null && change.steps.length > 0) waitForNodes(site, layoutName(change.after))
  refillInBatches(site)
  return inTransaction(db, () => runMigration(site))
}

/**
 * Waits until each node that seems lost has reported its presence again, for at most the time in which a running node
 * reports, and deletes those that did not: after a jump of the clock, running nodes seem lost too. Holds no lock while it
 * waits.
 */
function waitForNodes({ run, world }: SqliteMigrationContext, name: string): void {
  const before = runSteps(readSilentNodes(sqliteDialect, name), run)
  const until = world.monotonic() + presenceInterval + 2 * presenceRetryDelay
  const silent = () => {
    const now = new Map(runSteps(readSilentNodes(sqliteDialect, name), run).map(({ node, seen }) => [node, seen]))
    return before.filter(({ node, seen }) => now.get(node) === seen)
  }
  let rest = before
  for (; rest.length > 0 && world.monotonic() < until; rest = silent()) world.block(100)
  for (const sign of rest) runSteps(forgetNode(sqliteDialect, sign), run)
}

const surveyedChange = (site: SqliteMigrationContext, change: SchemaChange): SurveyedChange => ({
  ...site,
  change,
  dialect: sqliteDialect,
})

function admit({ run, consent, world }: SqliteMigrationContext, surveyed: SurveyedChange): AllowedDrops {
  const admission = admitChange(surveyed, consent, () => sqliteClock(run, world).now())
  return runSteps(admission, run)
}

function runMigration(site: SqliteMigrationContext): MigrationResult {
  const { run } = site
  const { state, change } = compareSqliteSchema(site)
  const { steps } = change
  const surveyed = surveyedChange(site, change)
  const drops = admit(site, surveyed)
  if (steps.length === 0) return { done: [], left: [], waitsFor: [] }
  const [first, last] = [stepsOfPhase(steps, 'expand'), stepsOfPhase(steps, 'contract')]
  const waitsFor =
    last.length === 0 || state === null ? [] : runSteps(readOtherNodes(sqliteDialect, layoutName(change.after)), run)
  const expandChange = waitsFor.length > 0 || state?.layout.open === true ? change : withoutFormer(change)
  runSchemaSteps(site, first, prepareRefills(surveyedChange(site, expandChange), drops))
  const done = waitsFor.length > 0 ? first : steps
  if (done === steps) runSchemaSteps(site, last, prepareRefills(surveyed, drops))
  const finished = last.length > 0 && done === steps
  runSteps(writeSchemaState(sqliteDialect, stateAfter(change, finished ? 'contract' : 'expand', last.length > 0)), run)
  return { done, left: done === first ? last : [], waitsFor }
}

/** Applies one plan atomically. */
export function applySqlitePlan(site: SqliteMigrationContext, plan: MigrationPlan): PlanResult {
  const { db, run, collections, world } = site
  if (readSqliteSchemaState(run) === null) useWal(db, world)
  else waitForNodes(site, layoutName(plan.to))
  return inTransaction(db, () => {
    const before = readSqliteSchemaState(run)
    const is = planReadiness(plan, before)
    if (is === 'ready' && plan.phase === 'contract') {
      const waitsFor = runSteps(readOtherNodes(sqliteDialect, layoutName(plan.to)), run)
      if (waitsFor.length > 0) return { is: 'waiting', waitsFor }
    }
    if (is === 'ready') {
      const change = changeOfPlan(plan, before, collections)
      const surveyed = surveyedChange(site, change)
      const drops = admit(site, surveyed)
      runSchemaSteps(site, plan.steps, prepareRefills(surveyed, drops))
      runSteps(writeSchemaState(sqliteDialect, stateAfter(change, plan.phase, plan.to.open)), run)
    }
    runSteps(recordPlan(sqliteDialect, plan), run)
    return { is: is === 'ready' ? 'done' : 'adopted' }
  })
}

/** Restores dropped values, one batch per transaction. */
export function undropSqlite(site: SqliteMigrationContext): UndropResult[] {
  const { db, run, collections } = site
  const context = storeContext(collections, admitUndrop(compareSqliteSchema(site)), sqliteDialect, () => false)
  const all: UndropResult[] = []
  const some = (after: readonly string[] | null) => inTransaction(db, () => runSteps(undropBatch(context, after), run))
  for (let batch = some(null); ; batch = some(batch.after)) {
    all.push(...batch.results)
    if (batch.after === null) return all
  }
}

/** To finish a change, first rewrites its rows in small transactions, so that running nodes never wait long for the lock. */
function refillInBatches(site: SqliteMigrationContext): void {
  const { db, run } = site
  const { state, change } = compareSqliteSchema(site)
  if (state?.layout.open !== true || runSteps(readOtherNodes(sqliteDialect, layoutName(change.after)), run).length > 0)
    return
  const surveyed = surveyedChange(site, change)
  const drops = inTransaction(db, () => admit(site, surveyed))
  const refillFor = prepareRefills(surveyed, drops)
  for (const { guards, sql, fill } of change.steps) {
    if (guards) inTransaction(db, () => db.exec(sql.join(';')))
    let key: BatchEnd = null
    if (fill)
      do key = inTransaction(db, () => runSteps(refill(refillFor(fill), key), run))
      while (key)
  }
}

function inTransaction<T>(db: DatabaseSync, act: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = act()
    db.exec('COMMIT')
    return result
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function runSchemaSteps({ db, run }: SqliteMigrationContext, steps: readonly SchemaStep[], refillFor: RefillFor): void {
  for (const { about, empty, sql, fill } of steps)
    try {
      if (empty) refuseRows(run, empty)
      for (const text of sql) db.exec(text)
      let key: BatchEnd = null
      if (fill)
        do key = runSteps(refill(refillFor(fill), key), run)
        while (key)
    } catch (error) {
      throw new Error(`The step "${about}" cannot be done: ${reasonOf(error as Error)}`, { cause: error })
    }
}

function reasonOf({ message }: Error): string {
  const clash = /^UNIQUE constraint failed: (.*)$/.exec(message)?.[1]
  if (clash === undefined) return takenNameText(message) ?? message
  const fields = clash.split(', ').map((column) => column.replace(/^.*?\.(by_)?/, ''))
  return `several rows have the same ${fields.join(' and ')}. Change them first.`
}

function refuseRows(run: RunStatement, table: string): void {
  if (run({ text: `SELECT 1 AS found FROM ${quoted(table)} LIMIT 1`, values: [] }).length === 0) return
  throw new Error(
    'it has rows, which would be lost. Declare a new resource beside the old one and copy the items; in development, use a new file.',
  )
}
