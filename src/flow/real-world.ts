/** Real world: the clocks, timers and random numbers of the machine; only the commands know them too. Part 1. */
import { randomFillSync } from 'node:crypto'
import type { World } from './world.ts'

const blocked = new Int32Array(new SharedArrayBuffer(4))

export const realWorld: World = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (time, act) => {
    const timer = setTimeout(act, time)
    return () => clearTimeout(timer)
  },
  inBackground: (time, act) => {
    const timer = setTimeout(act, time).unref()
    return () => clearTimeout(timer)
  },
  every: (interval, act) => {
    const timer = setInterval(act, interval).unref()
    return () => clearInterval(timer)
  },
  nextTurn: (act) => void setImmediate(act),
  eventsPolled: () => performance.nodeTiming.uvMetricsInfo.events,
  block: (time) => void Atomics.wait(blocked, 0, 0, time),
  random: () => Math.random(),
  fillRandom: (bytes) => randomFillSync(bytes),
  environment: process.env,
}
