/** Keeps what comes in on a connection in turn, and ends it so that its last answer can be read. Part 8, limits. */
import type { Socket } from 'node:net'
import type { Store } from '../flow/store.ts'
import type { World } from '../flow/world.ts'

/** Something to do on a connection; in the end it says whether the connection goes on. */
type ConnectionStep = (done: (goesOn: boolean) => void) => void

interface StepQueue {
  busy: boolean
  readonly waiting: ConnectionStep[]
  /** How many steps followed each other without a look at other connections. */
  inRow: number
}

/** So many requests of a connection are served in a row; then the others have their turn. */
const mostInRow = 16
/** Where more requests wait on a connection, nothing is read from it until half of them are served. */
const mostWaiting = 64

/**
 * Takes a step when all steps before it are done. So a request sees what those before it have done, and what stands
 * behind a refused one is never carried out. R18.
 */
export type EnqueueStep = (socket: Socket, step: ConnectionStep) => void

// long because: its functions share the queues
export function stepQueues({ nextTurn }: World): EnqueueStep {
  const queues = new WeakMap<Socket, StepQueue>()
  /** Connections with more to do, in turn. */
  const readySteps: (() => void)[] = []

  function runStep(socket: Socket, line: StepQueue, step: ConnectionStep): void {
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
      if (line.inRow < mostInRow) return runStep(socket, line, next)
      line.inRow = 0
      readySteps.push(() => runStep(socket, line, next))
      if (readySteps.length === 1) nextTurn(runNextReady)
    })
  }

  /** One connection in a turn of the event loop, so that what comes in on others is served in between. */
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
    // Later, as the end of the message that is being read would start the reading again.
    if (line.waiting.length === mostWaiting) process.nextTick(() => socket.pause())
  }
}

/**
 * What one turn of the event loop brings is read from one state and answered together: a transaction costs three times
 * what the read of an item does, and a write to a connection twice as much when it has to wake its reader each time.
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
    /** To be called where something comes in: what came in before is not older than the state that is read from now on. */
    begin: (): void => {
      const polls = eventsPolled()
      if (under && polls === polled) return
      // After 1,024 events the system is asked for more in the same turn: what comes then may know of later commits of other processes.
      if (under) release?.()
      else nextTurn(end)
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

const lingerTime = 3000
const mostDiscarded = 16 * 1024 * 1024

/** Lets nothing more in: what still comes is thrown away, up to a bound. */
export function discardInput(socket: Socket, { nextTurn }: World): void {
  let left = mostDiscarded
  socket.resume()
  // Only in the next turn has the engine begun to read again; taken away from it before, the connection would stand still.
  nextTurn(() => {
    socket.removeAllListeners('data')
    socket.on('data', ({ length }: Buffer) => {
      left -= length
      if (left < 0) socket.destroy()
    })
  })
}

/** Ends a connection. Closed at once, it would take its last answer away from who is still sending. R18. */
export function linger(socket: Socket, world: World): void {
  discardInput(socket, world)
  socket.end()
  socket.once(
    'close',
    world.after(lingerTime, () => socket.destroy()),
  )
}
