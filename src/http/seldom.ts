/** Seldom: keeps what fails again and again from filling the log. Part 12, operation. */
import type { Log } from './house.ts'

const pause = 60_000
const mostNames = 10_000

const known = new WeakMap<Log, Map<string, number>>()

/** Whether a line of this name is due: once a minute for each log. Of very many names the oldest are forgotten. */
export function isDue(log: Log, name: string, now: number): boolean {
  const times = known.get(log) ?? new Map<string, number>()
  known.set(log, times)
  const last = times.get(name)
  if (last !== undefined && now - last < pause && now >= last) return false
  times.delete(name)
  times.set(name, now)
  if (times.size > mostNames) times.delete(times.keys().next().value as string)
  return true
}
