/** Open: connects to the PostgreSQL database of a URL, then migrates its schema or says what is missing. The store. */

import { runStepsAsync, type Steps } from '../catalog/steps.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store, StoreOptions } from '../flow/store.ts'
import type { World } from '../flow/world.ts'
import { crossCheck } from '../rewrite/cross-check.ts'
import { inspectRows } from '../rewrite/inspect.ts'
import { findChangeHazards, findRemakeHazards } from '../rewrite/losses.ts'
import {
  admitDeclaration,
  emptyMisfitReport,
  findMisfits,
  rememberMisfits,
  withMisfitSurvey,
} from '../rewrite/misfits.ts'
import { type PreparedSchema, prepareStore, usableSchema } from '../rewrite/prepare-store.ts'
import type { Collection } from '../rows/collection.ts'
import { type Consent, reportSteps, requireNoHazards, startError } from '../schema/hazard.ts'
import { type Migration, otherTables, type SchemaMode } from '../schema/migration.ts'
import { readUnendedNodes } from '../schema/presence.ts'
import { recordOtherRestore } from '../schema/restored.ts'
import type { SchemaState } from '../schema/schema-change.ts'
import { layoutName, readAppliedPlans, type SchemaComparison, type StoredParts } from '../schema/state.ts'
import { postgresDialect } from '../sql/dialect.ts'
import { mapCollections } from '../sql/layout.ts'
import { blankStatement, plainStatement } from '../sql/statements.ts'
import { postgresClock } from './clock.ts'
import { type Connection, type ConnectionTimeouts, connect, connectShort } from './connect.ts'
import { type ConnectionParams, parseConnectionUrl, withoutPassword } from './connection-url.ts'
import { canReadState } from './database-state.ts'
import { readEngine } from './engine.ts'
import { type LeaseTimes, leaseTimes as usual } from './lease.ts'
import {
  applyPostgresPlan,
  comparePostgresSchema,
  dialectOf,
  type MigrationContext,
  migratePostgres,
  readPostgresSchemaState,
  undropPostgres,
} from './migrate.ts'
import { connectionPool } from './pool.ts'
import { type PostgresStoreDeps, postgresStore } from './postgres.ts'
import { preparedFor } from './wire-query.ts'

const requestTimeouts: ConnectionTimeouts = { connect: 2000, statement: 5000, lock: 1000, idle: 10_000, silence: 6000 }
/** Shared connections use a short lock timeout and callers retry, so one locked table cannot block other statements. */
const sharedTimeouts: ConnectionTimeouts = { ...requestTimeouts, lock: 20 }
/** A reader of all rows of a list may be slow. */
const exportTimeouts: ConnectionTimeouts = { ...requestTimeouts, idle: 60_000 }
/** Steps of a migration may take long. */
const migrationTimeouts: ConnectionTimeouts = { connect: 10_000, statement: 0, lock: 0, idle: 0, silence: 2 ** 30 }
/** How long a request waits for a connection, in milliseconds. */
const maxConnectionWait = 2000

export async function openPostgres(
  url: string,
  collections: readonly Collection[],
  mode: SchemaMode,
  { patience = 10_000, caches = true, world = realWorld, tables = [] }: StoreOptions = {},
  consent: Consent = {},
): Promise<Store> {
  return explainErrors(url, async () => {
    const address = parseConnectionUrl(url, world.environment)
    const site = await connectForMigration(address, { collections, tables, pace: usual, consent, world })
    const prepared = await readStoreParts(site, mode)
    const short = prepared.engine.plansOnce ? connectShort : connect
    const sharedAddress = { ...address, prepared: preparedFor(collections.length) }
    const pool = connectionPool(
      {
        own: () => connect(address, requestTimeouts, world),
        shared: () => short(sharedAddress, sharedTimeouts, world),
      },
      {
        connections: address.connections,
        patience: maxConnectionWait,
        coalesces: prepared.context.dialect.coalesces && !address.pooled,
        areas: prepared.engine.areas,
      },
      world,
    )
    const times = address.pooled ? requestTimeouts : null
    const apart = () => connect(address, exportTimeouts, world)
    return postgresStore({
      ...prepared,
      world,
      pool,
      connect: apart,
      patience,
      caches,
      readsState: caches && prepared.readsState,
      times,
    })
  })
}

export async function openPostgresMigration(
  url: string,
  stored: StoredParts,
  pace: LeaseTimes = usual,
  consent: Consent = {},
  world: World = realWorld,
): Promise<Migration> {
  return explainErrors(url, async () => {
    const address = parseConnectionUrl(url, world.environment)
    const site = await connectForMigration(address, { ...stored, pace, consent, world })
    const { ask } = site.connection
    try {
      return migrationOf(site, await comparePostgresSchema(ask, stored), url)
    } catch (error) {
      closeConnections(site)
      throw error
    }
  })
}

// long because: each operation of the port is one entry
function migrationOf(site: MigrationContext, comparison: SchemaComparison, url: string): Migration {
  const { serves, change } = comparison
  const { collections, consent, connection } = site
  const run = <T>(steps: Steps<T>): Promise<T> => runStepsAsync(steps, connection.ask)
  const surveyed = { ...site, change, dialect: dialectOf(change.after) }
  const misfitReport = async () =>
    serves === 'former' && change.steps.length === 0 ? emptyMisfitReport : run(findMisfits(surveyed))
  /** Applies a change that takes the misfits into account, and remembers them afterwards. */
  const withMisfits = <T>(act: (own: MigrationContext) => Promise<T>): Promise<T> =>
    explainErrors(url, async () => {
      const misfits = await misfitReport()
      const result = await act({ ...site, consent: withMisfitSurvey(consent, misfits) })
      await run(rememberMisfits(postgresDialect, misfits))
      return result
    })
  return {
    serves,
    others: otherTables(comparison, collections),
    steps: change.steps,
    survey: () =>
      explainErrors(url, async () => run(findChangeHazards(surveyed, withMisfitSurvey(consent, await misfitReport())))),
    admit: () => withMisfits((own) => run(requireNoHazards(surveyed, own.consent.surveys ?? []))),
    apply: () => withMisfits(migratePostgres),
    otherNodes: () => explainErrors(url, () => run(readUnendedNodes(postgresDialect, layoutName(change.after)))),
    appliedPlans: () =>
      explainErrors(url, async () => run(readAppliedPlans(await readPostgresSchemaState(connection.ask)))),
    applyPlan: (plan) => withMisfits((own) => applyPostgresPlan(own, plan)),
    inspect: (see) => explainErrors(url, () => run(inspectRows(change, collections, surveyed.dialect, see))),
    unreadable: () => explainErrors(url, () => run(findRemakeHazards(change))),
    crossCheck: () =>
      explainErrors(url, async () => {
        const compared = await comparePostgresSchema(connection.ask, site)
        return run(crossCheck(compared, collections, dialectOf(compared.state?.layout ?? null)))
      }),
    version: async () => {
      const [row] = await connection.ask(plainStatement('SHOW server_version'))
      return `PostgreSQL ${row?.server_version}`
    },
    undrop: () => explainErrors(url, () => undropPostgres(site)),
    recordRestore: () =>
      explainErrors(url, async () =>
        run(recordOtherRestore(postgresDialect, await comparePostgresSchema(connection.ask, site))),
      ),
    close: () => closeConnections(site),
  }
}

async function connectForMigration(
  address: ConnectionParams,
  context: Omit<MigrationContext, 'connection' | 'beating' | 'connect'>,
): Promise<MigrationContext> {
  const open = () => connect(address, migrationTimeouts, context.world)
  const connection = await open()
  try {
    return { ...context, connection, beating: await open(), connect: open }
  } catch (error) {
    connection.close()
    throw error
  }
}

function closeConnections({ connection, beating }: MigrationContext): void {
  connection.close()
  beating.close()
}

/** Reads the parts of a store from its database, after its schema was compared or migrated. */
async function readStoreParts(
  site: MigrationContext,
  mode: SchemaMode,
): Promise<Omit<PostgresStoreDeps, 'world' | 'pool' | 'connect' | 'patience' | 'caches' | 'times'>> {
  const { collections, world } = site
  const { ask } = site.connection
  try {
    const schema = await prepareSchema(site, mode)
    const { layout } = schema.layouts
    const columns = mapCollections(collections, layout).map(({ collection }) => collection)
    const blank = schema.isKept ? null : await blankColumns(site.connection, columns)
    const isFull = (one: Collection, column: string) => blank?.has(`${one.name} ${column}`) === false
    const readsState = await canReadState({ ask }, columns)
    const steps = prepareStore(site, schema, dialectOf(layout), isFull, () => null)
    const engine = await readEngine({ ask }, layout)
    return { ...(await runStepsAsync(steps, ask)), readsState, engine, clock: await postgresClock({ ask }, world) }
  } finally {
    closeConnections(site)
  }
}

async function prepareSchema(site: MigrationContext, mode: SchemaMode): Promise<PreparedSchema> {
  const { collections, consent } = site
  const { ask } = site.connection
  const comparison = await comparePostgresSchema(ask, site)
  const usable = await runStepsAsync(usableSchema(comparison, consent, mode, dialectOf(comparison.change.after)), ask)
  if (usable) return usable
  const { change } = comparison
  const surveyed = { ...site, change, dialect: dialectOf(change.after) }
  const sighting = await runStepsAsync(findMisfits(surveyed), ask)
  if (mode === 'apply' && change.steps.length > 0) {
    const result = await migratePostgres({ ...site, consent: withMisfitSurvey(consent, sighting) })
    reportSteps(comparison, collections, result, consent)
    await runStepsAsync(rememberMisfits(postgresDialect, sighting), ask)
  } else await runStepsAsync(admitDeclaration(surveyed, consent, sighting), ask)
  return { layouts: (await readPostgresSchemaState(ask)) as SchemaState, misfits: sighting.misfits }
}

/** The required columns that are null in some row. */
async function blankColumns({ ask }: Connection, collections: readonly Collection[]): Promise<ReadonlySet<string>> {
  const all = collections.flatMap((one) =>
    one.columns.filter(({ required }) => required).map(({ name }) => ({ one, name })),
  )
  const rows = await Promise.all(all.map(({ one, name }) => ask(blankStatement(one, name))))
  return new Set(all.flatMap(({ one, name }, i) => (rows[i]?.length ? [`${one.name} ${name}`] : [])))
}

async function explainErrors<T>(url: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw startError(withoutPassword(url), error)
  }
}
