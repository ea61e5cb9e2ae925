/** Room: bounds the memory of answers that are being made or are not sent yet; beyond it requests wait. Part 8, overload. */
import { getHeapStatistics } from 'node:v8'
import { Problem } from '../errors/problem.ts'

const MiB = 1024 * 1024
/** Of all large answers of the process together; less where the heap is small. */
export const mostHeld = Math.min(64 * MiB, Math.floor(getHeapStatistics().heap_size_limit / 4))
/** Answers up to this size are not counted: thousands of them fit. */
export const small = MiB / 16
/** From here on one answer is made in a turn of the event loop, so that others are served in between. */
const heavy = MiB / 4
/** How long a request waits for room, in milliseconds, and how many do at most. */
const patience = 5000
const mostWaiting = 10_000

/** The memory of one answer. */
export interface Space {
  /** Sets how much it holds. */
  readonly set: (bytes: number) => void
  readonly leave: () => void
}

interface Waiting {
  readonly bytes: number
  readonly admit: (space: Space) => void
  readonly late: NodeJS.Timeout
}

let held = 0
let busy = false
let pumping = false
const waiting = new Set<Waiting>()

/** Whether somebody waits for room. */
export const isWanted = (): boolean => waiting.size > 0

const fits = (bytes: number): boolean => (bytes < heavy || !busy) && (held === 0 || held + bytes <= mostHeld)

/** Room for an answer of about so many bytes: now, or when others have left. Small ones pass those that wait. */
export function enter(bytes: number): Space | Promise<Space> {
  if (fits(bytes) && (bytes < small || waiting.size === 0)) return hold(bytes)
  if (waiting.size >= mostWaiting) throw full()
  return new Promise((admit, reject) => {
    const one: Waiting = {
      bytes,
      admit,
      late: setTimeout(() => {
        waiting.delete(one)
        reject(full())
      }, patience),
    }
    waiting.add(one)
    pump()
  })
}

const full = (): Problem =>
  new Problem(
    'overloaded',
    'More large answers are under way than the service keeps in memory. Ask for smaller pages, or try again later.',
  )

/** Whether even a small answer has to wait. */
export const isFull = (): boolean => held > mostHeld

/** Counts an answer of so many bytes. */
export function hold(bytes: number): Space {
  let own = bytes
  held += own
  if (bytes >= heavy) {
    busy = true
    setImmediate(() => {
      busy = false
    })
  }
  const set = (now: number): void => {
    held += now - own
    const less = now < own
    own = now
    if (less) pump()
  }
  return { set, leave: () => set(0) }
}

/** Admits those that wait in their order, at most one in a turn of the event loop. */
function pump(): void {
  if (pumping || waiting.size === 0) return
  pumping = true
  setImmediate(() => {
    pumping = false
    const [next] = waiting
    if (!next || (!fits(next.bytes) && !busy)) return
    if (fits(next.bytes)) {
      waiting.delete(next)
      clearTimeout(next.late)
      next.admit(hold(next.bytes))
    }
    pump()
  })
}

const rates = new WeakMap<object, number>()
const [firstGuess, least] = [4096, 1024]

/** How large a page of so many rows may become, by the pages of the same list before. */
export const expected = (list: object, rows: number): number => rows * (rates.get(list) ?? firstGuess)

/** Learns from a page that was made; what was large once is forgotten slowly. */
export function learn(list: object, rows: number, bytes: number): void {
  rates.set(list, Math.max(least, bytes / Math.max(1, rows), (rates.get(list) ?? 0) * 0.99))
}
