/** Chance: seeded choices from which values are made, recorded so that a failing case can be shrunk. Part 9, versioning. */

export interface Chance {
  /** A whole number from 0 to below the given one; 0 is the simplest choice. */
  readonly below: (count: number) => number
  /** As `below`, but mostly a small number or the greatest. */
  readonly mostlySmall: (count: number) => number
  /** As `below`, for lengths: mostly short, sometimes zero or the greatest. */
  readonly length: (count: number) => number
}

/** Makes the same choices for the same seed, and appends each to `row`. */
export function seededChance(seed: number, row: number[]): Chance {
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
  const length = (count: number): number => {
    const way = upTo(5)
    return way === 3 ? 0 : way === 4 ? Math.max(0, count - 1) : upTo(Math.min(count, mostShort))
  }
  return {
    below: (count) => kept(upTo(count)),
    mostlySmall: (count) => kept(near(count)),
    length: (count) => kept(length(count)),
  }
}

const mostShort = 13

/** Choices for ordinary values, without extreme lengths. */
export const everydayChance = (chance: Chance): Chance => ({
  ...chance,
  length: (count) => chance.below(Math.min(count, mostShort)),
})

/** Repeats the choices of a row, and after its end makes the simplest choices. */
export function replayedChance(row: readonly number[]): Chance {
  let at = 0
  const next = (count: number) => Math.max(0, Math.min(row[at++] ?? 0, count - 1))
  return { below: next, mostlySmall: next, length: next }
}

export const pickOne = <T>(chance: Chance, values: readonly T[]): T => values[chance.below(values.length)] as T

const mostTries = 1000

type Choices = readonly number[]

/** Finds a simpler row that still fails: sets choices to zero, lowers others, and removes some. */
export async function shrinkChoices(row: Choices, fails: (row: Choices) => Promise<boolean>): Promise<Choices> {
  let best = row
  let tries = 0
  const attempt = async (next: Choices): Promise<boolean> => {
    if (tries++ >= mostTries || !(await fails(next))) return false
    best = next
    return true
  }
  for (let before: Choices = []; before !== best && tries < mostTries; ) {
    before = best
    for (const [from, size] of choiceRanges(best))
      if (best.slice(from, from + size).some((one) => one > 0))
        await attempt(best.map((one, i) => (i >= from && i < from + size ? 0 : one)))
    for (const i of best.keys()) await lowerChoice(best, i, attempt)
    for (const [from, size] of choiceRanges(best))
      if (from < best.length) await attempt([...best.slice(0, from), ...best.slice(from + size)])
  }
  return best
}

/** The ranges of a row, largest first, and those at the end before those at the beginning. */
function choiceRanges({ length }: Choices): (readonly [from: number, size: number])[] {
  const ranges: [number, number][] = []
  for (let size = length; size >= 1; size = Math.floor(size / 2))
    for (let from = Math.floor((length - 1) / size) * size; from >= 0; from -= size) ranges.push([from, size])
  return ranges
}

/** Finds the lowest choice that fails, by binary search; first as a length, dropping the choices of its elements too. */
async function lowerChoice(row: Choices, i: number, attempt: (next: Choices) => Promise<boolean>): Promise<void> {
  const chosen = row[i] as number
  const shorter = (least: number) => [...row.slice(0, i), least, ...row.slice(i + 1 + chosen - least)]
  for (const next of [shorter, (least: number) => row.with(i, least)]) {
    if (chosen === 0 || (await attempt(next(0)))) return
    let [low, high] = [0, chosen]
    while (high - low > 1) {
      const middle = low + Math.floor((high - low) / 2)
      if (await attempt(next(middle))) high = middle
      else low = middle
    }
    if (high < chosen) return
  }
}
