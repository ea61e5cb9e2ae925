/** Strain: refuses new requests while the event loop is so late that those inside wait too long. Part 8, overload. */
import { Problem } from '../errors/problem.ts'

/** How often the loop is looked at, in milliseconds. */
export const rhythm = 20
/** One pause is no overload: so many looks in a row have to be late. */
const manyLate = 5

interface Loop {
  late: number
  strained: boolean
}

const loops = new WeakMap<object, Loop>()

/** Takes down how late a look at the loop was; refusing ends when the loop is well below the limit again. R161. */
export function look(house: object, late: number, most: number): void {
  const loop = loops.get(house) ?? { late: 0, strained: false }
  loops.set(house, loop)
  loop.late = late > most ? loop.late + 1 : 0
  if (loop.late >= manyLate) loop.strained = true
  else if (late < most / 2) loop.strained = false
}

/** Refuses while the loop is strained; not all come again at the same moment. R161. */
export function admitStrain(house: object, id: string): void {
  if (!loops.get(house)?.strained) return
  const wait = 1 + ((id.codePointAt(id.length - 1) ?? 0) % 5)
  throw new Problem('overloaded', 'The service has more to do than it can. Try again later.', {
    headers: { 'Retry-After': String(wait) },
  })
}
