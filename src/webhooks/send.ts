/** Send: one attempt of a delivery, a POST whose answer is reported as data. Part 6, webhooks. */
import { promises as dns } from 'node:dns'
import type { Agent, IncomingMessage, RequestOptions } from 'node:http'
import { elapsedSince, type World } from '../flow/world.ts'
import {
  guardedLookup,
  RefusedTarget,
  type Resolve,
  type TargetRules,
  targetFault,
  targetHost,
  targetPort,
} from './address-guard.ts'

/** Loaded at the first delivery. An import would read every export of these modules; one of them loads WebSockets. */
const clients = {
  'http:': () => process.getBuiltinModule('node:http'),
  'https:': () => process.getBuiltinModule('node:https'),
} as const
type Protocol = keyof typeof clients

/** The longest time of an attempt, in milliseconds: from the look-up of the name to the end of the answer. R210. */
const patience = 20_000
/** How much of an answer is read, in bytes. */
const mostResponse = 1024
/** How long a connection is kept for the next delivery, in milliseconds. */
const idleLife = 15_000
/** How many connections an endpoint has at a time; more deliveries would wait for one, within their `patience`. */
export const mostConnections = 10

interface OutgoingDelivery {
  /** The id of the endpoint: endpoints share no connections, so that one that hangs cannot delay another of the same host. */
  readonly endpoint: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The result of an attempt. */
export interface AttemptResult {
  readonly responseStatus: number | null
  /** Why the attempt failed; null exactly if it succeeded. */
  readonly error: string | null
  /** In milliseconds. */
  readonly duration: number
  /** The first 1,024 bytes of the answer as a text; null if there was no answer. */
  readonly response: string | null
  /** The header `Retry-After` as it came. */
  readonly retryAfter: string | null
}

export interface Sender {
  /** Never rejects. */
  readonly send: (outgoing: OutgoingDelivery) => Promise<AttemptResult>
  /** Ends all connections; attempts that are under way fail, and so do later ones. */
  readonly close: () => void
}

interface SenderDeps extends TargetRules {
  readonly resolve: Resolve
  readonly world: Pick<World, 'monotonic' | 'inBackground'>
}

interface EndpointAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly text: string
  /** The error that ended the answer too early. */
  readonly broken: unknown
}

export function makeSender({ resolve, world, privateTargets }: SenderDeps): Sender {
  const agents: Partial<Record<Protocol, Agent>> = {}
  const lookup = guardedLookup(resolve, { privateTargets })
  /** The attempts under way. A signal shared by all would keep the listeners of each one that has ended. */
  const attempts = new Set<AbortController>()
  let closed = false

  async function attempt(outgoing: OutgoingDelivery, signal: AbortSignal): Promise<EndpointAnswer> {
    const fault = targetFault(outgoing.url, { privateTargets })
    if (fault !== null) throw new RefusedTarget(`The URL ${fault}`)
    const options = requestOptions(outgoing)
    agents[options.protocol] ??= makeAgent(options.protocol)
    return receive(await exchange({ ...options, agent: agents[options.protocol], lookup, signal }, outgoing.body))
  }

  async function send(outgoing: OutgoingDelivery): Promise<AttemptResult> {
    const started = world.monotonic()
    const ending = new AbortController()
    const { signal } = ending
    if (closed) ending.abort(stopped)
    attempts.add(ending)
    const cancel = world.inBackground(patience, () => ending.abort(silent))
    const result = await attempt(outgoing, signal).then(
      (received) => attemptedOf(received, signal),
      (error) => ({ responseStatus: null, error: reasonOf(error, signal), response: null, retryAfter: null }),
    )
    cancel()
    attempts.delete(ending)
    return { ...result, duration: elapsedSince(world, started) }
  }

  function close(): void {
    closed = true
    for (const one of attempts) one.abort(stopped) // a kept connection would retry on another one
    for (const agent of Object.values(agents)) agent.destroy()
  }

  return { send, close }
}

interface EndpointOptions extends RequestOptions {
  readonly endpoint: string
  readonly protocol: Protocol
}

function requestOptions({ endpoint, url: text, headers, body }: OutgoingDelivery): EndpointOptions {
  const url = new URL(text)
  return {
    ...{
      endpoint,
      method: 'POST',
      protocol: url.protocol as Protocol,
      hostname: targetHost(url),
      port: targetPort(url),
    },
    path: url.pathname + url.search,
    headers: { 'accept-encoding': 'identity', ...headers, 'content-length': Buffer.byteLength(body) },
  }
}

const connectionName = (name: string, options: object | undefined): string =>
  `${(options as EndpointOptions | undefined)?.endpoint}:${name}`

function makeAgent(protocol: Protocol): Agent {
  const agent = new (clients[protocol]().Agent)({ keepAlive: true, maxSockets: mostConnections, timeout: idleLife })
  const getName = agent.getName.bind(agent)
  return Object.assign(agent, { getName: (options?: object) => connectionName(getName(options), options) })
}

/** Sends a request and returns the head of its answer. */
function exchange(options: EndpointOptions, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = clients[options.protocol]().request(options)
    let isAnswered = false
    request.on('response', (response) => {
      isAnswered = true
      response.on('error', ignore) // until it is read
      resolve(response)
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      // The endpoint closed a kept connection at the moment of its next request.
      const isStale = request.reusedSocket && error.code === 'ECONNRESET' && !isAnswered
      if (isStale) resolve(exchange({ ...options, agent: false }, body))
      else reject(error)
    })
    request.on('close', () => isAnswered || reject(closedEarly())) // after a switch to another protocol nothing else is emitted
    options.signal?.addEventListener('abort', reject) // also while it waits for a connection
    request.end(body)
  })
}

const closedEarly = (): Error => Object.assign(new Error('closed'), { code: 'ECONNRESET' })

const ignore = (): void => {}

/** Reads the beginning of an answer. If the answer is longer, its connection is closed. */
async function receive(response: IncomingMessage): Promise<EndpointAnswer> {
  const chunks: Buffer[] = []
  let length = 0
  let broken: unknown = null
  try {
    for await (const chunk of response) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= mostResponse) break
    }
  } catch (error) {
    broken = error
  }
  return {
    status: response.statusCode as number,
    retryAfter: response.headers['retry-after'] ?? null,
    text: textOf(Buffer.concat(chunks).subarray(0, mostResponse)),
    broken,
  }
}

/** Without a character that was cut, and without NUL, which PostgreSQL does not store. */
const textOf = (bytes: Buffer): string => new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '\ufffd')

function attemptedOf(
  { status, retryAfter, text, broken }: EndpointAnswer,
  ended: AbortSignal,
): Omit<AttemptResult, 'duration'> {
  const error = broken === null ? statusFault(status) : reasonOf(broken, ended)
  return { responseStatus: status, error, response: text, retryAfter }
}

function statusFault(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return `The endpoint answered ${status}${status >= 300 && status < 400 ? '; redirects are not followed' : ''}.`
}

const unreachable = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EADDRNOTAVAIL', 'EACCES']
const broken = ['ECONNRESET', 'EPIPE', 'ECONNABORTED']

/** Why an attempt was ended. */
const silent = `The endpoint did not answer within ${patience / 1000} seconds.`
const stopped = 'The service stopped during the attempt.'

/** A short reason that contains no addresses or names of the service's network. */
function reasonOf(error: unknown, ended: AbortSignal): string {
  if (ended.aborted) return ended.reason
  if (error instanceof RefusedTarget) return error.message
  const { code = 'unknown error' } = error as NodeJS.ErrnoException
  if (unreachable.includes(code)) return `The endpoint cannot be reached (${code}).`
  if (broken.includes(code)) return 'The endpoint closed the connection before its answer ended.'
  if (code.startsWith('HPE_')) return `The answer is not valid HTTP (${code}).`
  if (/CERT|SIGNATURE|SSL|TLS|EPROTO|ISSUER|CRL/.test(code)) return `The TLS connection failed (${code}).`
  return `The request failed (${code}).`
}

/**
 * Resolves names by DNS alone, which takes no thread: a name server that hangs cannot delay other work of the process.
 * With private targets the names of the machine are found too (`/etc/hosts`).
 */
export function systemResolver(
  { privateTargets }: TargetRules,
  servers: Pick<dns.Resolver, 'resolve4' | 'resolve6'> = new dns.Resolver({ timeout: 5000, tries: 2 }),
): Resolve {
  if (privateTargets) return async (host) => (await dns.lookup(host, { all: true })).map(({ address }) => address)
  return async (host) => {
    const results = await Promise.allSettled([servers.resolve4(host), servers.resolve6(host)])
    return results.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  }
}
