/** Real world: the clocks, timers and random numbers of the machine; besides this file, only commands use them. Part 1. */
import { randomFillSync } from 'node:crypto'
import type { Cancel, World } from './world.ts'

function cancelOf(timer: NodeJS.Timeout): Cancel {
  return () => clearTimeout(timer)
}
const blocked = new Int32Array(new SharedArrayBuffer(4))

export const realWorld: World = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (time, act) => cancelOf(setTimeout(act, time)),
  inBackground: (time, act) => cancelOf(setTimeout(act, time).unref()),
  every: (interval, act) => cancelOf(setInterval(act, interval).unref()),
  nextTurn: (act) => void setImmediate(act),
  eventsPolled: () => performance.nodeTiming.uvMetricsInfo.events,
  block: (time) => void Atomics.wait(blocked, 0, 0, time),
  random: () => Math.random(),
  fillRandom: (bytes) => randomFillSync(bytes),
  environment: process.env,
}
