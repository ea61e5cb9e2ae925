/** Keeps what comes in on a connection in turn, and ends it so that its last answer can be read. Part 8, limits. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Reply } from '../flow/reply.ts'
import type { Store } from '../flow/store.ts'
import { isWanted } from '../limits/room.ts'
import { began, type Started, took } from './world.ts'

/** Something to do on a connection; in the end it says whether the connection goes on. */
type Step = (done: (goesOn: boolean) => void) => void

interface Line {
  busy: boolean
  readonly waiting: Step[]
  /** How many steps followed each other without a look at other connections. */
  inRow: number
}

const lines = new WeakMap<Socket, Line>()
/** So many requests of a connection are served in a row; then the others have their turn. */
const mostInRow = 16
/** Where more requests wait on a connection, nothing is read from it until half of them are served. */
const mostWaiting = 64
/** Connections with more to do, in turn. */
const ready: (() => void)[] = []

/**
 * Takes a step when all steps before it are done. So a request sees what those before it have done, and what stands
 * behind a refused one is never carried out. R18.
 */
export function enqueue(socket: Socket, step: Step): void {
  const line = lines.get(socket) ?? { busy: false, waiting: [], inRow: 0 }
  lines.set(socket, line)
  if (!line.busy) {
    take(socket, line, step)
    return
  }
  line.waiting.push(step)
  // Later, as the end of the message that is being read would start the reading again.
  if (line.waiting.length === mostWaiting) process.nextTick(() => socket.pause())
}

function take(socket: Socket, line: Line, step: Step): void {
  line.busy = true
  step((goesOn) => {
    if (!goesOn || socket.destroyed) return // nothing more is taken
    const next = line.waiting.shift()
    if (!next) {
      line.busy = false
      return
    }
    if (line.waiting.length === mostWaiting / 2) socket.resume()
    line.inRow++
    if (line.inRow < mostInRow) return take(socket, line, next)
    line.inRow = 0
    ready.push(() => take(socket, line, next))
    if (ready.length === 1) setImmediate(serveNext)
  })
}

/** One connection in a turn of the event loop, so that what comes in on others is served in between. */
function serveNext(): void {
  const [next] = ready
  next?.()
  ready.shift()
  if (ready.length > 0) setImmediate(serveNext)
}

/** Grows with every set of events that the event loop gets from the system, once the set was handled. */
const eventsPolled = (): number => performance.nodeTiming.uvMetricsInfo.events

/**
 * What one turn of the event loop brings is read from one state and answered together: a transaction costs three times
 * what the read of an item does, and a write to a connection twice as much when it has to wake its reader each time.
 */
export function turns({ hold }: Pick<Store, 'hold'>) {
  let answers: (() => void)[] = []
  let under = false
  let polled = 0
  let release: (() => void) | undefined

  function end(): void {
    under = false
    release?.()
    const all = answers
    answers = []
    for (const answer of all) answer()
  }

  return {
    /** To be called where something comes in: what came in before is not older than the state that is read from now on. */
    begin: (): void => {
      const polls = eventsPolled()
      if (under && polls === polled) return
      // After 1,024 events the system is asked for more in the same turn: what comes then may know of later commits of other processes.
      if (under) release?.()
      else setImmediate(end)
      under = true
      polled = polls
      release = hold?.()
    },
    /** Sends at the end of the turn, or now where it is over. */
    send: (answer: () => void): void => {
      if (under) answers.push(answer)
      else answer()
    },
  }
}

const patience = 3000
const MiB = 1024 * 1024
const most = 16 * MiB

/** Lets nothing more in: what still comes is thrown away, up to a bound. */
export function deafen(socket: Socket): void {
  let left = most
  socket.resume()
  // Only in the next turn has the engine begun to read again; taken away from it before, the connection would stand still.
  setImmediate(() => {
    socket.removeAllListeners('data')
    socket.on('data', ({ length }: Buffer) => {
      left -= length
      if (left < 0) socket.destroy()
    })
  })
}

/** Ends a connection. Closed at once, it would take its last answer away from who is still sending. R18. */
export function linger(socket: Socket): void {
  deafen(socket)
  socket.end()
  const late = setTimeout(() => socket.destroy(), patience)
  socket.once('close', () => clearTimeout(late))
}

/** An answer that its reader has not taken yet. */
interface Waiting {
  /** What there was at first, and what is left. */
  readonly whole: number
  bytes: number
  readonly since: Started
  /** How long a reader may take for every MiB that is begun, in milliseconds. */
  readonly timeout: number
}

const mostUnread = 64 * MiB
/** While there is no room a reader has this time, in milliseconds, and more for what it has taken at so many bytes in each. */
const [haste, pace] = [2000, 512]
/** In the order in which they began to wait. */
const unread = new Map<Socket, Waiting>()
let unreadBytes = 0
let sweeping: NodeJS.Timeout | undefined

/** Keeps slow readers from filling the memory: an answer is read at a certain pace, or its connection is cut. */
export function watch(socket: Socket, answer: ServerResponse, timeout: number, bytes = socket.writableLength): void {
  if (bytes === 0) return
  socket.setTimeout(timeout) // without any progress
  unread.set(socket, { whole: bytes, bytes, since: began(), timeout })
  unreadBytes += bytes
  answer.on('close', () => forget(socket))
  sweeping ??= setInterval(sweep, 1000).unref()
  if (unreadBytes > mostUnread) sweep()
}

/** Takes down that less is left of an answer. */
function progress(socket: Socket, bytes: number): void {
  const one = unread.get(socket)
  if (!one) return
  unreadBytes += bytes - one.bytes
  one.bytes = bytes
}

const piece = MiB / 16

/**
 * Sends a large answer piece by piece as its reader takes it, so that what was taken is not kept. Pieces are bytes outside of
 * the heap, each by itself.
 */
export function pour(socket: Socket, answer: ServerResponse, body: string | Buffer, { stay, timeout }: Pouring): void {
  const pieces = cut(body)
  let left = pieces.reduce((sum, { length }) => sum + length, 0)
  watch(socket, answer, timeout, left)
  const go = (): void => {
    stay?.set(left)
    progress(socket, left)
    for (let next = pieces.shift(); next; next = pieces.shift()) {
      left -= next.length
      if (pieces.length === 0) return void answer.end(next)
      if (!answer.write(next)) return void answer.once('drain', go)
    }
  }
  go()
}

interface Pouring {
  readonly stay: Reply['stay']
  readonly timeout: number
}

/** A body in pieces; a text is never cut inside a character. */
export function cut(body: string | Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, end = 0; at < body.length; at = end) {
    end = Math.min(body.length, at + piece)
    if (typeof body !== 'string') pieces.push(body.subarray(at, end))
    else {
      if (end < body.length && isHigh(body.charCodeAt(end - 1))) end--
      pieces.push(Buffer.from(body.slice(at, end)))
    }
  }
  return pieces
}

const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00

function forget(socket: Socket): void {
  unreadBytes -= unread.get(socket)?.bytes ?? 0
  unread.delete(socket)
  if (unread.size > 0) return
  clearInterval(sweeping)
  sweeping = undefined
}

/** Cuts who is too slow; while too much waits in all, those who have waited longest. */
function sweep(): void {
  for (const [socket, { whole, bytes, since, timeout }] of unread) {
    const waited = took(since)
    const pressed = unreadBytes > mostUnread || isWanted()
    if (waited <= timeout * Math.ceil(whole / MiB) && (!pressed || waited <= haste + (whole - bytes) / pace)) continue
    forget(socket)
    socket.destroy()
  }
}
