/** Bucket requests: sends signed requests to a bucket, with bounds in time, and again if a failure passes. Part 2, fields. */
import http, { type IncomingMessage, type RequestOptions } from 'node:http'
import https from 'node:https'
import { pause, type World, within } from '../flow/world.ts'
import { answeredFault, BucketFault } from './bucket-fault.ts'
import type { BucketPlace } from './bucket-place.ts'
import { escapeKey, queryText, sha256, signRequest } from './bucket-signature.ts'

export interface BucketRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Empty for the bucket itself. */
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

interface BucketAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

export interface BucketRequests {
  /** The answer to a request that succeeds; throws a `BucketFault` otherwise. */
  readonly send: (request: BucketRequest) => Promise<BucketAnswer>
  /** The same for a range of any length: its pieces. */
  readonly open: (request: BucketRequest) => Promise<AsyncIterable<Uint8Array>>
}

/** How long a bucket may be silent, in milliseconds: after a request, while it reads a content, and while it sends one. */
export interface BucketPatience {
  readonly answer: number
  readonly upload: number
  readonly piece: number
}

/** Three attempts without an answer take about as long as the usual `limits.handlerTimeout`. */
export const usualPatience: BucketPatience = { answer: 3000, upload: 20_000, piece: 10_000 }

const mostAttempts = 3
/** The longest pause before the first repeat, in milliseconds; it grows. */
const firstPause = 200
/** How much of a short answer is read, in bytes. */
const mostText = 1_048_576
/** How long a connection is kept for the next request, in milliseconds: less than servers keep it. */
const idleLife = 4000

export function bucketRequests(place: BucketPlace, world: World, patience: BucketPatience): BucketRequests {
  const isSecure = place.origin.protocol === 'https:'
  const agent = new (isSecure ? https : http).Agent({ keepAlive: true, timeout: idleLife })

  /** One attempt, up to the head of its answer. */
  async function attempt({ method, key, query = {}, headers = {}, body }: BucketRequest): Promise<IncomingMessage> {
    const path = key === '' ? place.path || '/' : `${place.path}/${escapeKey(key)}`
    const content = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const unsigned = { method, host: place.origin.host, path, query, headers: { ...headers, ...content } }
    const signed = signRequest({ ...unsigned, digest: sha256(body ?? '') }, place, world.now())
    const search = queryText(query)
    const options = { method, path: search === '' ? path : `${path}?${search}`, headers: signed, agent }
    const request = (isSecure ? https : http).request(place.origin, options satisfies RequestOptions)
    const time = body === undefined ? patience.answer : patience.upload
    const cancel = world.after(time, () => void request.destroy(silent(place, time)))
    return answerOf(request, body).finally(cancel)
  }

  async function read(response: IncomingMessage): Promise<BucketAnswer> {
    const pieces: Uint8Array[] = []
    let length = 0
    for await (const piece of piecesOf(response)) {
      pieces.push(piece)
      length += piece.length
      if (length > mostText) break
    }
    return { status: response.statusCode as number, headers: response.headers, text: String(Buffer.concat(pieces)) }
  }

  /** Ends the answer if a piece takes too long, but not if its reader does. */
  async function* piecesOf(response: IncomingMessage): AsyncGenerator<Uint8Array> {
    const pieces: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await within(world, patience.piece, pieces.next(), () => null)
        if (next === null) throw silent(place, patience.piece)
        if (next.done) return
        yield next.value
      }
    } catch (error) {
      throw brokenFault(place, error)
    } finally {
      response.destroy()
    }
  }

  /** Runs an attempt again after failures that pass. All requests may be repeated: keys are used for one content. */
  async function repeated<T>(request: BucketRequest, take: (response: IncomingMessage) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await take(await attempt(request))
      } catch (error) {
        const fault = brokenFault(place, error)
        if (!fault.passes || attempts === mostAttempts) throw fault
        await pause(world, world.random() * firstPause * 4 ** (attempts - 1))
      }
    }
  }

  const admitted = async (response: IncomingMessage): Promise<BucketAnswer> => {
    const answer = await read(response)
    // A server that joins parts may answer 200 before it knows whether it succeeds.
    if (answer.status < 300 && !answer.text.includes('<Error>')) return answer
    throw answeredFault(place, answer)
  }

  return {
    send: (request) => repeated(request, admitted),
    open: (request) =>
      repeated(request, async (response) => {
        if (response.statusCode === 206) return piecesOf(response)
        const { status } = await admitted(response)
        throw new BucketFault(`The bucket answered ${status} to a request for a range.`, `HTTP ${status}`, {
          passes: false,
        })
      }),
  }
}

/** Sends a request and its content, and returns the head of the answer, which may come before all of the content is sent. */
function answerOf(request: http.ClientRequest, body: string | Uint8Array | undefined): Promise<IncomingMessage> {
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
  new BucketFault(`The bucket ${bucket} at ${origin.host} was silent for ${time / 1000} seconds.`, 'ETIMEDOUT', {
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
