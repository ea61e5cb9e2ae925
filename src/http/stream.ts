/** Sends large answers piece by piece, and keeps slow readers from filling the memory. Part 8, limits. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Reply } from '../flow/reply.ts'
import type { Cancel, World } from '../flow/world.ts'
import { makeAnswerMemory, type StoreAndWorld } from '../limits/answer-memory.ts'

const MiB = 1024 * 1024
const mostUnread = 64 * MiB
/** While there is no room a reader has this time, in milliseconds, and more for what it has taken at so many bytes in each. */
const [haste, pace] = [2000, 512]

/** An answer that its reader has not taken yet. */
interface UnreadAnswer {
  /** What there was at first, and what is left. */
  readonly total: number
  bytes: number
  readonly since: number
  /** How long a reader may take for every MiB that is begun, in milliseconds. */
  readonly timeout: number
}

export interface AnswerReaders {
  /** Sees that an answer is read at a certain pace, or cuts its connection. */
  readonly watch: (socket: Socket, answer: ServerResponse, timeout: number, bytes?: number) => void
  /** Takes down that less is left of an answer. */
  readonly progress: (socket: Socket, bytes: number) => void
  /** The bytes that are not read yet. */
  readonly unread: () => number
}

/** The readers of the answers of a service. */
export const makeAnswerReaders = (own: StoreAndWorld): AnswerReaders =>
  answerReaders(own.world.state.of(makeAnswerMemory, own).isWanted, own.world)

// long because: its steps share what is not read yet
export function answerReaders(isWanted: () => boolean, { monotonic, every }: World): AnswerReaders {
  /** In the order in which they began to wait. */
  const unread = new Map<Socket, UnreadAnswer>()
  let unreadBytes = 0
  let stopSweeping: Cancel | null = null

  function watch(socket: Socket, answer: ServerResponse, timeout: number, bytes = socket.writableLength): void {
    if (bytes === 0 || socket.destroyed) return
    socket.setTimeout(timeout) // without any progress
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

  /** Cuts who is too slow; while too much waits in all, those who have waited longest. */
  function sweep(): void {
    for (const [socket, { total, bytes, since, timeout }] of unread) {
      const waited = monotonic() - since
      const pressed = unreadBytes > mostUnread || isWanted()
      if (waited <= timeout * Math.ceil(total / MiB) && (!pressed || waited <= haste + (total - bytes) / pace)) continue
      forget(socket)
      socket.destroy()
    }
  }

  return { watch, progress, unread: () => unreadBytes }
}

interface StreamOptions {
  readonly held: Reply['held']
  readonly timeout: number
  readonly readers: AnswerReaders
}

/**
 * Sends a large answer piece by piece as its reader takes it, so that what was taken is not kept. Pieces are bytes outside of
 * the heap, each by itself. Where the reader has left already nothing is sent.
 */
export function streamBody(
  socket: Socket,
  answer: ServerResponse,
  body: string | Uint8Array,
  { held, timeout, readers }: StreamOptions,
): void {
  if (socket.destroyed) return void answer.destroy()
  const pieces = cutBody(body)
  let left = pieces.reduce((sum, { length }) => sum + length, 0)
  readers.watch(socket, answer, timeout, left)
  const go = (): void => {
    held?.set(left)
    readers.progress(socket, left)
    for (let next = pieces.shift(); next; next = pieces.shift()) {
      left -= next.length
      if (pieces.length === 0) return void answer.end(next)
      if (!answer.write(next)) return void answer.once('drain', go)
    }
  }
  go()
}

const pieceSize = MiB / 16

/** A body in pieces; a text is never cut inside a character. */
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
