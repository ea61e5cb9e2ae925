/** Stream: sends large answers piece by piece, and disconnects clients that read too slowly. Part 8, limits. */
import type { Socket } from 'node:net'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Call } from '../flow/call.ts'
import type { AnswerStream, Reply } from '../flow/reply.ts'
import type { Cancel, World } from '../flow/world.ts'
import { makeAnswerMemory, type StoreAndWorld } from '../limits/answer-memory.ts'

const MiB = 1024 * 1024
const mostUnread = 64 * MiB
/** While memory is short, a reader has 2,000 ms, and one more for every 512 bytes that it has read. */
const [haste, pace] = [2000, 512]

/** The part of a response that sends its content: that of node:http, or of our own engine. */
export interface AnswerBody {
  readonly destroyed: boolean
  readonly writableLength: number
  readonly writableNeedDrain: boolean
  readonly flushHeaders: () => void
  readonly write: (piece: string | Uint8Array) => boolean
  end(): unknown
  end(piece: string | Uint8Array): unknown
  readonly destroy: () => unknown
  readonly on: (event: 'drain' | 'close', act: () => void) => unknown
  readonly once: (event: 'drain' | 'close', act: () => void) => unknown
}

/** An answer that its client has not read completely. */
interface UnreadAnswer {
  /** The size of the whole answer; `bytes` of it are not read yet. */
  readonly total: number
  bytes: number
  readonly since: number
  /** How long a client may take for each started MiB, in milliseconds. */
  readonly timeout: number
}

export interface AnswerReaders {
  /** Closes the connection if the answer is read too slowly. */
  readonly watch: (socket: Socket, answer: AnswerBody, timeout: number, bytes?: number) => void
  /** Records how many bytes of an answer are left. */
  readonly progress: (socket: Socket, bytes: number) => void
  /** Closes a connection; resets it if its answer is incomplete, so that no client mistakes the close for the end of the answer. R162. */
  readonly close: (socket: Socket) => void
  /** Makes `resetAll` reset a stream too; it is not watched, as its length is not known. */
  readonly keep: (socket: Socket, answer: AnswerBody) => void
  /** Resets all connections with an incomplete answer. */
  readonly resetAll: () => void
  /** The unread bytes of all answers. */
  readonly unread: () => number
}

/** The readers of one service. */
export const makeAnswerReaders = (own: StoreAndWorld): AnswerReaders =>
  answerReaders(own.world.state.of(makeAnswerMemory, own).isWanted, own.world)

// long because: its functions share the unread answers
export function answerReaders(isWanted: () => boolean, { monotonic, every }: World): AnswerReaders {
  /** The answers that are being read, the oldest first. */
  const unread = new Map<Socket, UnreadAnswer>()
  const streams = new Set<Socket>()
  let unreadBytes = 0
  let stopSweeping: Cancel | null = null

  function watch(socket: Socket, answer: AnswerBody, timeout: number, bytes = socket.writableLength): void {
    if (bytes === 0 || socket.destroyed || !('setTimeout' in socket)) return // Fastify's `inject` has no real socket
    socket.setTimeout(timeout) // closes the connection if nothing is sent for this long
    unread.set(socket, { total: bytes, bytes, since: monotonic(), timeout })
    unreadBytes += bytes
    answer.on('close', () => forget(socket))
    stopSweeping ??= every(1000, sweep)
    if (unreadBytes > mostUnread) sweep()
  }

  function progress(socket: Socket, bytes: number): void {
    const one = unread.get(socket)
    if (!one) return
    unreadBytes += bytes - one.bytes
    one.bytes = bytes
  }

  function forget(socket: Socket): void {
    unreadBytes -= unread.get(socket)?.bytes ?? 0
    unread.delete(socket)
    if (unread.size > 0) return
    stopSweeping?.()
    stopSweeping = null
  }

  /** Disconnects slow clients; while memory is short the limit is stricter, and the oldest answers are checked first. */
  function sweep(): void {
    for (const [socket, { total, bytes, since, timeout }] of unread) {
      const waited = monotonic() - since
      const pressed = unreadBytes > mostUnread || isWanted()
      if (waited <= timeout * Math.ceil(total / MiB) && (!pressed || waited <= haste + (total - bytes) / pace)) continue
      close(socket)
    }
  }

  function close(socket: Socket): void {
    if (!unread.has(socket) || socket.writableEnded) return void socket.destroy()
    forget(socket)
    breakOff(socket)
  }

  function keep(socket: Socket, answer: AnswerBody): void {
    streams.add(socket)
    answer.on('close', () => streams.delete(socket))
  }

  function resetAll(): void {
    for (const socket of unread.keys()) close(socket)
    for (const socket of streams) breakOff(socket)
  }

  return { watch, progress, keep, close, resetAll, unread: () => unreadBytes }
}

/** Resets a connection. That of a host can be of TLS or of a socket file, which have no reset. */
function breakOff(socket: Socket): void {
  try {
    socket.resetAndDestroy()
  } catch {
    socket.destroy()
  }
}

interface StreamOptions {
  readonly held: Reply['held']
  readonly timeout: number
  readonly readers: AnswerReaders
  /** Called with an error that occurs after the first pieces. */
  readonly failed: (error: unknown) => void
}

/**
 * Sends a large answer piece by piece as the client reads it, so that sent pieces are freed. Each piece is a buffer outside
 * the heap. Sends nothing if the client has disconnected.
 */
export function streamBody(
  socket: Socket,
  answer: AnswerBody,
  body: string | Uint8Array,
  { held, timeout, readers, failed }: StreamOptions,
): void {
  if (socket.destroyed) return void answer.destroy()
  const pieces = cutBody(body)
  let left = pieces.reduce((sum, { length }) => sum + length, 0)
  readers.watch(socket, answer, timeout, left)
  const goOn = (): void => {
    try {
      go()
    } catch (error) {
      failed(error)
    }
  }
  const go = (): void => {
    held?.set(left)
    readers.progress(socket, left)
    for (let next = pieces.shift(); next; next = pieces.shift()) {
      left -= next.length
      if (pieces.length === 0) return void answer.end(next)
      if (!answer.write(next)) return void answer.once('drain', goOn)
    }
  }
  go()
}

/** Logs why a stream was broken off. */
export const brokenStream =
  ({ id }: Call, { log }: Pick<ServerContext, 'log'>) =>
  (err: unknown): void =>
    log.error({ requestId: id, err }, 'The answer was broken off.')

/** Sends a body that is made while it is sent. One without an end may last for days. */
export function openStream(
  socket: Socket,
  answer: AnswerBody,
  { held, stream }: Reply,
  { readers, failed }: Pick<StreamOptions, 'readers' | 'failed'>,
): void {
  const { endless, open } = stream as AnswerStream
  if (endless) held?.leave()
  let drained = (): void => {}
  if (socket.destroyed) return void answer.destroy()
  readers.keep(socket, answer)
  answer.flushHeaders() // sent together with content, they would stay in memory in 34 pieces as long as the stream is open
  const ended = open({
    write: (piece) => void answer.write(piece),
    unread: () => answer.writableLength,
    ready: () =>
      new Promise((resolve) => {
        drained = resolve
        if (!answer.writableNeedDrain || answer.destroyed) resolve()
      }),
    end: () => void answer.end(),
    cut: (failure) => {
      if (failure !== undefined) failed(failure)
      breakOff(socket)
    },
  })
  answer.on('drain', () => drained())
  answer.on('close', () => {
    ended()
    drained()
  })
  if (endless) socket.once('end', () => socket.destroy()) // there is no end for which a client that half-closes could wait
}

const pieceSize = MiB / 16

/** Cuts a body into pieces; a text is never cut inside a character. */
export function cutBody(body: string | Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0, end = 0; at < body.length; at = end) {
    end = Math.min(body.length, at + pieceSize)
    if (typeof body !== 'string') pieces.push(body.subarray(at, end))
    else {
      if (end < body.length && isHighSurrogate(body.charCodeAt(end - 1))) end--
      pieces.push(Buffer.from(body.slice(at, end)))
    }
  }
  return pieces
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00
