/** A World for tests: time only passes when the test says so, and random numbers are the same in every run. */
import { createHash } from 'node:crypto'
import type { World } from '../../src/flow/world.ts'

export interface TestWorld extends World {
  /** Advances time and runs the timers that are due, in order. */
  readonly tick: (time: number) => void
  /** The same, with turns of the event loop between timers, so that promises and answers of stores arrive. */
  readonly pass: (time: number) => Promise<void>
  /** Advances time in one step, like a machine that slept: timers that are due run once, intervals too. */
  readonly leap: (time: number) => void
  /** Moves only the wall clock, as an operator does. */
  readonly setClock: (by: number) => void
  /** The number of active timers. */
  readonly timers: () => number
}

interface Timer {
  readonly act: () => void
  readonly interval: number | null
  due: number
}

/** The number of turns in which the work of a timer ends, if no other process takes part. */
const turnsToSettle = 5

// long because: its functions share the time and the timers
export function testWorld(seed = 'a world', start = Date.UTC(2026, 0, 1)): TestWorld {
  const timers = new Set<Timer>()
  let [passed, set, drawn] = [0, 0, 0]

  function add(time: number, act: () => void, interval: number | null = null): () => void {
    const timer = { act, interval, due: passed + Math.max(0, time) }
    timers.add(timer)
    if (timer.due === passed) setImmediate(() => run(timer))
    return () => void timers.delete(timer)
  }

  function run(timer: Timer): void {
    if (!timers.has(timer)) return
    if (timer.interval === null) timers.delete(timer)
    else timer.due = passed + timer.interval
    timer.act()
  }

  /** Advances time to the next timer until `end` and runs it, or to `end`; false if no timer was due. */
  function step(end: number): boolean {
    const [next] = [...timers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)
    passed = Math.max(passed, next?.due ?? end)
    if (next) run(next)
    return next !== undefined
  }

  function fillRandom(bytes: Uint8Array): Uint8Array {
    const hash = createHash('shake256', { outputLength: bytes.length })
    bytes.set(hash.update(`${seed} ${++drawn}`).digest())
    return bytes
  }

  return {
    now: () => start + set + Math.floor(passed),
    monotonic: () => passed,
    after: add,
    inBackground: add,
    every: (interval, act) => add(interval, act, interval),
    nextTurn: (act) => void setImmediate(act),
    eventsPolled: () => performance.nodeTiming.uvMetricsInfo.events,
    block: (time) => {
      passed += time
    },
    random: () => new DataView(fillRandom(new Uint8Array(4)).buffer).getUint32(0) / 2 ** 32,
    fillRandom,
    environment: {},
    tick: (time) => {
      for (const end = passed + time; step(end); );
    },
    pass: async (time) => {
      const end = passed + time
      do for (let turn = 0; turn < turnsToSettle; turn++) await new Promise(setImmediate)
      while (step(end))
    },
    leap: (time) => {
      passed += time
      for (const timer of [...timers].filter(({ due }) => due <= passed).sort((a, b) => a.due - b.due)) run(timer)
    },
    setClock: (by) => {
      set += by
    },
    timers: () => timers.size,
  }
}
