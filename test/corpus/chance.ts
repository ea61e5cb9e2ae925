/** Random choices of the recorder, which repeat with the same seed. */
import { random } from '../fuzz/mutate.ts'

export interface Chance {
  readonly below: (most: number) => number
  readonly one: <T>(from: readonly T[]) => T
  /** True with a probability of 1 in `inSoMany`. */
  readonly once: (inSoMany: number) => boolean
}

/** Makes random choices with a name as seed: equal names give equal choices. */
export function chanceOf(name: string): Chance {
  let seed = 2_166_136_261
  for (const letter of Buffer.from(name)) seed = Math.imul(seed ^ letter, 16_777_619)
  const below = random(seed)
  for (let i = 0; i < 8; i++) below(2)
  return {
    below,
    one: <T>(from: readonly T[]) => from[below(from.length)] as T,
    once: (inSoMany) => below(inSoMany) === 0,
  }
}
