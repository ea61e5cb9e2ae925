/** Chooses by numbers, so that random requests can be repeated and shrunk. */

/** Uses one number for each choice; when no number is left, chooses the first option. */
export function chooser(numbers: readonly number[]) {
  let at = 0
  const next = (): number => numbers[at++] ?? 0
  return {
    one: <T>(from: readonly T[]): T => from[next() % from.length] as T,
    /** True with a probability of 1 in `inSoMany`. */
    once: (inSoMany: number): boolean => next() % inSoMany === inSoMany - 1,
  }
}
export type Chooser = ReturnType<typeof chooser>
