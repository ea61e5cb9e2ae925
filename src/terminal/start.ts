/** Start: starts a service, stops it in order at the first signal and at once at the second. Part 8, termination. */
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { isFolderPlace, openContents } from '../contents/open-contents.ts'
import { hasFiles } from '../files/file-makers.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import { type ContentStore, type Log, pause } from '../flow/world.ts'
import type { ListenPlace } from '../http/listening.ts'
import { isPostgresUrl } from '../postgres/connection-url.ts'
import { type Consent, isChangeRefusal } from '../schema/hazard.ts'
import type { Migration, MigrationPlan, SchemaMode } from '../schema/migration.ts'
import { changeBetween } from '../schema/schema-change.ts'
import { finishedLayout, layoutName, stepsOfPhase } from '../schema/state.ts'
import { refuseSearchOn, stepsFor, type Target } from '../schema/target.ts'
import type { Service } from '../service.ts'
import { citusDialect, postgresDialect, sqliteDialect } from '../sql/dialect.ts'
import { fileOf } from '../sqlite/open.ts'
import { collectionsOf, openMigration, openStore, tablesOf } from '../terminal/open.ts'
import { exitProcess } from './command.ts'
import { commandError } from './command-error.ts'
import { openDoor } from './open-door.ts'
import { type RunOptions, runService, type WorkingService } from './run-service.ts'
import { currentHandler } from './watchdog.ts'

/** The URL of the reference page, with the reason if it differs from the declared path. */
export function referencePlace({ pages, settings: { server } }: Service, url: string): string {
  const movedText = (name: 'docs' | 'problems') =>
    `; a resource has ${server.paths[name]}, so this is at ${pages[name]}: the setting server.paths.${name} names another path`
  return new URL(pages.docs, url).href + pages.displaced.map(movedText).join('')
}

export interface RunningService {
  readonly url: string
  /** Reads its metrics; missing unless they are turned on. */
  readonly metrics?: WorkingService['metrics']
  /** Fails readiness for a grace period, then refuses connections, finishes accepted requests, and closes the store. R186. */
  readonly stop: (times: StopTimes) => Promise<void>
}

/** The phases of a stop, in milliseconds. */
interface StopTimes {
  /** How long connections are still accepted, so that a load balancer can notice that readiness fails. */
  readonly grace: number
  readonly drain: number
}

export interface StartOptions extends RunOptions {
  readonly place: ListenPlace
}

export async function startService(declared: Service, { place, ...options }: StartOptions): Promise<RunningService> {
  const running = await runService(declared, options)
  const { context } = running
  const listening = await openDoor(context, place).catch(async (error: unknown) => {
    await running.stop().catch(() => {})
    throw error
  })
  running.begin()
  const stop = async ({ grace, drain }: StopTimes): Promise<void> => {
    running.close() // readiness fails first
    await pause(context.world, grace)
    await running.endStreams()
    await listening.stop(drain)
    await running.stop()
  }
  const { metrics } = running
  return { url: listening.url + context.service.settings.server.basePath, ...(metrics && { metrics }), stop }
}

/** Opens the store of a service and migrates its schema; with `require`, throws if the schema is not up to date. */
export async function openStoreFor(
  service: Service,
  database: string,
  mode: SchemaMode,
  consent?: Consent,
): Promise<Store> {
  if (mode === 'require') await requireDatabase(database)
  return asCommandError(() => openStore(service, database, mode, consent))
}

/** Refuses a SQLite file that does not exist: SQLite would make an empty one, as at a path with a typing error. */
async function requireDatabase(database: string): Promise<void> {
  if (isPostgresUrl(database)) return
  const file = await asCommandError(() => fileOf(database))
  if (file !== ':memory:') requireDatabaseFile(file)
}

export function requireDatabaseFile(file: string): void {
  if (existsSync(file)) return
  throw commandError(
    `There is no database ${file}.`,
    'Name one that exists, as in:  --database sqlite:./orders.db\nA new one is made by `bylaw migrate apply`, or by the service when it starts outside production.',
  )
}

/**
 * Opens the place of files; null for a service without files. By default it is next to the file of the database. For a
 * database on a server it must be named, as nodes with folders of their own would lack the files of other nodes. With
 * `require`, a missing folder is refused instead of created.
 */
export async function openContentsFor(
  service: Service,
  database: string,
  named: string | undefined,
  mode: SchemaMode = 'apply',
): Promise<ContentStore | null> {
  if (!hasFiles(service.resources)) return null
  if (named === undefined && isPostgresUrl(database))
    throw commandError(
      'The service has fields for files, and no place for their contents.',
      'Name a folder that all processes share or a bucket, as --files /var/lib/shop/files or BYLAW_FILES=s3://shop-files.',
    )
  const usual = database === 'sqlite::memory:' ? ':memory:' : `./data/${service.name}-files`
  const place = named ?? usual
  if (mode === 'require' && isFolderPlace(place) && !statSync(place, { throwIfNoEntry: false })?.isDirectory())
    throw commandError(
      `There is no folder of files ${resolve(place)}.`,
      'Name the one that the service has, as --files /var/lib/shop/files; it is made when the service starts.',
    )
  try {
    return await openContents(place, realWorld, mode === 'apply')
  } catch (error) {
    const placeText = place.includes('://') ? 'the place that --files or BYLAW_FILES names' : place // it may have secrets
    throw commandError(
      `Files cannot be kept in ${placeText}: ${(error as Error).message}`,
      'Name a folder that this process may write, as --files /var/lib/shop/files, or a bucket, as --files "s3://shop-files?region=eu-central-1".',
    )
  }
}

/** Opens the store of an existing database without a migration; a database in memory is always new, so it gets its tables. */
export function openStoreUnchanged(service: Service, database: string): Promise<Store> {
  return openStoreFor(service, database, database === 'sqlite::memory:' ? 'apply' : 'require', { asItIs: true })
}

/** Opens the migration of a database; only `apply` may make the file of a new one. */
export async function openMigrationFor(
  service: Service,
  database: string,
  mode: SchemaMode,
  consent?: Consent,
): Promise<Migration> {
  if (mode === 'require') await requireDatabase(database)
  const migration = await asCommandError(() => openMigration(service, database, consent))
  return {
    ...migration,
    apply: () => asCommandError(migration.apply),
    applyPlan: (plan) => asCommandError(() => migration.applyPlan(plan)),
    undrop: () => asCommandError(migration.undrop),
    survey: () => asCommandError(migration.survey),
    crossCheck: () => asCommandError(migration.crossCheck),
    recordRestore: () => asCommandError(migration.recordRestore),
  }
}

/** Drafts plans for the changes of the declaration since the last plan. */
export async function draftPlans(
  service: Service,
  target: Target,
  plans: readonly MigrationPlan[],
): Promise<Omit<MigrationPlan, 'checksum' | 'name'>[]> {
  const last = plans.at(-1)?.to
  const before = last ? { layout: finishedLayout(last), former: null } : null
  const isDistributed = last ? last.spread : target === 'citus'
  const serverDialect = isDistributed ? citusDialect : postgresDialect
  const dialect = target === 'sqlite' ? sqliteDialect : serverDialect
  const { after, steps } = await asCommandError(() => {
    refuseSearchOn(target, collectionsOf(service))
    return changeBetween(before, collectionsOf(service), dialect, tablesOf(service))
  })
  if (steps.length === 0) return []
  const [first, rest] = [stepsOfPhase(steps, 'expand'), stepsOfPhase(steps, 'contract')]
  const to = { ...after, open: rest.length > 0 }
  const from = before && layoutName(before.layout)
  const number = plans.length + 1
  const own = { target, to } as const
  const expand = { ...own, number, phase: 'expand', from, steps: stepsFor(target, first) } as const
  const contract = {
    ...own,
    number: number + 1,
    phase: 'contract',
    from: layoutName(to),
    steps: stepsFor(target, rest),
  } as const
  return rest.length > 0 ? [expand, contract] : [expand]
}

/** Turns errors of the store at start into command errors, which are printed without a stack. */
export async function asCommandError<T>(open: () => T | Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    const refusal = commandError((error as Error).message, '')
    throw isChangeRefusal(error) ? Object.assign(refusal, { hazards: error.hazards }) : refusal
  }
}

export interface FatalLog {
  /** Logs the error that ends the process. */
  readonly fatal: (about: object, message: string) => void
  /** Settles when all lines are written, or the reader is gone. */
  readonly written: () => Promise<void>
}

/**
 * Notes signals from now on; the returned function sets what the first one starts. So a signal that arrives while the service
 * starts stops it in order afterwards: killed at once, it would stay among the nodes of the database for a while.
 */
export function noteSignal(signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']): (act: () => void) => void {
  // A worker may get a signal twice, from the primary and with its process group, so a second signal does not end it; the
  // primary does.
  const isWorker = !signals.includes('SIGINT')
  let noted = false
  let start: (() => void) | undefined
  const note = (): void => {
    if (noted && !isWorker) process.exit(1)
    if (!noted) start?.()
    noted = true
  }
  for (const signal of signals) process.on(signal, note)
  if (isWorker) process.on('SIGINT', () => {}) // the primary gets it too, and stops the workers
  return (act) => {
    start = act
    if (noted) act()
  }
}

/**
 * Waits for SIGTERM or SIGINT, closes, and returns the exit code; at once if a signal was noted before. An unhandled failure
 * ends the process, except a rejection that a handler did not await: it leaves nothing half done.
 */
export function untilSignal(
  witness: FatalLog & Pick<Log, 'error'>,
  close: () => Promise<void>,
  onSignal = noteSignal(),
): Promise<number> {
  return new Promise((ended) => {
    const die = async (error: unknown, origin: string): Promise<void> => {
      const handler = currentHandler()
      const about = { err: error, origin, ...(handler !== undefined && { handler }) }
      if (handler !== undefined && origin === 'unhandledRejection')
        return witness.error(
          about,
          'A handler did not await a promise that was rejected. Await it, or catch its error.',
        )
      witness.fatal(about, 'The process ends because of an unhandled failure.')
      await witness.written()
      await exitProcess(1)
    }
    process.on('uncaughtException', die) // unhandled rejections arrive here too
    onSignal(() => {
      close().then(
        () => ended(0),
        (error) => die(error, 'stop'),
      )
    })
  })
}
