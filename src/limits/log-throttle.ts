/**
 * Log throttle: logs refusals once a second with a count, as a line for each would add load, and a row that cannot be shown once a
 * minute. Part 8, overload.
 */

import { Memo } from '../flow/memo.ts'
import type { ServiceWorld } from '../flow/world.ts'

interface ThrottleContext {
  readonly log: { readonly error: (about: object, message: string) => void }
  readonly world: ServiceWorld
}

const makeRefusalCounts = () => new Map<string, number>()
const throttleTime = 1000

/** Logs a refusal, or counts it if one with the same type and message was logged less than a second ago. */
export function logThrottled({ log, world }: ThrottleContext, type: string, about: object, message: string): void {
  const own = world.state.of(makeRefusalCounts, null)
  const key = `${type} ${message}`
  const before = own.get(key)
  if (before !== undefined) return void own.set(key, before + 1)
  log.error({ ...about, refused: 1 }, message)
  own.set(key, 0)
  const stop = world.every(throttleTime, () => {
    const refused = own.get(key)
    own.set(key, 0)
    if (refused !== 0) return log.error({ type, refused }, message)
    own.delete(key)
    stop()
  })
}

interface FailedRow {
  readonly version?: unknown
  readonly resource?: unknown
  readonly id?: unknown
}

const rowPause = 60_000
const makeRowTimes = () => new Memo<string, number>(10_000)

/** Whether the failure of a row in a version may be logged: once a minute. If very many rows fail, some are forgotten. */
export function isRowLogDue(world: ServiceWorld, { version, resource, id }: FailedRow): boolean {
  const times = world.state.of(makeRowTimes, null)
  const name = `${version} ${resource} ${id}`
  const [last, now] = [times.get(name), world.now()]
  if (last !== undefined && now - last < rowPause && now >= last) return false
  times.delete(name)
  times.set(name, now)
  return true
}
