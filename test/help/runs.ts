/** Runs: how often random tests run. `.ci/run` sets `BYLAW_TEST_ALL` and runs them fully, a plain `npm test` a quarter as often. */

export const isFull = process.env.BYLAW_TEST_ALL !== undefined

export const runsOf = (full: number): number => (isFull ? full : Math.ceil(full / 4))
