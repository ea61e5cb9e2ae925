/** App: a service inside of another program, with its store, its log and the work that it does by itself. Part 8. */
import type { IncomingMessage } from 'node:http'
import { admitCaller } from '../corridor/identify-caller.ts'
import { isHostName } from '../corridor/message.ts'
import { refuse } from '../corridor/refuse.ts'
import { stampReply } from '../corridor/reply-headers.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Call } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import { type Network, networkOf } from '../flow/network.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import { type Log, within } from '../flow/world.ts'
import { durationMilliseconds } from '../formats/time-texts.ts'
import { closedCorridor } from '../http/closed-corridor.ts'
import { callOfRequest } from '../http/fetch.ts'
import { callOf } from '../http/node-call.ts'
import { watchLoop } from '../http/serve-requests.ts'
import type { AccessRule } from '../resources/declaration.ts'
import type { Service } from '../service.ts'
import { metricsType, openMetricsText } from '../telemetry/open-metrics.ts'
import { isCommandError } from '../terminal/command-error.ts'
import { runService, type WorkingService } from '../terminal/run-service.ts'
import { openContentsFor, openStoreFor } from '../terminal/start.ts'
import { RefusedRequest } from './refused-request.ts'

/** How an app is opened. */
export interface AppOptions {
  /** The URL of the database; that of `DATABASE_URL` or `sqlite:./data/<name>.db` by default: `database: 'postgres://localhost/shop'`. */
  readonly database?: string
  /** The folder or bucket for contents of files: `files: 's3://shop-files'`. By default a folder beside the database; PostgreSQL has no default. */
  readonly files?: string
  /** The log; JSON lines on stdout by default. That of Fastify and one of pino fit: `log: fastify.log`. */
  readonly log?: Log
  /** The hosts that the service answers for; all by default: `allowedHosts: ['api.example.com']`. */
  readonly allowedHosts?: readonly string[]
  /** The proxies whose `X-Forwarded-For` is believed; none by default: `trustedProxies: ['10.0.0.0/8']`. */
  readonly trustedProxies?: readonly string[]
  /** Whether metrics are kept, for `app.metrics()`; off by default. */
  readonly metrics?: boolean
  /** Whether traces and metrics are given to `@opentelemetry/api`, for the SDK that the program has set up; off by default. */
  readonly openTelemetry?: boolean
}

/** The callers that `authenticate` accepts, and the address that a Request came from. */
export interface AuthenticateOptions {
  /** `'authenticated'` (the default), `'public'` for anonymous callers too, or a scope: `access: 'orders:read'`. */
  readonly access?: AccessRule
  /** The address of the client of a Request, which has none itself: `address: socket.remoteAddress`. */
  readonly address?: string | undefined
}

/** A service that is open in this process, as `openApp` returns it. */
export interface App {
  /** The log of the service, for routes beside it: `app.log.info({ requestId }, 'Sent.')`. */
  readonly log: Log
  /**
   * The caller of a request to a route beside the service, by the same keys and tokens. It rejects with a `RefusedRequest` if
   * the service would refuse the caller, and counts failed attempts as the service does.
   * @example const { account } = await app.authenticate(request, { access: 'orders:read' })
   */
  readonly authenticate: (request: Request | IncomingMessage, options?: AuthenticateOptions) => Promise<Caller>
  /**
   * Its metrics in the text format of OpenMetrics, for a route that only the scraper reaches. The app has to be opened with
   * `metrics: true`.
   * @example
   * const { contentType, text } = await app.metrics()
   * response.setHeader('content-type', contentType).end(text)
   */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>
  /**
   * Ends streams, waits for requests under way (at most 10 seconds, or `drain`), ends timers, relays and webhooks, and closes
   * the database. Later requests are answered by 503. It may be called again.
   * @example await app.close({ drain: 'PT30S' })
   */
  readonly close: (options?: { readonly drain?: string }) => Promise<void>
}

/**
 * Opens a service for `toFetch`, `toNode`, `toFastify` and `toHono`: its database, its log, and the work that it does by
 * itself, as timers and webhooks. The database is migrated, but with `NODE_ENV=production` only by `bylaw migrate apply`.
 * @example
 * import { openApp, toNode } from 'bylaw/embedding'
 * import api from './handlers.ts'
 *
 * const app = await openApp(api, { database: 'sqlite:./shop.db' })
 * createServer(toNode(app)).listen(3000)
 */
export async function openApp(service: Service, options: AppOptions = {}): Promise<App> {
  const { database = environment.DATABASE_URL ?? `sqlite:./data/${service.name}.db`, allowedHosts } = options
  const proxies = trustedNetworks(options.trustedProxies ?? [])
  const log = options.log ?? (await import('../terminal/json-log.ts')).jsonLog(service.name, 'info')
  let store: Store | undefined
  try {
    store = await openStoreFor(service, database, environment.NODE_ENV === 'production' ? 'require' : 'apply')
    const contents = await openContentsFor(service, database, options.files ?? environment.BYLAW_FILES)
    const hosts = allowedHosts && { hosts: admitHostNames(allowedHosts) }
    const { metrics = false, openTelemetry = false } = options
    const working = await runService(service, {
      store,
      contents,
      log,
      json: true,
      proxies,
      ...hosts,
      metrics,
      openTelemetry,
    })
    working.begin()
    return new OpenApp(working)
  } catch (error) {
    await store?.close()
    throw isCommandError(error) ? new Error(`${error.message}\n${error.mend}`, { cause: error }) : error
  }
}

const { environment } = realWorld

function admitHostNames(hosts: readonly string[]): readonly string[] {
  const stray = hosts.find((one) => !isHostName(one))
  if (stray === undefined) return hosts
  throw new TypeError(
    `allowedHosts has "${stray}", which is no host. Write them as 'api.example.com' or 'localhost:3000', without wildcards.`,
  )
}

function trustedNetworks(texts: readonly string[]): readonly Network[] {
  return texts.map((text) => {
    const network = networkOf(text)
    if (network) return network
    throw new TypeError(
      `trustedProxies has "${text}", which is no address or network. Write them as '10.0.0.1' or '10.0.0.0/8'.`,
    )
  })
}

class OpenApp implements App {
  readonly context: ServerContext & { corridor?: typeof closedCorridor }
  readonly #working: WorkingService
  readonly #stopWatch: ReturnType<typeof watchLoop>
  readonly #running = new Set<object>()
  #idle: (() => void) | null = null
  #ending: Promise<void> | null = null
  #closed: Promise<void> | null = null

  constructor(working: WorkingService) {
    this.#working = working
    this.context = { ...working.context }
    this.#stopWatch = watchLoop(this.context)
  }

  get log(): Log {
    return this.context.log
  }

  authenticate = async (
    request: Request | IncomingMessage,
    { access = 'authenticated', address }: AuthenticateOptions = {},
  ): Promise<Caller> => {
    const { context } = this
    const call = 'socket' in request ? callOf(request, context) : callOfRequest(request, address ?? '', context)
    try {
      return await admitCaller(call, access, context)
    } catch (problem) {
      throw this.#refused(call, problem)
    }
  }

  metrics = async () => {
    const { metrics } = this.#working
    if (!metrics) throw new TypeError('The app keeps no metrics. Open it with them: openApp(api, { metrics: true })')
    return { contentType: metricsType, text: openMetricsText(await metrics()) }
  }

  #refused(call: Call, problem: unknown): RefusedRequest {
    const reply = refuse(call, this.context, problem)
    stampReply(call, reply, this.context, this.context.world.monotonic())
    return new RefusedRequest(reply)
  }

  /** Counts a request until the returned function is called, once or several times. */
  enter = (): (() => void) => {
    const request = {}
    this.#running.add(request)
    return () => {
      this.#running.delete(request)
      if (this.#running.size === 0) this.#idle?.()
    }
  }

  /** Fails readiness and ends streams, so that servers whose end waits for them can end. */
  endStreams = (): Promise<void> => {
    this.#ending ??= (async () => {
      this.#working.close()
      await this.#working.endStreams()
    })()
    return this.#ending
  }

  close = ({ drain = 'PT10S' }: { readonly drain?: string } = {}): Promise<void> => {
    const time = durationMilliseconds(drain)
    if (time === undefined)
      throw new TypeError(`"${drain}" is no duration. Write drain as an ISO 8601 duration: 'PT10S', 'PT1M'.`)
    this.#closed ??= this.#stop(time)
    return this.#closed
  }

  async #stop(drain: number): Promise<void> {
    await this.endStreams()
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve
    })
    if (this.#running.size > 0) await within(realWorld, drain, idle, () => {})
    this.context.corridor = closedCorridor
    this.#stopWatch?.()
    await this.#working.stop()
  }
}

/** The parts of an app that servers need. */
export function openedApp(app: App): Pick<OpenApp, 'context' | 'enter' | 'endStreams' | 'close'> {
  if (app instanceof OpenApp) return app
  throw new TypeError('This is no open app. Open the service first: const app = await openApp(api)')
}
