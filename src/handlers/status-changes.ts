/** Status changes: wakes requests that wait for an operation as soon as its run in the same process changes its status. R28. */
import { type ServiceWorld, within } from '../flow/world.ts'

type StatusWorld = Pick<ServiceWorld, 'state'>

/** The functions that wake the requests that wait for an operation, by its id. */
class Waiting {
  readonly wakes = new Map<string, Set<() => void>>()
  /** Set when the process stops. */
  isOver = false
}
const makeWaiting = (): Waiting => new Waiting()

/**
 * Waits until `isEnded` is true or a time is over. It is called at once, after each change, and at an interval, as other
 * processes announce no change.
 */
export async function waitForEnd(
  world: ServiceWorld,
  id: string,
  { time, interval }: { readonly time: number; readonly interval: number },
  isEnded: () => Promise<boolean>,
): Promise<void> {
  const waiting = world.state.of(makeWaiting, null)
  let change = Promise.withResolvers<void>()
  const wake = (): void => change.resolve()
  const own = waiting.wakes.get(id) ?? new Set()
  waiting.wakes.set(id, own.add(wake))
  try {
    for (const until = world.monotonic() + time; ; ) {
      change = Promise.withResolvers() // before the check, so that a change during the check is not missed
      if (await isEnded()) return
      const rest = until - world.monotonic()
      if (rest <= 0 || waiting.isOver) return
      await within(world, Math.min(interval, rest), change.promise, () => {})
    }
  } finally {
    own.delete(wake)
    if (own.size === 0) waiting.wakes.delete(id)
  }
}

export function announceChange({ state }: StatusWorld, id: string): void {
  for (const wake of state.of(makeWaiting, null).wakes.get(id) ?? []) wake()
}

/** Ends all waiting, as the process stops. */
export function endWaiting({ state }: StatusWorld): void {
  const waiting = state.of(makeWaiting, null)
  waiting.isOver = true
  for (const id of waiting.wakes.keys()) announceChange({ state }, id)
}
