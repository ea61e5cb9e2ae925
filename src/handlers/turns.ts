/** Turns: requests whose handlers met each other at rows run one after the other in this process. R226. */
import { type ServiceWorld, within } from '../flow/world.ts'

/** The end of the last request that queues for a row, by row. */
const makeTurns = (): Map<string, Promise<unknown>> => new Map()

/** Whether requests queue for a row. */
export const isQueued = ({ state }: ServiceWorld, row: string): boolean => state.of(makeTurns, null).has(row)

/**
 * Waits until the earlier requests for any of the rows have ended; returns what ends the own turn. All rows are queued for at
 * once, so that no two requests wait for each other. Gives up after a time.
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
