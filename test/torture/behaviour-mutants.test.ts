/** Proves that each behaviour mutant still changes the sources, so that a renamed line is noticed before the long runs. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { behaviourMutants } from './behaviour-mutants.ts'

const source = (file: string) => readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')

for (const [name, { changes }] of Object.entries(behaviourMutants))
  test(`the defect ${name} applies to the sources`, () => {
    for (const { file, from, to } of changes) {
      assert.ok(source(file).includes(from), `src/${file} does not contain: ${from}. Write the defect anew.`)
      assert.notEqual(from, to)
    }
  })
