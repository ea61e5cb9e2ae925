/** Answer memory: bounds the memory of answers that are being made or sent; beyond it requests wait. Part 8, overload. */
import { getHeapStatistics } from 'node:v8'
import { Problem } from '../errors/problem.ts'
import type { Store } from '../flow/store.ts'
import type { Cancel, ServiceWorld, World } from '../flow/world.ts'

const MiB = 1024 * 1024
/** The bound for all large answers of a service together; lower if the heap is small. */
export const mostAnswerMemory = Math.min(64 * MiB, Math.floor(getHeapStatistics().heap_size_limit / 4))
/** Answers up to this size are not counted once they are made: thousands of them fit. */
export const smallAnswer = MiB / 16
/** Answers of this size or more are made one at a time, and events that arrived meanwhile are handled before the next one. */
const heavyAnswer = MiB / 4
/** For how many turns of the event loop the next heavy answer may be delayed while each turn has new events. */
const mostTurns = 32
/** How many answers an asynchronous store makes at a time, as their size is known late; a heavy one counts as six. */
const mostMaking = 16
const weightOf = (bytes: number): number => (bytes < heavyAnswer ? 1 : 6)
/** How long a request waits for memory, in milliseconds, and how many requests may wait. */
const memoryPatience = 5000
const mostWaiting = 10_000

/** The memory of one answer. */
export interface AnswerSpace {
  /** Sets how many bytes it holds; the first call also marks the answer as made. */
  readonly set: (bytes: number) => void
  readonly leave: () => void
}

export interface AnswerMemory {
  /** Reserves memory for an answer of about this size, now or when others have left. Small answers pass waiting ones. */
  readonly enter: (bytes: () => number, gone?: () => boolean) => AnswerSpace | Promise<AnswerSpace>
  /** Counts an answer that is already made. */
  readonly hold: (bytes: number) => AnswerSpace
  /** Whether even a small answer has to wait. */
  readonly isFull: () => boolean
  /** Whether a request waits for memory. */
  readonly isWanted: () => boolean
  /** How many bytes are held. */
  readonly held: () => number
  /** Estimates the bytes of a page of this many rows from earlier pages of the same list. */
  readonly expected: (list: object, rows: number) => number
  /** Updates the estimate with a finished page; it rises at once and falls slowly. */
  readonly learn: (list: object, rows: number, bytes: number) => void
}

const [firstGuess, least] = [4096, 1024]

interface WaitingRequest {
  readonly bytes: () => number
  /** Whether its client has left. */
  readonly gone: () => boolean
  readonly admit: (space: AnswerSpace) => void
  readonly refuse: () => void
  readonly cancel: Cancel
}

export interface StoreAndWorld {
  readonly store: Pick<Store, 'hold'>
  readonly world: ServiceWorld
}

/** The answer memory of a service. A store with `hold` reads synchronously: it needs no limit on `making`. */
// long because: its functions share the counters and the waiting requests
export function makeAnswerMemory({
  store,
  world,
}: Omit<StoreAndWorld, 'world'> & { readonly world: World }): AnswerMemory {
  const { after, nextTurn, eventsPolled } = world
  const most = store.hold === undefined ? mostMaking : Number.POSITIVE_INFINITY
  const bytesPerRow = new Map<object, number>()
  let held = 0
  let making = 0
  let busy = false
  let pumping = false
  const waiting = new Set<WaitingRequest>()

  return {
    enter: (bytes, gone = () => false) => {
      const size = bytes()
      if (fits(size) && (size < smallAnswer || waiting.size === 0)) return begin(size)
      if (waiting.size >= mostWaiting) throw answerMemoryFull()
      return new Promise((resolve, reject) => {
        const refuse = (): void => leave(one, () => reject(answerMemoryFull()))
        const admit = (space: AnswerSpace): void => leave(one, () => resolve(space))
        const one = { bytes, gone, admit, refuse, cancel: after(memoryPatience, refuse) }
        waiting.add(one)
        pump()
      })
    },
    hold,
    isFull: () => held > mostAnswerMemory,
    isWanted: () => waiting.size > 0,
    held: () => held,
    expected: (list, rows) => rows * (bytesPerRow.get(list) ?? firstGuess),
    learn: (list, rows, bytes) => {
      bytesPerRow.set(list, Math.max(least, bytes / Math.max(1, rows), (bytesPerRow.get(list) ?? 0) * 0.99))
    },
  }

  function leave(one: WaitingRequest, then: () => void): void {
    waiting.delete(one)
    one.cancel()
    then()
  }

  function fits(bytes: number): boolean {
    return (
      making + weightOf(bytes) <= most &&
      (bytes < heavyAnswer || !busy) &&
      (held === 0 || held + bytes <= mostAnswerMemory)
    )
  }

  function hold(bytes: number): AnswerSpace {
    let own = bytes
    held += own
    const set = (now: number): void => {
      held += now - own
      const less = now < own
      own = now
      if (less) pump()
    }
    return { set, leave: () => set(0) }
  }

  /** Counts an answer that is about to be made. */
  function begin(bytes: number): AnswerSpace {
    const { set } = hold(bytes)
    const weight = weightOf(bytes)
    let isMade = false
    making += weight
    if (bytes >= heavyAnswer) rest()
    const own = (now: number): void => {
      if (!isMade) {
        isMade = true
        making -= weight
        pump()
      }
      set(now)
    }
    return { set: own, leave: () => own(0) }
  }

  /** The event loop accepts one connection per turn; a heavy answer in every turn would keep new connections waiting. */
  function rest(turns = 0, before = eventsPolled()): void {
    busy = true
    nextTurn(() => {
      const events = eventsPolled()
      if (events !== before && turns < mostTurns) return rest(turns + 1, events)
      busy = false
      pump()
    })
  }

  /** Admits waiting requests in order; small ones pass large ones. */
  function pump(): void {
    if (pumping || waiting.size === 0) return
    pumping = true
    nextTurn(() => {
      pumping = false
      let blocked = false
      for (const one of waiting) {
        if (making >= most) break
        const bytes = one.bytes()
        if (one.gone()) one.refuse()
        else if (!(blocked && bytes >= smallAnswer) && fits(bytes)) one.admit(begin(bytes))
        else blocked = true
      }
    })
  }
}

const answerMemoryFull = (): Problem =>
  new Problem(
    'overloaded',
    'More large answers are under way than the service keeps in memory. Ask for smaller pages, or try again later.',
  )
