/** Start: starts a service, stops it in order at the first signal and at once at the second. Part 8, termination. */
import { callerGate, handlerSources, type ServerContext } from '../corridor/server-context.ts'
import { hasWebhooks } from '../deliveries/endpoint-makers.ts'
import { webhookTerms } from '../deliveries/webhook-terms.ts'
import type { Caller } from '../flow/caller.ts'
import type { Network } from '../flow/network.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import { type Log, pause, type ServiceWorld, serviceWorld } from '../flow/world.ts'
import { listInWords } from '../formats/naming.ts'
import type { HandlerSources } from '../handlers/handler-sources.ts'
import { endWaiting } from '../handlers/status-changes.ts'
import { listen, type NodeServer } from '../http/node.ts'
import { hasJobs } from '../jobs/job-maker.ts'
import { runJobsEvery } from '../jobs/worker.ts'
import type { RedisLedger } from '../limits/redis.ts'
import { beginReactions } from '../reactions/run-reactions.ts'
import { type Consent, isChangeRefusal } from '../schema/hazard.ts'
import type { Migration, MigrationPlan, SchemaMode } from '../schema/migration.ts'
import { changeBetween } from '../schema/schema-change.ts'
import { finishedLayout, layoutName, stepsOfPhase } from '../schema/state.ts'
import { stepsFor, type Target } from '../schema/target.ts'
import type { Service } from '../service.ts'
import { citusDialect, postgresDialect, sqliteDialect } from '../sql/dialect.ts'
import { collectionsOf, openMigration, openStore, tablesOf } from '../terminal/open.ts'
import { previewVersions } from '../versions/version-choice.ts'
import type { PrivateTargets } from '../webhooks/address-guard.ts'
import { startBackground } from './background.ts'
import { commandError } from './command-error.ts'
import { cursorSecretsOf, peppersOf } from './secrets.ts'
import { currentHandler, watchHandlers } from './watchdog.ts'

/** Where the reference page is, and why it is not where it should be. */
export function referencePlace({ pages, settings: { server } }: Service, url: string): string {
  const movedText = (name: 'docs' | 'problems') =>
    `; a resource has ${server.paths[name]}, so this is at ${pages[name]}: the setting server.paths.${name} names another path`
  return url + pages.docs + pages.displaced.map(movedText).join('')
}

export interface RunningService {
  readonly url: string
  /**
   * Fails readiness for a grace period, then refuses connections, finishes accepted requests, and closes the store. R186.
   */
  readonly stop: (times: StopTimes) => Promise<void>
}

/** The phases of a stop, in milliseconds. */
interface StopTimes {
  /** How long connections are still accepted, so that a load balancer can notice that readiness fails. */
  readonly grace: number
  readonly drain: number
}

export interface StartOptions {
  readonly store: Store
  /** Callers of fixed API keys, by the key. */
  readonly known?: ReadonlyMap<string, Caller>
  readonly port: number
  readonly host: string
  readonly log: Log
  /** Whether the log is in JSON. */
  readonly json?: boolean
  /** The hosts that it answers for; all if it is missing. R17. */
  readonly hosts?: readonly string[]
  readonly exposed?: boolean
  /** The full numbers of versions with locked contracts. R187. */
  readonly numbers?: () => Promise<ReadonlyMap<string, string>>
  /** The proxies whose headers are trusted to name the client's address. R184. */
  readonly proxies?: readonly Network[]
  /** Versions that are served before their release. */
  readonly preview?: readonly string[] | 'all'
  /** Whether webhooks may go to private addresses and over http, or to those of this machine; never in production. */
  readonly privateTargets?: PrivateTargets
  /** Counts requests against quotas, if the store does not. R184. */
  readonly counting?: RedisLedger | undefined
}

/** How often the service looks for due operations: those of other nodes, of schedules, and of a later time, in milliseconds. */
const jobInterval = 1000

/** The worker of asynchronous operations; undefined if no operation is asynchronous. */
const startWorker = ({ resources, settings }: Service, sources: HandlerSources) =>
  hasJobs(resources) ? runJobsEvery({ sources, settings: settings.operations }, jobInterval) : undefined

/** The service with its handlers watched, and what ends that. */
async function watchOwn(service: Service, json: boolean) {
  const { name, ownHandlers, settings } = service
  if (!ownHandlers) return { service, unwatch: async () => {} }
  const given = { service: name, timeout: settings.limits.handlerTimeout, json }
  const { watched, stop } = await watchHandlers(ownHandlers, realWorld, given)
  return { service: { ...service, ownHandlers: watched }, unwatch: stop }
}

export async function startService(
  declared: Service,
  { store, port, host, known, counting, json = false, preview = [], privateTargets = false, ...rest }: StartOptions,
): Promise<RunningService> {
  const { service, unwatch } = await watchOwn({ ...declared, choice: previewVersions(declared.choice, preview) }, json)
  let open = true
  const world = serviceWorld(realWorld, store, cursorSecretsOf(store))
  warnOfClock(store, rest.log)
  warnOfWaiting(service, world, rest.log)
  const peppers = peppersOf(service, store)
  const authenticate = callerGate(service, store, world, { peppers, ...(known && { known }) })
  setWebhookTerms(service, store, world, privateTargets)
  const ledger = counting && { ledger: counting.ledger }
  const handlers = handlerSources(service, store, world, rest.log)
  await handlers?.used()
  const operations = handlers && startWorker(service, handlers)
  const context: ServerContext = {
    ...(operations && { wakeWorker: operations.wake }),
    ...{ ...rest, ...ledger, service, store, world, authenticate, open: () => open },
    ...(handlers && { handlers }),
  }
  await beginReactions(context)
  const listening = await openDoor(context, port, host)
  store.attend()
  const background = startBackground(context)
  const stop = async ({ grace, drain }: StopTimes): Promise<void> => {
    open = false // readiness fails first
    await pause(world, grace)
    endWaiting(world)
    await background.endStreams()
    await listening.stop(drain)
    counting?.close()
    await background.stop()
    await operations?.stop()
    await unwatch()
    await handlers?.close()
    await store.close()
  }
  return { url: listening.url, stop }
}

function setWebhookTerms(service: Service, store: Store, world: ServiceWorld, privateTargets: PrivateTargets): void {
  if (!hasWebhooks(service.resources)) return
  Object.assign(webhookTerms(world), { privateTargets, peppers: peppersOf(service, store, true) })
}

function warnOfWaiting({ resources: all }: Service, { waiting }: ServiceWorld, log: Log): void {
  const resources = [...all.keys()].filter((name) => waiting(name) !== null)
  if (resources.length === 0) return
  log.warn(
    { resources },
    `States or totals of ${listInWords(resources, 'and')} begin when \`bylaw migrate apply\` finishes the change of the database, after all nodes of the former declaration have stopped. Until then new transitions answer 503, and new totals are null.`,
  )
}

function warnOfClock({ clock }: Store, log: Log): void {
  if (clock.ahead === null) return
  const minutes = Math.round(clock.ahead / 60_000)
  log.warn(
    { minutes },
    `The clock of this machine is ${minutes} minutes ahead of the time at which the database was last in use. For one hour nothing expires by it. If the database was in use since, the clock is wrong: set it, and start again.`,
  )
}

/** Opens the store of a service and migrates its schema; with `require`, throws if the schema is not up to date. */
export function openStoreFor(service: Service, database: string, mode: SchemaMode, consent?: Consent): Promise<Store> {
  return asCommandError(() => openStore(service, database, mode, consent))
}

/**
 * Opens the store without a migration. Outside production, a database that is new or lacks shared tables is migrated first.
 */
export function openStoreUnchanged(service: Service, database: string): Promise<Store> {
  const mode = process.env.NODE_ENV === 'production' ? 'require' : 'apply'
  return openStoreFor(service, database, mode, { asItIs: true })
}

export async function openMigrationFor(service: Service, database: string, consent?: Consent): Promise<Migration> {
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
  const dialect =
    target === 'sqlite' ? sqliteDialect : (last ? last.spread : target === 'citus') ? citusDialect : postgresDialect
  const { after, steps } = await asCommandError(() =>
    changeBetween(before, collectionsOf(service), dialect, tablesOf(service)),
  )
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

async function openDoor(context: ServerContext, port: number, host: string): Promise<NodeServer> {
  try {
    return await listen(context, { port, host })
  } catch (error) {
    await context.store.close()
    throw listenFailure(error as NodeJS.ErrnoException, port, host)
  }
}

function listenFailure(error: NodeJS.ErrnoException, port: number, host: string): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return commandError(
        `Port ${port} on ${host} is in use by another program.`,
        'Stop that one, or choose another port with --port; --port 0 takes a free one.',
      )
    case 'ERR_SOCKET_BAD_PORT':
      return commandError(`There is no port ${port}.`, 'Choose one from 0 to 65535; 0 takes a free one.')
    case 'EACCES':
      return commandError(`Port ${port} is not allowed to this user.`, 'Choose one from 1024 on with --port.')
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return commandError(
        `${host} is not an address of this machine.`,
        'Choose with --host: 127.0.0.1 for this machine alone, 0.0.0.0 for all its networks.',
      )
    default:
      return error
  }
}

export interface FatalLog {
  /** Logs the error that ends the process. */
  readonly fatal: (about: object, message: string) => void
  /** Settles when all lines are written, or the reader is gone. */
  readonly written: () => Promise<void>
}

/**
 * Waits for SIGTERM or SIGINT, closes, and returns the exit code. An unhandled failure ends the process, except a rejection
 * that a handler did not await: it leaves nothing half done.
 */
export function untilSignal(
  witness: FatalLog & Pick<Log, 'error'>,
  close: () => Promise<void>,
  signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'],
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
      process.exit(1)
    }
    process.on('uncaughtException', die) // unhandled rejections arrive here too
    // A worker may get a signal twice, from the primary and with its process group; only the primary decides to hurry.
    const member = !signals.includes('SIGINT')
    const again = (): unknown => !member && process.exit(1)
    const once = (): void => {
      for (const signal of signals) process.off(signal, once).on(signal, again)
      close().then(
        () => ended(0),
        (error) => die(error, 'stop'),
      )
    }
    for (const signal of signals) process.on(signal, once)
    if (member) process.on('SIGINT', () => {}) // the primary gets it too, and stops the workers
  })
}
