/** Pairs: every two features that can be combined are tried together, by random requests that a model and the description judge. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { issuer } from '../help/issuer.ts'
import { runsOf } from '../help/runs.ts'
import { coveringRows, pairsIn, pairsOf, type Row } from './covering.ts'
import { factors, type Setup } from './factors.ts'
import { crashableDatabase } from './nodes.ts'
import { Trial } from './trial.ts'

const seed = Number(process.env.BYLAW_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const runs = runsOf(2)

/** Numbers between 0 and 1 that follow from a seed. */
function randomFrom(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const steps = fc.array(fc.array(fc.nat(210), { minLength: 30, maxLength: 30 }), { minLength: 8, maxLength: 18 })
const authority = issuer()
const rows: readonly Row[] = coveringRows(factors, randomFrom(seed))

describe(`pairs of features (seed ${seed})`, () => {
  it('every two levels of different factors meet in some row', () => {
    const met = new Set(rows.flatMap(pairsIn))
    assert.deepEqual(
      pairsOf(factors).filter((one) => !met.has(one)),
      [],
    )
  })
  it('the page of reliability shows the factors and their levels', () => {
    const page = readFileSync(new URL('../../docs/reliability.md', import.meta.url), 'utf8')
    for (const [name, levels] of Object.entries(factors))
      assert.ok(page.includes(`| ${name} | ${levels.join(', ')} |`), name)
  })
  for (const row of rows)
    it(
      Object.entries(row)
        .map(([name, level]) => `${name}: ${level}`)
        .join(', '),
      async () => {
        const setup = row as Setup
        const property = fc.asyncProperty(steps, fc.nat(), async (given, when) => {
          const trial = new Trial(setup, await crashableDatabase(setup), await authority)
          try {
            await trial.begin()
            for (const [i, numbers] of given.entries()) {
              const half = given.length >> 1
              if (setup.crash === 'yes' && i === when % given.length) await trial.crash()
              if (i === half) await trial.finish()
              if (setup['dropped field'] === 'yes' && i === half + 1) await trial.without(() => trial.act(numbers))
              else await trial.act(numbers)
            }
            await trial.finish()
            await trial.judge()
          } finally {
            await trial.close()
          }
        })
        await fc.assert(property, { seed, numRuns: runs, endOnFailure: false, interruptAfterTimeLimit: 30_000 })
      },
    )
})
