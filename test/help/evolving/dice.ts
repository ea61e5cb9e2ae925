/** Choices that follow from one number, so that a story is data that can be shrunk and run again. */

export interface Dice {
  /** A whole number from 0, below a limit. */
  readonly below: (limit: number) => number
  readonly chance: (percent: number) => boolean
  readonly pick: <T>(all: readonly T[]) => T
}

export function dice(seed: number): Dice {
  let state = (seed * 2_654_435_761) | 0
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  return { below, chance: (percent) => below(100) < percent, pick: (all) => all[below(all.length)] as never }
}
