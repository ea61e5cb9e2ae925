/** Waits for a condition instead of a fixed time. */
import { setTimeout as pause } from 'node:timers/promises'

/** Checks the condition every 5 ms until it holds; fails after a minute. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await holds()); await pause(5))
    if (performance.now() > end) throw new Error(`This does not come true: ${holds}`)
}
