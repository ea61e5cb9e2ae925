/** The number of runs of random tests: all with `BYLAW_TEST_ALL`, which `.ci/run` sets, otherwise a quarter. */

export const isFull = process.env.BYLAW_TEST_ALL !== undefined

export const runsOf = (full: number): number => (isFull ? full : Math.ceil(full / 4))
