/** Keeps what comes in on a connection in turn, and ends it so that its last answer can be read. Part 8, limits. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Store } from '../flow/store.ts'
import { began, type Started, took } from './world.ts'

/** Something to do on a connection; in the end it says whether the connection goes on. */
type Step = (done: (goesOn: boolean) => void) => void

interface Line {
  busy: boolean
  readonly waiting: Step[]
}

const lines = new WeakMap<Socket, Line>()

/**
 * Takes a step when all steps before it are done. So a request sees what those before it have done, and what stands
 * behind a refused one is never carried out. R18.
 */
export function enqueue(socket: Socket, step: Step): void {
  const line = lines.get(socket) ?? { busy: false, waiting: [] }
  lines.set(socket, line)
  if (line.busy) line.waiting.push(step)
  else take(socket, line, step)
}

function take(socket: Socket, line: Line, step: Step): void {
  line.busy = true
  step((goesOn) => {
    if (!goesOn || socket.destroyed) return // nothing more is taken
    const next = line.waiting.shift()
    if (next) take(socket, line, next)
    else line.busy = false
  })
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
  readonly bytes: number
  readonly since: Started
  /** How long a reader may take for every MiB that is begun, in milliseconds. */
  readonly timeout: number
}

const mostUnread = 64 * MiB
const haste = 2000
/** In the order in which they began to wait. */
const unread = new Map<Socket, Waiting>()
let unreadBytes = 0
let sweeping: NodeJS.Timeout | undefined

/** Keeps slow readers from filling the memory: an answer is read at a certain pace, or its connection is cut. */
export function watch(socket: Socket, answer: ServerResponse, timeout: number): void {
  const bytes = socket.writableLength
  if (bytes === 0) return
  socket.setTimeout(timeout) // without any progress
  unread.set(socket, { bytes, since: began(), timeout })
  unreadBytes += bytes
  answer.on('close', () => forget(socket))
  sweeping ??= setInterval(sweep, 1000).unref()
  if (unreadBytes > mostUnread) sweep()
}

function forget(socket: Socket): void {
  unreadBytes -= unread.get(socket)?.bytes ?? 0
  unread.delete(socket)
  if (unread.size > 0) return
  clearInterval(sweeping)
  sweeping = undefined
}

/** Cuts who is too slow; while too much waits in all, those who have waited longest. */
function sweep(): void {
  for (const [socket, { bytes, since, timeout }] of unread) {
    const waited = took(since)
    if (waited <= timeout * Math.ceil(bytes / MiB) && (unreadBytes <= mostUnread || waited <= haste)) continue
    forget(socket)
    socket.destroy()
  }
}
