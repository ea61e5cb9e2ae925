/** Waits for a condition, where a time would be a guess. */
import { setTimeout as pause } from 'node:timers/promises'

/** Asks every few milliseconds until it holds; fails where it does not within half a minute. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 30_000; !(await holds()); await pause(5))
    if (performance.now() > end) throw new Error(`This does not come true: ${holds}`)
}
