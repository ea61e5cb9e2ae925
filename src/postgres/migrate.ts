/** Migrate: changes the tables of a database to the declared ones, step by step, while nodes serve requests. The store. */

import { storeContext } from '../catalog/context.ts'
import { runPipelined, runStepsAsync, type Steps } from '../catalog/steps.ts'
import type { World } from '../flow/world.ts'
import { type AllowedDrops, admitChange } from '../rewrite/drop.ts'
import { clearReservations, isIndependent, prepareRefills, type RefillFor, refill } from '../rewrite/refill.ts'
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
import { readOtherNodes } from '../schema/presence.ts'
import type { SchemaChange, SchemaState } from '../schema/schema-change.ts'
import { sharedTables } from '../schema/shared-tables.ts'
import {
  compareSchema,
  layoutName,
  readProgress,
  readSchemaState,
  recordPlan,
  type SchemaComparison,
  type StoredParts,
  stateAfter,
  stepsOfPhase,
  withoutFormer,
  writeProgress,
  writeSchemaState,
} from '../schema/state.ts'
import { type Refill, type SchemaStep, takenNameText } from '../schema/step.ts'
import { adaptText, type Target } from '../schema/target.ts'
import { citusDialect, type Dialect, postgresDialect, quoted } from '../sql/dialect.ts'
import type { Layout } from '../sql/layout.ts'
import { leaseTable, metaTable, plainStatement } from '../sql/statements.ts'
import type { AskDatabase, Connection } from './connect.ts'
import { driftSteps } from './drift.ts'
import { requireEngine } from './engine.ts'
import { acquireLease, inFencedLanes, inFencedTransaction, type Lease, type LeaseTimes } from './lease.ts'
import { alreadyExists, changeIndexConcurrently, retryOnCodes } from './schema-retry.ts'
import { readShardKeys } from './shard-areas.ts'

/** The dialect of a database, by its recorded layout: `spread` means that Citus distributes its rows. */
export const dialectOf = (layout: Layout | null): Dialect => (layout?.spread ? citusDialect : postgresDialect)

/** The recorded schema state of a database; null for an empty one. */
export const readPostgresSchemaState = async (ask: AskDatabase): Promise<SchemaState | null> =>
  (await isTable(ask, metaTable)) ? runStepsAsync(readSchemaState(), ask) : null

async function isTable(ask: AskDatabase, name: string): Promise<boolean> {
  const [row] = await ask({ text: 'SELECT to_regclass($1) IS NOT NULL AS found', values: [name] })
  return row?.found === true
}

/** The tables of a schema that has none of a service, not even of a migration that was interrupted. */
async function readOtherTables(ask: AskDatabase): Promise<string[]> {
  const text =
    'SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND to_regclass($1) IS NULL ORDER BY 1'
  return (await ask({ text, values: [metaTable] })).map(({ tablename }) => String(tablename))
}

/** Compares the declaration with the recorded schema and, if they are equal, the recorded schema with the actual tables. */
export async function comparePostgresSchema(ask: AskDatabase, stored: StoredParts): Promise<SchemaComparison> {
  const before = await readPostgresSchemaState(ask)
  const others = before === null ? await readOtherTables(ask) : []
  const comparison = compareSchema(before, stored, dialectOf(before?.layout ?? null), others)
  const { state, change, serves } = comparison
  if (state === null || state.layout.open || serves !== 'now') return comparison
  const steps = await driftSteps(ask, state.layout)
  return steps.length === 0
    ? comparison
    : { ...comparison, change: { ...change, after: state.layout, steps }, serves: null }
}

/** The context of a migration: one connection runs the steps, the other one (`beating`) renews the lease. */
export interface MigrationContext extends StoredParts {
  readonly connection: Connection
  readonly beating: Connection
  /** Opens another connection, for transactions that run in parallel. */
  readonly connect: () => Promise<Connection>
  readonly pace: LeaseTimes
  readonly consent: Consent
  readonly world: World
}

interface LeasedMigration extends MigrationContext {
  readonly ask: AskDatabase
  readonly lease: Lease
}

/** If several nodes start at the same time, one migrates and the others wait and find nothing left to do. */
export async function migratePostgres(site: MigrationContext): Promise<MigrationResult> {
  const before = await readPostgresSchemaState(site.connection.ask)
  await requireEngine(site.connection, before?.layout.spread === true, before === null)
  return withSchemaLease(site, async (work) => {
    const { ask } = work
    const { change, state } = await comparePostgresSchema(ask, work)
    const { steps } = change
    const drops = await admit(work, change)
    if (steps.length === 0) return { done: [], left: [], waitsFor: [] }
    const [first, last] = [stepsOfPhase(steps, 'expand'), stepsOfPhase(steps, 'contract')]
    const otherNodes = async () =>
      state === null ? [] : await runStepsAsync(readOtherNodes(postgresDialect, layoutName(change.after)), ask)
    const expandChange = (await otherNodes()).length > 0 ? change : withoutFormer(change)
    if (state?.layout.open !== true)
      await runPhase({ ...work, drops }, { ...expandChange, steps: first }, 'expand', function* () {
        if (change.after !== state?.layout)
          yield* writeSchemaState(postgresDialect, stateAfter(change, 'expand', last.length > 0))
      })
    if (last.length === 0) return { done: first, left: [], waitsFor: [] }
    const waitsFor = await otherNodes()
    if (waitsFor.length > 0) return { done: first, left: last, waitsFor }
    await runPhase({ ...work, drops }, { ...change, steps: last }, 'contract', function* () {
      yield* writeSchemaState(postgresDialect, stateAfter(change, 'contract', false))
    })
    return { done: steps, left: [], waitsFor: [] }
  })
}

/** Applies one plan. Progress is recorded after each step, so that an interrupted plan continues where it stopped. */
export async function applyPostgresPlan(site: MigrationContext, plan: MigrationPlan): Promise<PlanResult> {
  await requireEngine(site.connection, plan.to.spread === true, plan.from === null)
  const act = async (work: LeasedMigration): Promise<PlanResult> => {
    const { ask, collections } = work
    const before = await readPostgresSchemaState(ask)
    const is = planReadiness(plan, before)
    if (is === 'ready' && plan.phase === 'contract') {
      const waitsFor = await runStepsAsync(readOtherNodes(postgresDialect, layoutName(plan.to)), ask)
      if (waitsFor.length > 0) return { is: 'waiting', waitsFor }
    }
    const change = changeOfPlan(plan, before, collections)
    const drops = await admit(work, change)
    const steps = is === 'ready' ? plan.steps : []
    await runPhase({ ...work, drops }, { ...change, steps }, String(plan.number), function* () {
      if (is === 'ready') yield* writeSchemaState(postgresDialect, stateAfter(change, plan.phase, plan.to.open))
      yield* recordPlan(postgresDialect, plan)
    })
    return { is: is === 'ready' ? 'done' : 'adopted' }
  }
  return withSchemaLease(site, act, plan.target)
}

const surveyedChange = (site: MigrationContext, change: SchemaChange): SurveyedChange => ({
  ...site,
  change,
  dialect: dialectOf(change.after),
})

function admit(site: LeasedMigration, change: SchemaChange): Promise<AllowedDrops> {
  const admission = admitChange(surveyedChange(site, change), site.consent, () => null)
  return runStepsAsync(admission, site.ask)
}

/** Runs an action while no other node can change the schema. */
async function withSchemaLease<T>(
  site: MigrationContext,
  act: (work: LeasedMigration) => Promise<T>,
  target: Target = 'postgres',
): Promise<T> {
  const { connection, beating, pace, world } = site
  const { ask } = connection
  const tables = sharedTables(postgresDialect)
  for (const name of [metaTable, leaseTable])
    if (!(await isTable(ask, name)))
      for (const text of tables[name] ?? [])
        await retryOnCodes(world, () => ask(plainStatement(adaptText(target, text))), alreadyExists)
  const lease = await acquireLease(connection, beating, pace, world)
  try {
    return await act({ ...site, ask, lease })
  } finally {
    await lease.release()
  }
}

/** Runs the steps of a phase that are not done yet. Then runs `end` and clears the progress in one transaction. */
async function runPhase(
  work: LeasedMigration & { drops: AllowedDrops },
  change: SchemaChange,
  is: string,
  end: () => Steps<void>,
): Promise<void> {
  const key = `${is}:${layoutName(change.after)}`
  const begun = await runStepsAsync(readProgress(key), work.ask)
  const refillFor = prepareRefills(surveyedChange(work, change), work.drops)
  for (const [i, step] of change.steps.entries())
    if (i >= begun)
      await runSchemaStep({ ...work, spread: change.after.spread === true }, step, refillFor, { key, done: i + 1 })
  const finish = function* (): Steps<void> {
    yield* end()
    yield* writeProgress(postgresDialect, '-', 0)
  }
  await inFencedTransaction(work, () => runStepsAsync(finish(), work.ask))
}

/** How many shards are rewritten at once, each on a connection of its own. */
const shardsAtOnce = 4

/** Rewrites all rows in batches, or reserves their values; on Citus shard by shard, and several at once if no row needs rows of others. */
async function rewriteRows(
  work: LeasedMigration & { spread: boolean },
  refilling: ReturnType<RefillFor>,
  { reserves, ahead }: Refill,
): Promise<void> {
  const table = refilling.prepared?.collection.table
  if (reserves) await inFencedTransaction(work, () => runStepsAsync(clearReservations(refilling), work.ask))
  if (!work.spread || table === undefined) {
    let key: BatchEnd = null
    do key = await inFencedTransaction(work, () => runPipelined(refill(refilling, key), work.ask))
    while (key)
    return
  }
  const shards = await readShardKeys(work.ask, table)
  const lanes = isIndependent(refilling) ? shardsAtOnce : 1
  let batches: number
  // Old nodes may write rows behind a batch, as shard keys do not grow with time: another pass finds them.
  do
    batches = await inFencedLanes(work, lanes, shards, (ask, shard, after: BatchEnd) =>
      runPipelined(refill(refilling, after, shard), ask),
    )
  while (ahead && batches > shards.length)
}

/** Citus refuses some commands after others of a transaction unless each node runs all of them on one connection. */
const oneConnectionPerNode = plainStatement(`SET LOCAL citus.multi_shard_modify_mode TO 'sequential'`)

async function runSchemaStep(
  work: LeasedMigration & { spread: boolean },
  step: SchemaStep,
  refillFor: RefillFor,
  mark: { key: string; done: number },
): Promise<void> {
  const { ask, lease } = work
  const { about, empty, sql, fill, apart, still } = step
  const remember = () => runStepsAsync(writeProgress(postgresDialect, mark.key, mark.done), ask)
  try {
    if (still) await refuseRunningNodes(ask)
    if (empty) await refuseRows(ask, empty)
    if (fill) await rewriteRows(work, refillFor(fill), fill)
    if (apart)
      for (const text of sql) {
        await lease.assertHeld()
        await changeIndexConcurrently(ask, text)
      }
    await inFencedTransaction(work, async () => {
      if (work.spread) await ask(oneConnectionPerNode)
      if (empty) await refuseRows(ask, empty)
      if (!apart) for (const text of sql) await ask(plainStatement(text))
      await remember()
    })
  } catch (error) {
    throw new Error(`The step "${about}" cannot be done: ${reasonOf(error as Error & { detail?: string })}`, {
      cause: error,
    })
  }
}

/** Restores dropped values batch by batch, each in a transaction. */
export function undropPostgres(site: MigrationContext): Promise<UndropResult[]> {
  return withSchemaLease(site, async (work) => {
    const { ask, collections } = work
    const state = admitUndrop(await comparePostgresSchema(ask, work))
    const context = storeContext(collections, state, dialectOf(state.layout), () => false)
    const all: UndropResult[] = []
    const some = (after: readonly string[] | null) =>
      inFencedTransaction(work, () => runStepsAsync(undropBatch(context, after), ask))
    for (let batch = await some(null); ; batch = await some(batch.after)) {
      all.push(...batch.results)
      if (batch.after === null) return all
    }
  })
}

function reasonOf({ message, detail }: Error & { readonly detail?: string }): string {
  const clash = /^Key \((.*?)\)=\(/.exec(detail ?? '')?.[1] // column names or index expressions
  const fields = [...(clash ?? '').matchAll(/\bby_([\w.]+)/g)].map(([, field]) => field)
  if (fields.length === 0) return takenNameText(message) ?? message
  return `several rows have the same ${fields.join(' and ')}. Change them first.`
}

async function refuseRunningNodes(ask: AskDatabase): Promise<void> {
  const running = await runStepsAsync(readOtherNodes(postgresDialect, ''), ask)
  if (running.length > 0)
    throw new Error(
      `no node may run meanwhile, but these do: ${running.join(', ')}. Stop them, wait half a minute if one crashed, and run this command again.`,
    )
}

async function refuseRows(ask: AskDatabase, table: string): Promise<void> {
  if ((await ask(plainStatement(`SELECT 1 AS found FROM ${quoted(table)} LIMIT 1`))).length === 0) return
  throw new Error(
    'it has rows, which would be lost. Declare a new resource beside the old one and copy the items; in development, use a new database.',
  )
}
