/** Bucket requests: sends signed requests to a bucket, with bounds in time, and again if a failure passes. Part 2, fields. */
import type http from 'node:http'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import type https from 'node:https'
import { pause, type World, within } from '../flow/world.ts'
import { answeredFault, BucketFault } from './bucket-fault.ts'
import type { BucketPlace } from './bucket-place.ts'
import { canonicalQuery, escapeKey, sha256, signRequest } from './bucket-signature.ts'

interface BucketRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Empty for the bucket itself. */
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** How many bytes the bucket has to store or to join before it answers. */
  readonly effort?: number
}

interface BucketAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/**
 * How long a bucket may be silent, in milliseconds: before an answer (as long again for each MiB that it has to store or
 * join), and between two pieces of an answer.
 */
export interface BucketPatience {
  readonly answer: number
  readonly piece: number
}

/** Three attempts without an answer take about as long as the usual `limits.handlerTimeout`. */
export const usualPatience: BucketPatience = { answer: 3000, piece: 10_000 }

const MiB = 1024 * 1024
const mostAttempts = 3
/** The longest pause before the first repeat, in milliseconds; it grows with each repeat. */
const firstPause = 200
/** How much of a short answer is read, in bytes. */
const mostText = 1_048_576
/** How long a connection is kept for the next request, in milliseconds: less than servers keep it. */
const idleLife = 4000

/** Sends requests. All of them may be repeated, as each key is used for one content only. */
export class BucketRequests {
  readonly #place: BucketPlace
  readonly #world: World
  readonly #patience: BucketPatience
  readonly #client: typeof http | typeof https
  readonly #agent: Agent
  #isClosed = false

  constructor(place: BucketPlace, world: World, patience: BucketPatience) {
    this.#place = place
    this.#world = world
    this.#patience = patience
    // An import would read every export of the module; one of them loads WebSockets.
    this.#client = process.getBuiltinModule(place.origin.protocol === 'https:' ? 'node:https' : 'node:http')
    this.#agent = new this.#client.Agent({ keepAlive: true, timeout: idleLife })
  }

  /** Breaks off all requests, also those that would be repeated. */
  close(): void {
    this.#isClosed = true
    this.#agent.destroy()
  }

  /** The answer to a request that succeeds; throws a `BucketFault` otherwise. */
  send(request: BucketRequest): Promise<BucketAnswer> {
    return this.#repeated(request, (response) => this.#admitted(response))
  }

  /** As `send`, for content of any length: returns its pieces as they arrive. */
  open(request: BucketRequest): Promise<AsyncIterable<Uint8Array>> {
    return this.#repeated(request, async (response) => {
      if (response.statusCode === 206) return this.#pieces(response)
      const { status } = await this.#admitted(response)
      const says = `The bucket answered ${status} to a request for a range.`
      throw new BucketFault(says, `HTTP ${status}`, { passes: false })
    })
  }

  /** Runs an attempt again after failures that pass. */
  async #repeated<T>(request: BucketRequest, take: (response: IncomingMessage) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await take(await this.#attempt(request))
      } catch (error) {
        const fault = brokenFault(this.#place, error)
        if (!fault.passes || attempts === mostAttempts || this.#isClosed) throw fault
        await pause(this.#world, this.#world.random() * firstPause * 4 ** (attempts - 1))
      }
    }
  }

  /** One attempt, up to the head of its answer. */
  async #attempt({ method, key, query = {}, headers = {}, body, effort = 0 }: BucketRequest): Promise<IncomingMessage> {
    const { origin, path: root } = this.#place
    if (this.#isClosed) throw Object.assign(new Error('The service has stopped.'), { code: 'ECONNABORTED' })
    const path = key === '' ? root || '/' : `${root}/${escapeKey(key)}`
    const content = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const unsigned = { method, host: origin.host, path, query, headers: { ...headers, ...content } }
    const signed = signRequest({ ...unsigned, digest: sha256(body ?? '') }, this.#place, this.#world.now())
    const target = Object.keys(query).length === 0 ? path : `${path}?${canonicalQuery(query)}`
    const request = this.#client.request(origin, { method, path: target, headers: signed, agent: this.#agent })
    const time = this.#patience.answer * (1 + Math.ceil(effort / MiB))
    const cancel = this.#world.after(time, () => void request.destroy(silent(this.#place, time)))
    return answerOf(request, body).finally(cancel)
  }

  async #admitted(response: IncomingMessage): Promise<BucketAnswer> {
    const answer = await this.#read(response)
    // A server that joins parts may answer 200 before it knows whether it succeeds.
    if (answer.status < 300 && !answer.text.includes('<Error>')) return answer
    throw answeredFault(this.#place, answer)
  }

  async #read(response: IncomingMessage): Promise<BucketAnswer> {
    const pieces: Uint8Array[] = []
    let length = 0
    for await (const piece of this.#pieces(response)) {
      pieces.push(piece)
      length += piece.length
      if (length > mostText) break
    }
    return { status: response.statusCode as number, headers: response.headers, text: String(Buffer.concat(pieces)) }
  }

  /** Ends the answer if a piece takes too long, but not if its reader does. */
  async *#pieces(response: IncomingMessage): AsyncGenerator<Uint8Array> {
    const time = this.#patience.piece
    const pieces: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await within(this.#world, time, pieces.next(), () => null)
        if (next === null) throw silent(this.#place, time)
        if (next.done) return
        yield next.value
      }
    } catch (error) {
      throw brokenFault(this.#place, error)
    } finally {
      response.destroy()
    }
  }
}

/** Sends a request and its content, and returns the head of the answer, which may come before all of the content is sent. */
function answerOf(request: ClientRequest, body: string | Uint8Array | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', (response) => {
      response.on('error', ignore) // until it is read
      resolve(response)
    })
    request.on('error', reject)
    request.on('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
    request.end(body)
  })
}

const ignore = (): void => {}

const silent = ({ bucket, origin }: BucketPlace, time: number): BucketFault =>
  new BucketFault(`The bucket ${bucket} at ${origin.host} did not answer within ${time / 1000} seconds.`, 'ETIMEDOUT', {
    passes: true,
  })

/** The fault of a connection that failed. */
function brokenFault({ bucket, origin }: BucketPlace, cause: unknown): BucketFault {
  if (cause instanceof BucketFault) return cause
  const { code = 'unknown error' } = cause as NodeJS.ErrnoException
  const mend = /CERT|SSL|TLS|EPROTO|ISSUER/.test(code)
    ? ' Its certificate is not trusted: give Node.js the authority by NODE_EXTRA_CA_CERTS, or correct the endpoint.'
    : code === 'ENOTFOUND'
      ? ' Correct the name of the endpoint, the region or the bucket.'
      : ''
  const passes = mend === ''
  return new BucketFault(`The bucket ${bucket} at ${origin.host} cannot be reached (${code}).${mend}`, code, {
    passes,
    cause,
  })
}
