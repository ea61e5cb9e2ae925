/** Turns: requests whose handlers met each other at a row run one after the other in this process. R226. */
import { type ServiceWorld, within } from '../flow/world.ts'

const makeTurns = (): Map<string, Promise<void>> => new Map()

/** Waits until the requests before have ended; returns what ends the own turn. Gives up after a time. */
export async function takeTurn(world: ServiceWorld, row: string, time: number): Promise<() => void> {
  const turns = world.state.of(makeTurns, null)
  const before = turns.get(row) ?? Promise.resolve()
  const own = Promise.withResolvers<void>()
  const ended = before.then(() => own.promise)
  turns.set(row, ended)
  await within(world, time, before, () => {})
  return () => {
    own.resolve()
    if (turns.get(row) === ended) turns.delete(row)
  }
}
