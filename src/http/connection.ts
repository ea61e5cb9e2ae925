/** Connection: serves its requests in order, and those of one turn together. Part 8, limits. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Store } from '../flow/store.ts'
import type { World } from '../flow/world.ts'

/** A step on a connection, such as a request; `done` receives whether the connection stays open. */
type ConnectionStep = (done: (goesOn: boolean) => void) => void

interface StepQueue {
  busy: boolean
  readonly waiting: ConnectionStep[]
  /** How many steps ran in a row, without a turn for other connections. */
  inRow: number
}

/** After this many requests of one connection in a row, other connections have their turn. */
const mostInRow = 16
/** When this many requests wait on a connection, nothing more is read from it until half of them are served. */
const mostWaiting = 64

/**
 * Runs a step when all earlier steps are done. So a request sees the effects of earlier ones, and nothing after
 * a request that closes the connection is carried out. R18.
 */
export type EnqueueStep = (socket: Socket, step: ConnectionStep) => void

// long because: its functions share the queues
export function connectionQueues({ nextTurn }: World): EnqueueStep {
  const queues = new WeakMap<Socket, StepQueue>()
  /** The next steps of connections that wait for their turn. */
  const readySteps: (() => void)[] = []

  function runStep(socket: Socket, line: StepQueue, step: ConnectionStep): void {
    line.busy = true
    step((goesOn) => {
      if (!goesOn || socket.destroyed) return // the waiting steps never run
      const next = line.waiting.shift()
      if (!next) {
        line.busy = false
        return
      }
      if (line.waiting.length === mostWaiting / 2) socket.resume()
      line.inRow++
      if (line.inRow < mostInRow) return runStep(socket, line, next)
      line.inRow = 0
      readySteps.push(() => runStep(socket, line, next))
      if (readySteps.length === 1) nextTurn(runNextReady)
    })
  }

  /** Continues one connection per turn of the event loop, so that others are served in between. */
  function runNextReady(): void {
    const [next] = readySteps
    next?.()
    readySteps.shift()
    if (readySteps.length > 0) nextTurn(runNextReady)
  }

  return (socket, step) => {
    const line = queues.get(socket) ?? { busy: false, waiting: [], inRow: 0 }
    queues.set(socket, line)
    if (!line.busy) {
      runStep(socket, line, step)
      return
    }
    line.waiting.push(step)
    // Deferred, as the parser would resume the socket at the end of the current message.
    if (line.waiting.length === mostWaiting) process.nextTick(() => socket.pause())
  }
}

/**
 * Requests that arrive in one turn of the event loop share a snapshot, and their answers are sent together: a transaction
 * costs three times as much as reading an item, and a socket write costs twice as much if each one wakes its reader.
 */
export function loopTurns({ hold }: Pick<Store, 'hold'>, { nextTurn, eventsPolled }: World) {
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
    /** Called when a request arrives. Starts a new snapshot, unless this turn has one that is newer than the last poll. */
    begin: (): void => {
      const polls = eventsPolled()
      if (under && polls === polled) return
      // After 1,024 events a turn polls again: a request that arrives then may know of later commits of other processes.
      if (under) release?.()
      else nextTurn(end)
      under = true
      polled = polls
      release = hold?.()
    },
    /** Sends an answer at the end of the turn; at once if the turn is over. */
    send: (answer: () => void): void => {
      if (under) answers.push(answer)
      else answer()
    },
  }
}

/** Waits until there is content to read, or its end; rejects if the client disconnects. */
export const readableOrEnded = (request: IncomingMessage): Promise<unknown> =>
  new Promise((resolve, reject) => {
    if (request.destroyed) return void resolve(null)
    request.once('readable', resolve).once('close', resolve).once('error', reject)
  })
