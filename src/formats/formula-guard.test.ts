/** R238: no text of CSV runs as a formula, and each can be read back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { guardFormula, unguardFormula } from './formula-guard.ts'

const character = fc.oneof(fc.constantFrom(..."'=+-@\t\r\n 0.1a"), fc.string({ unit: 'binary', maxLength: 1 }))
const text = fc.string({ unit: character, maxLength: 8 })

test('R238: every guarded text is read back as it was', () => {
  fc.assert(
    fc.property(text, (one) => assert.equal(unguardFormula(guardFormula(one)), one)),
    { numRuns: 1000 },
  )
})

test('R238: no guarded text begins as a formula, unless it is a number', () => {
  const isNumber = (one: string) => one.trim() === one && Number.isFinite(Number(one))
  fc.assert(
    fc.property(text, (one) => {
      const guarded = guardFormula(one)
      assert.ok(!/^[=+\-@\t\r]/.test(guarded) || isNumber(guarded), guarded)
    }),
    { numRuns: 1000 },
  )
  assert.deepEqual(['=1', "'=1", '-5', '+1.5', '-5x', "'a", ''].map(guardFormula), [
    ...["'=1", "''=1", '-5', '+1.5', "'-5x", "'a", ''],
  ])
})
