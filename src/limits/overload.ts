/** Overload: refuses new requests while the event loop is so late that running requests wait too long. Part 8, overload. */
import { Problem } from '../errors/problem.ts'

/** How often the delay of the event loop is measured, in milliseconds. */
export const loopInterval = 20
/** How many measurements in a row must be late, as a single pause is not an overload. */
const lateInRow = 5

interface LoopState {
  late: number
  overloaded: boolean
}

export const makeLoopState = (): LoopState => ({ late: 0, overloaded: false })

/** Records one delay of the event loop; refusals end only when the delay is below half the limit. R161. */
export function recordLoopDelay(loop: LoopState, late: number, most: number): void {
  loop.late = late > most ? loop.late + 1 : 0
  if (loop.late >= lateInRow) loop.overloaded = true
  else if (late < most / 2) loop.overloaded = false
}

/** Throws while the event loop is overloaded; `Retry-After` varies, so that clients do not all retry at once. R161. */
export function admitUnlessOverloaded(loop: LoopState, id: string): void {
  if (!loop.overloaded) return
  const wait = 1 + ((id.codePointAt(id.length - 1) ?? 0) % 5)
  throw new Problem('overloaded', 'The service is overloaded. Try again later.', {
    headers: { 'Retry-After': String(wait) },
  })
}
