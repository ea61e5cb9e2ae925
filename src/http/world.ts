/** The real world: the clock of the machine and its random bytes. Part 1. */
import { randomFillSync } from 'node:crypto'
import type { World } from '../flow/call.ts'
import { idSource, uuid } from '../resources/id.ts'

export function realWorld(secrets: readonly string[]): World {
  const now = () => Date.now()
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
    newId: idSource(now, (pool) => randomFillSync(pool)),
    newRequestId: () => uuid(sixteen(), now()),
    secrets,
  }
}

/** Since when a request is served, on the monotonic clock. */
export type Started = number

export const began = (): Started => performance.now()

/** The time since, in milliseconds with two digits. */
export const took = (started: Started): number => Math.round((performance.now() - started) * 100) / 100
