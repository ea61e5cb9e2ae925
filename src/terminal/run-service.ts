/** Run service: a service on its store with the work that it does by itself, without a server of its own. Part 8. */
import { callerGate, handlerSources, type ServerContext } from '../corridor/server-context.ts'
import { hasWebhooks } from '../deliveries/endpoint-makers.ts'
import { runDeliveriesEvery } from '../deliveries/run-deliveries.ts'
import { webhookTerms } from '../deliveries/webhook-terms.ts'
import { makeEventFeed } from '../events/event-feed.ts'
import { hasEvents, relayEventsEvery } from '../events/event-relay.ts'
import { sweepFilesEvery } from '../files/sweep-files.ts'
import type { Caller } from '../flow/caller.ts'
import type { Network } from '../flow/network.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import {
  type ContentStore,
  endAll,
  type Log,
  type ServiceWorld,
  type StoppablePart,
  serviceWorld,
} from '../flow/world.ts'
import { listInWords } from '../formats/naming.ts'
import type { HandlerSources } from '../handlers/handler-sources.ts'
import { endWaiting } from '../handlers/status-changes.ts'
import { forgetRevisionsEvery, hasHistory } from '../history/forget-revisions.ts'
import { hasJobs } from '../jobs/job-maker.ts'
import { runJobsEvery } from '../jobs/worker.ts'
import type { RedisLedger } from '../limits/redis.ts'
import { eventFamilies } from '../reactions/event-metrics.ts'
import { beginReactions, runReactionsEvery } from '../reactions/run-reactions.ts'
import type { Service } from '../service.ts'
import { makeActivity } from '../telemetry/activity.ts'
import type { MetricFamily } from '../telemetry/metrics.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { runTimersEvery } from '../timers/run-timers.ts'
import { flushUsageEvery } from '../versions/usage.ts'
import { previewVersions } from '../versions/version-choice.ts'
import type { PrivateTargets } from '../webhooks/address-guard.ts'
import { makeSender, systemResolver } from '../webhooks/send.ts'
import { commandError } from './command-error.ts'
import { cursorSecretsOf, peppersOf } from './secrets.ts'
import { watchHandlers, withEach } from './watchdog.ts'

/** How often counts of used versions are written to the store, in milliseconds. */
const usageWriteInterval = 5000
/** How often transitions by the clock are looked for, in milliseconds. */
const timerInterval = 5000

/** Starts the work of a process. `endStreams` is called before its last answers, `stop` and `written` after them. */
export function startBackground(server: ServerContext) {
  const { service, store, world, log, handlers, authenticate } = server
  const { resources, writer, settings } = service
  const written = flushUsageEvery({ store, world }, usageWriteInterval)
  const timersStopped = runTimersEvery({ resources, writer, store, world, log, handlers }, timerInterval)
  if (hasEvents(resources)) world.state.of(makeEventFeed, null).sources = { store, authenticate, log }
  const relay = hasEvents(resources)
    ? relayEventsEvery({ resources, store, world, log, retention: settings.events.retention })
    : null
  const reactionsStopped = hasEvents(resources) ? runReactionsEvery(server) : async () => {}
  const historyStopped = hasHistory(resources) ? forgetRevisionsEvery({ resources, store, world, log }) : async () => {}
  const filesStopped = world.contents ? sweepFilesEvery({ store, world, log }) : async () => {}
  const deliveriesStopped = hasWebhooks(resources) ? startDeliveries(server) : async () => {}
  const stop = async (): Promise<void> => {
    const stops = [timersStopped, reactionsStopped, historyStopped, filesStopped, deliveriesStopped, relay?.stop]
    await Promise.all(stops.map((one) => one?.()))
  }
  return { endStreams: () => relay?.endStreams(), stop, written }
}

function startDeliveries({ service, store, world, log }: ServerContext): () => Promise<void> {
  const { resources, events, writer } = service
  const { privateTargets } = webhookTerms(world)
  const sender = makeSender({ privateTargets, resolve: systemResolver({ privateTargets }), world })
  return runDeliveriesEvery({ resources, events, writer, store, world, log, sender })
}

export interface RunOptions {
  readonly store: Store
  /** The store of file contents; missing or null for a service without files. */
  readonly contents?: ContentStore | null
  /** Callers of fixed API keys, by the key. */
  readonly fixedCallers?: ReadonlyMap<string, Caller>
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
  /** Whether metrics are kept, to be read by `metrics`. */
  readonly metrics?: boolean
  /** Whether traces and metrics are given to the API of OpenTelemetry. */
  readonly openTelemetry?: boolean
  /** Counts requests against quotas, if the store does not. R184. */
  readonly counting?: RedisLedger | undefined
}

/** A running service: a server passes requests to its context. */
export interface WorkingService {
  readonly context: ServerContext
  /** Reads its metrics; missing unless they are turned on. */
  readonly metrics?: () => Promise<readonly MetricFamily[]>
  /** Starts timers, events, reactions and webhooks; called when requests can be answered. */
  readonly begin: () => void
  /** Fails readiness; later answers end their connections. */
  readonly close: () => void
  /** Ends all waiting requests and all streams, whose clients then connect to another process. */
  readonly endStreams: () => Promise<void>
  /** Ends its work, after the last answer, and closes the store. */
  readonly stop: () => Promise<void>
}

/** How often the service looks for due operations, such as those of other nodes and of schedules, in milliseconds. */
const jobInterval = 1000

/** The worker of asynchronous operations; undefined if no operation is asynchronous. */
const startWorker = ({ resources, settings }: Service, sources: HandlerSources) =>
  hasJobs(resources) ? runJobsEvery({ sources, settings: settings.operations }, jobInterval) : undefined

/** The service with its handlers watched, and the function that ends the watch. */
async function watchOwn(service: Service, json: boolean, telemetry: Telemetry | undefined) {
  const { name, ownHandlers, settings } = service
  if (!ownHandlers) return { service, unwatch: async () => {} }
  const options = { service: name, timeout: settings.limits.handlerTimeout, json }
  const measured = telemetry
    ? withEach(ownHandlers, (handler, act) => (argument) => telemetry.handler(handler, () => act(argument)))
    : ownHandlers
  const { watched, stop } = await watchHandlers(measured, realWorld, options)
  return { service: { ...service, ownHandlers: watched }, unwatch: stop }
}

/** Starts the parts of a service. If one fails, the parts before it end; the store stays open, as the caller has opened it. */
export async function runService(declared: Service, options: RunOptions): Promise<WorkingService> {
  const ends: StoppablePart[] = []
  try {
    return await startParts(declared, options, ends)
  } catch (error) {
    await endAll(realWorld, ends).catch(() => {})
    throw error
  }
}

/** `ends` collects the ends of the parts; the part that started last ends first. */
// long because: one line for each part of a start, in their order
async function startParts(
  declared: Service,
  {
    store: opened,
    contents = null,
    fixedCallers,
    counting,
    json = false,
    preview = [],
    privateTargets = false,
    ...options
  }: RunOptions,
  ends: StoppablePart[],
): Promise<WorkingService> {
  const { metrics = false, openTelemetry = false, ...rest } = options
  const observed = metrics || openTelemetry ? await startTelemetry(openTelemetry) : null
  if (counting) ends.unshift({ what: 'the connection to Redis', end: counting.close })
  if (contents?.close) ends.unshift({ what: 'the place of files', end: contents.close })
  if (observed) ends.unshift({ what: 'metrics', end: observed.end })
  const telemetry = observed?.telemetry
  const store = telemetry?.measured(opened) ?? opened
  const versioned = { ...declared, choice: previewVersions(declared.choice, preview) }
  const { service, unwatch } = await watchOwn(versioned, json, telemetry)
  ends.unshift({ what: 'the watch over handlers', end: unwatch })
  let open = true
  const world = serviceWorld(realWorld, store, cursorSecretsOf(store), contents)
  warnOfClock(store, rest.log)
  warnOfWaiting(service, world, rest.log)
  const peppers = peppersOf(service, store)
  const authenticate = callerGate(service, store, world, { peppers, ...(fixedCallers && { fixedCallers }) })
  setWebhookTerms(service, store, world, privateTargets)
  const ledger = counting && { ledger: counting.ledger }
  const handlers = handlerSources(service, store, world, rest.log)
  if (handlers) ends.unshift({ what: '`close` of the handlers', end: handlers.close })
  await handlers?.used()
  const operations = handlers && startWorker(service, handlers)
  if (operations) ends.unshift({ what: 'operations', end: operations.stop })
  const context: ServerContext = {
    ...(operations && { wakeWorker: operations.wake }),
    ...{ ...rest, ...ledger, service, store, world, authenticate, open: () => open },
    ...(handlers && { handlers }),
    ...(telemetry && { telemetry }),
  }
  const read = telemetry && (async () => [...telemetry.families(store), ...(await familiesOf(context))])
  if (read) await observed?.begin(read)
  await beginReactions(context)
  let background: ReturnType<typeof startBackground> | undefined
  return {
    context,
    ...(metrics && read && { metrics: read }),
    begin: () => {
      store.attend()
      background = startBackground(context)
      ends.unshift(
        { what: 'timers, events, reactions and webhooks', end: background.stop },
        { what: 'the counts of used versions', end: background.written },
      )
    },
    close: () => {
      open = false
    },
    endStreams: async () => {
      endWaiting(world)
      background?.endStreams()
    },
    stop: async () => {
      const late = await endAll(realWorld, [...ends, { what: 'the store', end: store.close }])
      if (late.length === 0) return
      rest.log.error(
        { late },
        `The stop did not wait any longer for ${listInWords(late, 'and')}. What they were doing may be cut off.`,
      )
    },
  }
}

/** The families of its background work. */
async function familiesOf(context: ServerContext): Promise<readonly MetricFamily[]> {
  const activity = context.world.state.of(makeActivity, null)
  return [...Object.values(activity).map((counter) => counter.family()), ...(await eventFamilies(context))]
}

/** Begins to measure; the API of OpenTelemetry is loaded only if it is turned on. */
async function startTelemetry(openTelemetry: boolean) {
  const open = openTelemetry ? await import('../telemetry/open-telemetry.ts') : null
  const api = open && (await open.loadOpenTelemetry())
  if (open && !api)
    throw commandError(
      'OpenTelemetry needs the package @opentelemetry/api.',
      'Install it beside bylaw:  npm install @opentelemetry/api',
    )
  const telemetry = new Telemetry(realWorld, open && api && open.tracingOf(api))
  const stopLoop = telemetry.watchLoop()
  let stopExport = (): void => {}
  return {
    telemetry,
    begin: async (read: () => Promise<readonly MetricFamily[]>): Promise<void> => {
      if (open && api) stopExport = await open.exportMetrics(api, telemetry, read)
    },
    end: (): void => {
      stopLoop()
      stopExport()
    },
  }
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
