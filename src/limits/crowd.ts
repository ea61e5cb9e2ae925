/** Counts what is inside a house, where only so many requests are let in at a time. Part 8, concurrency. */
import { Problem } from '../errors/problem.ts'

const inside = new WeakMap<object, number>()
const nothing = (): void => {}

/** Lets a request in, or refuses it; what comes back is called when it is done. R185. */
export function enter(house: object, most: number | null): () => void {
  if (most === null) return nothing
  const before = inside.get(house) ?? 0
  if (before >= most)
    throw new Problem('overloaded', `The service handles ${most} requests at a time. Try again later.`)
  inside.set(house, before + 1)
  return () => void inside.set(house, (inside.get(house) as number) - 1)
}
