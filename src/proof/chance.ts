/** Chance: choices that values are made from, kept in a row so that what fails can be made smaller. Part 9, versioning. */

export interface Chance {
  /** A whole number from 0 up to, but without, the given one; 0 is the simplest. */
  readonly below: (count: number) => number
  /** The same, but more often a small one, or the greatest. */
  readonly near: (count: number) => number
  /** Whether something is made that is seldom met. */
  readonly rarely: () => boolean
}

/** Choices that always are the same for one seed; what was chosen goes into `row`. */
export function seeded(seed: number, row: number[]): Chance {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
  const upTo = (count: number): number => {
    const part = (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53
    return count <= 1 ? 0 : Math.floor(part * count)
  }
  const kept = (chosen: number): number => {
    row.push(chosen)
    return chosen
  }
  const near = (count: number): number => {
    const way = upTo(6)
    return way === 5 ? Math.max(0, count - 1) : upTo(way < 3 ? Math.min(count, 100) : count)
  }
  return { below: (count) => kept(upTo(count)), near: (count) => kept(near(count)), rarely: () => kept(upTo(5)) > 2 }
}

/** Choices of what is met every day. */
export const calm = (chance: Chance): Chance => ({ ...chance, rarely: () => false })

/** The choices of a row again; behind its end the simplest ones. */
export function again(row: readonly number[]): Chance {
  let at = 0
  const next = (count: number) => Math.max(0, Math.min(row[at++] ?? 0, count - 1))
  return { below: next, near: next, rarely: () => next(5) > 2 }
}

export const one = <T>(chance: Chance, values: readonly T[]): T => values[chance.below(values.length)] as T

const mostTries = 1000

/** A smaller row that still fails: shorter ones first, then ones with simpler choices. */
export async function smallest(
  row: readonly number[],
  fails: (row: readonly number[]) => Promise<boolean>,
): Promise<readonly number[]> {
  let best = row
  let tries = 0
  for (let before: readonly number[] = []; before !== best; ) {
    before = best
    for (const next of smaller(best)) {
      if (++tries > mostTries) return best
      if (!(await fails(next))) continue
      best = next
      break
    }
  }
  return best
}

function* smaller(row: readonly number[]): Generator<readonly number[]> {
  for (let size = row.length; size >= 1; size = Math.floor(size / 2))
    for (let from = 0; from + size <= row.length; from += size) yield [...row.slice(0, from), ...row.slice(from + size)]
  for (const [i, chosen] of row.entries()) for (const less of below(chosen)) yield row.with(i, less)
}

/** Nothing first, then ever closer to what it was. */
function* below(chosen: number): Generator<number> {
  for (let step = chosen; step >= 1; step = Math.floor(step / 2)) yield chosen - step
}
