/** Telemetry: measures requests, plans of the store, handlers and the event loop, if metrics or traces are turned on. Part 8. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { Store } from '../flow/store.ts'
import { type Cancel, elapsedSince, type World } from '../flow/world.ts'
import { Counter, Histogram, type MetricFamily, singleValue } from './metrics.ts'

/** The parts of a request that are known when it is answered; they name no item. */
export interface ObservedRequest {
  /** The template of its path; `other` if it has no route. */
  readonly route: string
  /** Whether the answer came from the cache; null if it could not. */
  readonly cached: boolean | null
}

/** Makes spans. */
export interface Tracing {
  readonly request: (call: Call, act: () => Promise<Reply>, observed: () => ObservedRequest) => Promise<Reply>
  /** A span for a run of a handler; it ends when the returned promise settles. Returns what `act` returns, the same promise. */
  readonly handler: <T>(name: string, act: () => T) => T
  /** As `handler`, for a plan of the store; only within a span of a request or a handler, as background work carries out plans too. */
  readonly plan: <T>(name: string, act: () => T) => T
}

/** How often the delay of the event loop is measured, in milliseconds. */
const delayInterval = 20

export class Telemetry {
  readonly #world: World
  readonly #tracing: Tracing | null
  readonly #started: number
  #underWay = 0
  readonly #refusals = new Counter({
    ...{ name: 'bylaw_refusals', help: 'Refused requests, by the type of the error.' },
    labels: ['type'],
  })
  readonly #cache = new Counter({
    ...{ name: 'bylaw_answer_cache_lookups', help: 'Requests whose answer could come from the cache of answers.' },
    labels: ['result'],
  })
  readonly #requests = new Histogram({
    name: 'bylaw_request_duration_seconds',
    help: 'The time from the head of a request until its answer begins. A route is the template of a path, or other.',
    labels: ['method', 'route', 'status'],
  })
  readonly #plans = new Histogram({
    ...{ name: 'bylaw_store_plan_duration_seconds', help: 'The time that the store takes for a plan.' },
    labels: ['plan'],
  })
  readonly #handlers = new Histogram({
    ...{ name: 'bylaw_handler_duration_seconds', help: 'The time of each run of a handler or a reaction.' },
    labels: ['handler'],
  })
  readonly #delay = new Histogram({
    ...{ name: 'nodejs_event_loop_delay_seconds', help: 'How late timers of the event loop fire.', labels: [] },
  })
  readonly histograms: readonly Histogram[] = [this.#requests, this.#plans, this.#handlers, this.#delay]

  constructor(world: World, tracing: Tracing | null) {
    this.#world = world
    this.#tracing = tracing
    this.#started = world.now()
  }

  /** Measures the delay of the event loop until the returned function is called. */
  watchLoop(): Cancel {
    let last = this.#world.monotonic()
    return this.#world.every(delayInterval, () => {
      this.#delay.observe(Math.max(0, elapsedSince(this.#world, last) - delayInterval))
      last = this.#world.monotonic()
    })
  }

  async request(call: Call, act: () => Promise<Reply>, observed: () => ObservedRequest): Promise<Reply> {
    const started = this.#world.monotonic()
    this.#underWay++
    try {
      const reply = await (this.#tracing ? this.#tracing.request(call, act, observed) : act())
      const { route, cached } = observed()
      if (cached !== null) this.#cache.add(cached ? 'hit' : 'miss')
      this.answered(call, reply, started, route)
      return reply
    } finally {
      this.#underWay--
    }
  }

  /** Counts an answer. */
  answered({ method }: Pick<Call, 'method'>, { status, refused }: Reply, started: number, route: string): void {
    const time = elapsedSince(this.#world, started)
    this.#requests.observe(time, methodLabel(method), route, `${Math.floor(status / 100)}xx`)
    if (refused) this.#refusals.add(refused.problem.type)
  }

  /** A store that measures its plans. */
  measured(store: Store): Store {
    const run: Store['execute'] = (plan, follows) =>
      this.#measure(this.#plans, plan.do, () =>
        this.#tracing ? this.#tracing.plan(plan.do, () => store.execute(plan, follows)) : store.execute(plan, follows),
      )
    return { ...store, execute: run }
  }

  handler<T>(name: string, act: () => T): T {
    return this.#measure(this.#handlers, name, () => (this.#tracing ? this.#tracing.handler(name, act) : act()))
  }

  /** Returns the promise of `act` itself: stores identify pending writes by their promises. */
  #measure<T>(histogram: Histogram, label: string, act: () => T): T {
    const started = this.#world.monotonic()
    const note = (): void => histogram.observe(elapsedSince(this.#world, started), label)
    const result = act()
    if (result instanceof Promise) result.then(note, note)
    else note()
    return result
  }

  families(store: Store): readonly MetricFamily[] {
    const underWay = { name: 'bylaw_requests_under_way', help: 'Requests that are not answered yet.' } as const
    return [
      ...this.histograms.map((one) => one.family()),
      singleValue({ ...underWay, type: 'gauge' }, this.#underWay),
      this.#refusals.family(),
      this.#cache.family(),
      ...storeFamilies(store),
      ...processFamilies(this.#started),
    ]
  }
}

const methods: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']
/** The method as a label; `other` for those that no service has. */
export const methodLabel = (method: string): string => (methods.includes(method) ? method : 'other')

function storeFamilies({ usage }: Store): readonly MetricFamily[] {
  const used = usage?.()
  if (!used) return []
  const { batches, batched, connections, losses } = used
  const perUse = (name: string, help: string, part: 'most' | 'busy' | 'waiting'): MetricFamily => ({
    ...{ name: `bylaw_store_${name}`, type: 'gauge', help },
    samples: connections.map((one) => ({ suffix: '', labels: { use: one.use }, value: one[part] })),
  })
  const pool: readonly MetricFamily[] = [
    perUse('connections_limit', 'How many connections to the database there may be.', 'most'),
    perUse('connections_busy', 'How many of them are in use.', 'busy'),
    perUse(
      'connections_waiting',
      'Statements or callers that wait for a connection, or for an answer on a shared one.',
      'waiting',
    ),
    singleValue(
      { name: 'bylaw_store_connection_losses', type: 'counter', help: 'Connections that have ended.' },
      losses,
    ),
  ]
  return [
    singleValue(
      { name: 'bylaw_store_batches', type: 'counter', help: 'Batches that were sent or committed.' },
      batches,
    ),
    singleValue(
      { name: 'bylaw_store_batched', type: 'counter', help: 'Statements or writes in these batches.' },
      batched,
    ),
    ...(connections.length > 0 ? pool : []),
  ]
}

function processFamilies(started: number): readonly MetricFamily[] {
  const { rss, heapUsed, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const bytes = (name: string, help: string, value: number): MetricFamily =>
    singleValue({ name, type: 'gauge', unit: 'bytes', help }, value)
  return [
    bytes('process_resident_memory_bytes', 'Memory of the process.', rss),
    bytes('nodejs_heap_used_bytes', 'Memory of JavaScript objects.', heapUsed),
    bytes('nodejs_external_memory_bytes', 'Memory of buffers and other objects outside of the heap.', external),
    singleValue(
      { name: 'process_cpu_seconds', type: 'counter', unit: 'seconds', help: 'Processor time of the process.' },
      (user + system) / 1e6,
    ),
    singleValue(
      { name: 'process_start_time_seconds', type: 'gauge', unit: 'seconds', help: 'When the service was started.' },
      started / 1000,
    ),
  ]
}
