/** Consent: an operator at a terminal is asked before stored values are dropped; without a terminal nobody is asked. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import type { Consent, Hazard } from '../schema/hazard.ts'
import { changeRefusal } from '../schema/hazard.ts'
import { withConsent } from './consent.ts'

const loss: Hazard = { about: 'notes.other is not declared any more.', mends: [], loss: 'notes.other' }
const misfit: Hazard = { about: '1 row of notes would not fit.', mends: [] }

/** The consents of all runs, the result, and the text on the terminal, for an answer; `null` ends the input. */
async function asked(answer: string | null, hazards: readonly Hazard[] = [loss], isTTY = true) {
  const ends = {
    input: Object.assign(new PassThrough(), { isTTY }),
    output: Object.assign(new PassThrough(), { isTTY }),
  }
  if (answer === null) ends.input.end()
  else ends.input.write(`${answer}\n`)
  const acts: Consent[] = []
  const act = async (consent: Consent) => {
    acts.push(consent)
    if (consent.allowLoss?.includes('notes.other') !== true) throw changeRefusal(hazards)
    return 'done'
  }
  const made = await withConsent({ allowLoss: ['notes.more'] }, act, ends).catch((error: Error) => error.message)
  return { made, acts, shown: String(ends.output.read(ends.output.readableLength) ?? '') }
}

describe('an operator at a terminal', () => {
  for (const answer of ['yes', ' YES '])
    test(`drops the values with "${answer}", besides those that a flag allowed`, async () => {
      const { made, acts, shown } = await asked(answer)
      assert.equal(made, 'done')
      assert.deepEqual(acts.at(-1)?.allowLoss, ['notes.more', 'notes.other'])
      assert.match(shown, /notes\.other is not declared any more\.\n.*Drop the values of notes\.other\? Type yes/s)
    })

  for (const answer of ['', 'y', 'no', 'yes please', null])
    test(`drops nothing with ${JSON.stringify(answer)}`, async () => {
      const { made, acts } = await asked(answer)
      assert.match(String(made), /The database was not changed\./)
      assert.equal(acts.length, 1)
    })

  test('no question is asked if an answer would not be enough', async () => {
    const { acts, shown } = await asked('yes', [loss, misfit])
    assert.deepEqual([acts.length, shown], [1, ''])
  })
})

test('without a terminal no question is asked, with any input', async () => {
  const { made, acts, shown } = await asked('yes', [loss], false)
  assert.deepEqual([acts.length, shown], [1, ''])
  assert.match(String(made), /notes\.other is not declared any more/)
})
