/** Strain: refuses new requests while the event loop is so late that those inside wait too long. Part 8, overload. */
import { Problem } from '../errors/problem.ts'

/** How often the loop is looked at, in milliseconds. */
export const loopInterval = 20
/** One pause is no overload: so many looks in a row have to be late. */
const lateInRow = 5

interface LoopState {
  late: number
  overloaded: boolean
}

const loopStates = new WeakMap<object, LoopState>()

/** Takes down how late a look at the loop was; refusing ends when the loop is well below the limit again. R161. */
export function recordLoopDelay(house: object, late: number, most: number): void {
  const loop = loopStates.get(house) ?? { late: 0, overloaded: false }
  loopStates.set(house, loop)
  loop.late = late > most ? loop.late + 1 : 0
  if (loop.late >= lateInRow) loop.overloaded = true
  else if (late < most / 2) loop.overloaded = false
}

/** Refuses while the loop is strained; not all come again at the same moment. R161. */
export function admitUnlessOverloaded(house: object, id: string): void {
  if (!loopStates.get(house)?.overloaded) return
  const wait = 1 + ((id.codePointAt(id.length - 1) ?? 0) % 5)
  throw new Problem('overloaded', 'The service has more to do than it can. Try again later.', {
    headers: { 'Retry-After': String(wait) },
  })
}
