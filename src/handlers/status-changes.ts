/** Status changes: wakes requests that wait for an operation as soon as its run in the same process changes its status. R28. */
import { type ServiceWorld, within } from '../flow/world.ts'

type StatusWorld = Pick<ServiceWorld, 'state'>

/** What wakes those that wait for an operation, by its id. */
const makeWaiting = (): Map<string, Set<() => void>> => new Map()

/** Waits for the next change, but not longer than a time. */
export async function nextChange(world: ServiceWorld, id: string, time: number): Promise<void> {
  const waiting = world.state.of(makeWaiting, null)
  const { promise, resolve } = Promise.withResolvers<void>()
  const own = waiting.get(id) ?? new Set()
  waiting.set(id, own.add(resolve))
  await within(world, time, promise, () => {})
  own.delete(resolve)
  if (own.size === 0) waiting.delete(id)
}

export function announceChange({ state }: StatusWorld, id: string): void {
  for (const wake of state.of(makeWaiting, null).get(id) ?? []) wake()
}
