/** Testing: calls a service without a socket, on a separate store. For the tests here and those of users. */
import type { Authenticate } from './auth/authenticate.ts'
import { memoryContents } from './contents/memory.ts'
import { callerGate, handlerSources, type ServerContext } from './corridor/server-context.ts'
import { hasWebhooks } from './deliveries/endpoint-makers.ts'
import { DeliveryRun } from './deliveries/run-deliveries.ts'
import { webhookTerms } from './deliveries/webhook-terms.ts'
import { makeEventFeed } from './events/event-feed.ts'
import { hasEvents, lastPosition, relayEvents, sweepOldEvents } from './events/event-relay.ts'
import { hasFiles } from './files/file-makers.ts'
import { sweepFiles } from './files/sweep-files.ts'
import { callerOf } from './flow/credential.ts'
import { realWorld } from './flow/real-world.ts'
import type { Store } from './flow/store.ts'
import { type Log, runAll, type ServiceWorld, serviceWorld } from './flow/world.ts'
import { durationMilliseconds } from './formats/time-texts.ts'
import type { HandlerSources } from './handlers/handler-sources.ts'
import { endWaiting } from './handlers/status-changes.ts'
import { forgetRevisions } from './history/forget-revisions.ts'
import { closedCorridor } from './http/closed-corridor.ts'
import { fetchDoor } from './http/fetch.ts'
import { hasJobs } from './jobs/job-maker.ts'
import { adoptSchedules } from './jobs/schedules.ts'
import { Worker } from './jobs/worker.ts'
import { beginReactions, eventRuns } from './reactions/run-reactions.ts'
import type { Service } from './service.ts'
import { openStore } from './terminal/open.ts'
import { hasTimers, runDueTimers } from './timers/run-timers.ts'
import { previewVersions } from './versions/version-choice.ts'
import { makeSender, systemResolver } from './webhooks/send.ts'

/**
 * The caller of a request in a test, without a key or a token.
 * @example await call('/files', { as: { scopes: ['files:read'], account: 'acc_1', tier: 'pro' } })
 */
export interface As {
  /** The id of the caller; `'test'` by default: `id: 'ann'`. */
  readonly id?: string
  /** The account that the caller acts for; none by default: `account: 'acc_1'`. */
  readonly account?: string | null
  /** The scopes that the caller has; none by default: `scopes: ['files:read']`. */
  readonly scopes?: readonly string[]
  /** The tier whose quotas apply; the first declared one by default: `tier: 'pro'`. */
  readonly tier?: string | null
  /** The features that can choose a version; none by default: `features: ['v2']`. */
  readonly features?: readonly string[]
}

type TestRequest = RequestInit & {
  /** The body, sent as JSON: `json: { text: 'Call Ann' }`. */
  readonly json?: unknown
  /** The caller; without it, the one that the headers identify: `as: { scopes: ['files:read'] }`. */
  readonly as?: As
}

/** A service under test, as `testing` returns it. */
export interface Testing {
  /**
   * Sends a request to a path. It takes the options of `fetch`, and `json` for the body and `as` for the caller.
   * @example await call('/notes', { method: 'POST', json: { text: 'Call Ann' } })
   */
  readonly call: (path: string, init?: TestRequest) => Promise<Response>
  /** Sets the clock, and carries out the transitions and operations that are due then: `await at('2026-12-01')`. */
  readonly at: (time: string) => Promise<void>
  /** Lets time pass, and carries out the transitions and operations that are due then: `await pass('P7D')`. */
  readonly pass: (duration: string) => Promise<void>
  /** Everything that was logged, by handlers too: `assert.equal(logged.at(-1)?.message, 'Placed.')`. */
  readonly logged: readonly LoggedLine[]
  /** Closes the database: `await close()`. Later calls are answered by 503. */
  readonly close: () => Promise<void>
}

/** A line of the log. */
interface LoggedLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly about: Readonly<Record<string, unknown>>
}

interface TestingOptions {
  /** Replaces the option `use` of the handlers: `use: () => ({ mail: { send: (text) => sent.push(text) } })`. */
  readonly use?: () => unknown
  /** The URL of the database; by default SQLite in memory: `database: 'sqlite:./test.db'`. */
  readonly database?: string
  /** Where warnings and failures are logged; nowhere by default: `log: { error: console.error, warn() {}, info() {} }`. */
  readonly log?: Log
  /** The fields whose stored values a changed declaration may drop: `allowLoss: ['notes.text']`. */
  readonly allowLoss?: readonly string[]
  /** Whether stored rows may stay that do not fit a declaration that allows less: `allowMisfits: true`. */
  readonly allowMisfits?: boolean
}

const silentLog: Log = { error: () => {}, warn: () => {}, info: () => {} }

/**
 * Runs a service without a socket, by default on an empty database in memory. All versions are served, unreleased ones too.
 * @example
 * const { call, close } = testing(api)
 * const created = await call('/notes', { method: 'POST', json: { text: 'Call Ann' } })
 * assert.equal(created.status, 201)
 * await close()
 */
export function testing(service: Service, handlers: Service, options?: TestingOptions): Testing
export function testing(service: Service, options?: TestingOptions): Testing
export function testing(service: Service, ...parameters: readonly (Service | TestingOptions | undefined)[]): Testing {
  const [handlers] = parameters.filter((one): one is Service => one !== undefined && 'declaration' in one)
  const [options = {}] = parameters.filter((one): one is TestingOptions => one !== undefined && one !== handlers)
  return testService(handlers ?? service, options)
}

function testService(
  service: Service,
  { database = 'sqlite::memory:', log = silentLog, allowLoss = [], allowMisfits = false, use }: TestingOptions,
): Testing {
  const report = (step: string) => log.info({ step }, 'The database was changed.')
  const opened = openStore(service, database, 'apply', { allowLoss, allowMisfits, report })
  const logged: LoggedLine[] = []
  const clock = { shift: 0 }
  const ownHandlers = service.ownHandlers && use ? { ...service.ownHandlers, use } : service.ownHandlers
  const open = (store: Store) => openDoors({ ...service, ownHandlers }, store, keepingLog(log, logged), clock)
  const doors = opened instanceof Promise ? opened.then(open) : open(opened)
  if (doors instanceof Promise) doors.catch(() => {}) // the first call reports a failure to open
  let closed: Promise<void> | undefined
  const move = async (by: (now: number) => number) => {
    if (closed) throw new Error('The service under test is closed. Let time pass before `close`, or open it again.')
    const { world, runDue } = await doors
    const shift = by(world.now())
    if (!Number.isFinite(shift)) throw new Error("Write a time as at('2026-12-01') or a duration as pass('P7D').")
    if (shift > 0) await runDue() // schedules count from now
    clock.shift += shift
    await runDue()
  }
  return {
    at: (time) => move((now) => Date.parse(time) - now),
    pass: (duration) => move(() => durationMilliseconds(duration) ?? Number.NaN),
    logged,
    call: async (path, { as, ...init } = {}) =>
      (await doors).doorOf(as)(new Request(`http://localhost${path}`, requestInit(init))),
    close: () => {
      closed ??= Promise.resolve(doors).then(({ close }) => close())
      return closed
    },
  }
}

/** The doors of a service on an open store: one for each caller that a test names. */
function openDoors(service: Service, store: Store, log: Log, moved: { readonly shift: number }) {
  const { clock } = store
  const shifted = {
    ...clock,
    now: () => clock.now() + moved.shift,
    due: () => clock.due() + moved.shift,
    issued: () => clock.issued() + moved.shift,
  }
  const world = serviceWorld(realWorld, { ...store, clock: shifted }, undefined, memoryContents())
  const preview = { ...service, choice: previewVersions(service.choice, 'all') }
  const handlers = handlerSources(service, store, world, log)
  const context: ClosableContext = {
    service: preview,
    store,
    world,
    authenticate: callerGate(service, store, world),
    log,
    open: () => true,
    ...(handlers && { handlers }),
  }
  const events = eventsOf(context)
  const doorOf = callerDoors(context, events.relay)
  const close = (): Promise<void> => {
    context.corridor = closedCorridor
    endWaiting(world)
    return runAll([...(handlers ? [handlers.close] : []), events.close, store.close])
  }
  const { resources, writer } = service
  const runJobs = dueJobs(service, handlers)
  const runDue = async () => {
    if (hasTimers(resources)) await runDueTimers({ resources, writer, store, world, log, handlers })
    await runJobs()
    await events.finish()
    await forgetOld(resources, store, world)
  }
  return { doorOf, close, world, runDue }
}

type ClosableContext = ServerContext & { corridor?: typeof closedCorridor }

/** The doors of callers. Events are relayed before each request, unless the service is closed. */
function callerDoors(context: ClosableContext, relay: () => Promise<void>) {
  const door = fetchDoor(context)
  return (as: As | undefined) => async (request: Request) => {
    if (!context.corridor) await relay()
    // Made after the relay, as the service may have been closed meanwhile.
    const own = as === undefined ? door : fetchDoor({ ...context, authenticate: authenticateAs(as) })
    return own(request)
  }
}

/** Deletes what has expired: revisions after their retention, and contents of files without a row. */
async function forgetOld(resources: Service['resources'], store: Store, world: ServiceWorld): Promise<void> {
  await forgetRevisions({ resources, store, world })
  if (hasFiles(resources)) await sweepFiles({ store, world })
}

/** Runs due operations. Schedules are adopted at the first run, as by a process that serves. */
function dueJobs({ resources, settings }: Service, sources: HandlerSources | undefined): () => Promise<void> {
  if (!sources || !hasJobs(resources)) return async () => {}
  const jobs = { sources, settings: settings.operations }
  let adopted: Promise<void> | undefined
  return async () => {
    adopted ??= adoptSchedules(jobs)
    await adopted
    await new Worker(jobs).finish()
  }
}

/** The events of a service under test: they are relayed before each request, and reactions run when time passes. */
function eventsOf(server: ServerContext) {
  const { service, store, world, log, authenticate } = server
  const { resources, settings } = service
  if (!hasEvents(resources)) return { relay: async () => {}, finish: async () => {}, close: async () => {} }
  const events = { resources, store, world, log, retention: settings.events.retention }
  const feed = world.state.of(makeEventFeed, null)
  feed.sources = { store, authenticate, log }
  const runs = eventRuns(server)
  const rules = { privateTargets: true }
  Object.assign(webhookTerms(world), rules, { peppers: [store.secret] })
  const sender = makeSender({ ...rules, resolve: systemResolver(rules), world })
  const { writer } = service
  const deliveries = new DeliveryRun({ resources, events: service.events, writer, store, world, log, sender })
  let begun: Promise<void> | undefined
  const relay = sharingRuns(async () => {
    begun ??= beginReactions(server)
    await begun
    await relayEvents(events)
  })
  const finish = async (): Promise<void> => {
    for (let [before, last] = [-1, 0]; last > before; ) {
      await relay()
      for (const run of runs) await run.run()
      await relay()
      ;[before, last] = [last, await lastPosition(store)]
    }
    if (hasWebhooks(resources)) await deliveries.finish()
    await sweepOldEvents(events)
  }
  const close = async (): Promise<void> => {
    feed.close()
    sender.close()
    await Promise.allSettled(runs.map((run) => run.release()))
  }
  return { relay, finish, close }
}

/** Concurrent calls share the next run, as the current run may have missed the newest events. */
function sharingRuns(run: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  const start = (): Promise<void> => {
    next = undefined
    return run()
  }
  return () => {
    next ??= last = last.then(start, start)
    return next
  }
}

/** A log that also keeps its lines. */
const keepingLog = (log: Log, lines: LoggedLine[]): Log => {
  const keep = (level: LoggedLine['level']) => (about: object, message: string) => {
    lines.push({ level, message, about: { ...about } })
    log[level](about, message)
  }
  return { info: keep('info'), warn: keep('warn'), error: keep('error') }
}

const authenticateAs = ({ id = 'test', account = null, scopes = [], tier = null, features = [] }: As): Authenticate => {
  const caller = callerOf(id, { account, scopes, tier, features })
  return () => caller
}

function requestInit({ json, ...init }: Omit<TestRequest, 'as'>): RequestInit {
  if (json === undefined) return init
  const headers = new Headers(init.headers)
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  return { ...init, headers, body: JSON.stringify(json) }
}
