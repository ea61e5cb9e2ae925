/** Proves by random sequences of declarations and a model that rows keep their values in every version. The store. */
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Run, type Story } from '../help/evolving/story.ts'
import { places } from '../help/places.ts'
import { isFull } from '../help/runs.ts'

const seeds = (most: number) =>
  fc.array(fc.noShrink(fc.integer({ min: 0, max: 2 ** 30 })), { maxLength: most, size: 'max' })

const stories: fc.Arbitrary<Story> = fc.record({
  seed: fc.noShrink(fc.integer({ min: 0, max: 2 ** 30 })),
  first: seeds(12),
  steps: fc.array(
    fc.record({
      changes: seeds(5),
      versioned: fc.boolean(),
      withdrawn: fc.boolean(),
      rolling: fc.boolean(),
      dies: fc.constantFrom(0, 0, 0, 1, 2, 3),
      meanwhile: seeds(10),
      after: seeds(8),
    }),
    { minLength: 1, maxLength: 5, size: 'max' },
  ),
})

for (const [store, make] of places)
  describe(`declarations that change (${store})`, () => {
    test('keep the values of all rows in all versions', async (t) => {
      const property = fc.asyncProperty(stories, async (story) => {
        const run = new Run(await make(t))
        try {
          await run.story(story)
        } catch (error) {
          throw new Error(`${(error as Error).message}\n${run.log.join('\n')}`, { cause: error })
        }
      })
      // Without shrinking a failure ends soon; fast-check prints the seed and the path that repeat it.
      await fc.assert(property, {
        numRuns: isFull ? 24 : 3,
        seed: Number(process.env.BYLAW_TEST_SEED ?? 2),
        endOnFailure: true,
      })
    })
  })
