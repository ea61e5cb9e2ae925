/** Turns: queues for rows. Requests whose handlers conflicted at a row run one after the other in this process. R226. */
import { type ServiceWorld, within } from '../flow/world.ts'

/** The end of the last request that queues for a row, by row. */
const makeTurns = (): Map<string, Promise<unknown>> => new Map()

/** Whether requests queue for a row. */
export const isQueued = ({ state }: ServiceWorld, row: string): boolean => state.of(makeTurns, null).has(row)

/**
 * Waits until the earlier requests for any of the rows have ended, or a time has passed; returns a function that ends the
 * own turn. A request queues for all rows at once, so that no two requests wait for each other.
 */
export async function takeTurn(world: ServiceWorld, rows: readonly string[], time: number): Promise<() => void> {
  const turns = world.state.of(makeTurns, null)
  const before = Promise.all(new Set(rows.flatMap((row) => turns.get(row) ?? [])))
  const own = Promise.withResolvers<void>()
  const ended = before.then(() => own.promise)
  for (const row of rows) turns.set(row, ended)
  await within<unknown>(world, time, before, () => {})
  return () => {
    own.resolve()
    for (const row of rows) if (turns.get(row) === ended) turns.delete(row)
  }
}
