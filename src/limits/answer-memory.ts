/** Room: bounds the memory of answers that are being made or are not sent yet; beyond it requests wait. Part 8, overload. */
import { getHeapStatistics } from 'node:v8'
import { Problem } from '../errors/problem.ts'

const MiB = 1024 * 1024
/** Of all large answers of a service together; less where the heap is small. */
export const mostAnswerMemory = Math.min(64 * MiB, Math.floor(getHeapStatistics().heap_size_limit / 4))
/** Answers up to this size are not counted: thousands of them fit. */
export const smallAnswer = MiB / 16
/** From here on one answer is made at a time, and what came in meanwhile is handled before the next one. */
const heavyAnswer = MiB / 4
/** So many turns of the event loop may go by before the next heavy answer, while each of them brings something. */
const mostTurns = 32
/** Where a store is waited for, so many answers are made at a time, as their size is only known once they are made; a heavy one counts as six, so that two are made at a time and small ones beside them. */
const mostMaking = 16
const weightOf = (bytes: number): number => (bytes < heavyAnswer ? 1 : 6)
/** How long a request waits for room, in milliseconds, and how many do at most. */
const memoryPatience = 5000
const mostWaiting = 10_000

/** The memory of one answer. */
export interface AnswerSpace {
  /** Sets how much it holds; the first time, that it is made. */
  readonly set: (bytes: number) => void
  readonly leave: () => void
}

export interface AnswerMemory {
  /** Room for an answer of about so many bytes: now, or when others have left. Small ones pass those that wait. */
  readonly enter: (bytes: () => number, gone?: () => boolean) => AnswerSpace | Promise<AnswerSpace>
  /** Counts an answer that is made. */
  readonly hold: (bytes: number) => AnswerSpace
  /** Whether even a small answer has to wait. */
  readonly isFull: () => boolean
  /** Whether a request waits for room. */
  readonly isWanted: () => boolean
  /** The bytes that are held. */
  readonly held: () => number
}

interface WaitingRequest {
  readonly bytes: () => number
  /** Whether its client has left. */
  readonly gone: () => boolean
  readonly admit: (space: AnswerSpace) => void
  readonly refuse: () => void
  readonly late: NodeJS.Timeout
}

const answerMemories = new WeakMap<object, AnswerMemory>()

/** The room of a service, by its store. One that holds a state for a turn of the event loop reads in the turn, others are waited for. */
export function answerMemoryOf(store: { readonly hold?: unknown }): AnswerMemory {
  const own =
    answerMemories.get(store) ?? makeAnswerMemory(store.hold === undefined ? mostMaking : Number.POSITIVE_INFINITY)
  answerMemories.set(store, own)
  return own
}

// long because: its steps share what is held and who waits
function makeAnswerMemory(most: number): AnswerMemory {
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
        const one = { bytes, gone, admit, refuse, late: setTimeout(refuse, memoryPatience) }
        waiting.add(one)
        pump()
      })
    },
    hold,
    isFull: () => held > mostAnswerMemory,
    isWanted: () => waiting.size > 0,
    held: () => held,
  }

  function leave(one: WaitingRequest, then: () => void): void {
    waiting.delete(one)
    clearTimeout(one.late)
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

  /** Counts an answer that is to be made. */
  function begin(bytes: number): AnswerSpace {
    const { set } = hold(bytes)
    const weight = weightOf(bytes)
    let made = false
    making += weight
    if (bytes >= heavyAnswer) rest()
    const own = (now: number): void => {
      if (!made) {
        made = true
        making -= weight
        pump()
      }
      set(now)
    }
    return { set: own, leave: () => own(0) }
  }

  /** The event loop accepts one connection in a turn, so that with a heavy answer in each turn those that wait would be served late. */
  function rest(turns = 0, before = eventsPolled()): void {
    busy = true
    setImmediate(() => {
      const events = eventsPolled()
      if (events !== before && turns < mostTurns) return rest(turns + 1, events)
      busy = false
      pump()
    })
  }

  /** Admits those that wait, in their order; small ones pass large ones. */
  function pump(): void {
    if (pumping || waiting.size === 0) return
    pumping = true
    setImmediate(() => {
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

/** Grows with every event that the event loop gets from the system. */
const eventsPolled = (): number => performance.nodeTiming.uvMetricsInfo.events

const answerMemoryFull = (): Problem =>
  new Problem(
    'overloaded',
    'More large answers are under way than the service keeps in memory. Ask for smaller pages, or try again later.',
  )

const bytesPerRow = new WeakMap<object, number>()
const [firstGuess, least] = [4096, 1024]

/** How large a page of so many rows may become, by the pages of the same list before. */
export const expectedPageSize = (list: object, rows: number): number => rows * (bytesPerRow.get(list) ?? firstGuess)

/** Learns from a page that was made; what was large once is forgotten slowly. */
export function learnPageSize(list: object, rows: number, bytes: number): void {
  bytesPerRow.set(list, Math.max(least, bytes / Math.max(1, rows), (bytesPerRow.get(list) ?? 0) * 0.99))
}
