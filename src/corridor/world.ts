/** The real world: the clock of the store or of the machine, and random bytes. Part 1. */
import { randomFillSync } from 'node:crypto'
import type { World } from '../flow/call.ts'
import type { Clock } from '../flow/store.ts'
import { idSource, uuid } from '../formats/id.ts'

/** The time is that of the store, where it has one: nothing it keeps may expire by a clock that somebody sets. */
export function realWorld(secrets: readonly string[], clock: Clock = { now: () => Date.now() }): World {
  const { now, due, issued } = clock
  const bytes = new Uint8Array(16 * 256)
  let used = bytes.length
  const sixteen = (): Uint8Array => {
    if (used === bytes.length) {
      randomFillSync(bytes)
      used = 0
    }
    used += 16
    return bytes.subarray(used - 16, used)
  }
  return {
    now,
    ...(due && { due }),
    ...(issued && { issued }),
    newId: idSource(now, (pool) => randomFillSync(pool)),
    newRequestId: () => uuid(sixteen(), now()),
    secrets,
  }
}

/** Since when a request is served, on the monotonic clock. */
export type StartTime = number

export const startTime = (): StartTime => performance.now()

/** The time since, in milliseconds with two digits. */
export const elapsedSince = (started: StartTime): number => Math.round((performance.now() - started) * 100) / 100
