/** Each mutant of the torture names text that its file has once, so that a long run does not fail halfway. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Mutant, mutants } from './mutants.ts'

const all = Object.values(mutants).flatMap((some) => Object.entries(some as Readonly<Record<string, Mutant>>))

test('each mutant of the torture applies to the sources', () => {
  const lost = all.flatMap(([name, { file, changes }]) => {
    const path = new URL(`../../src/${file}`, import.meta.url)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    return changes.filter(({ from }) => text.split(from).length !== 2).map(({ from }) => `${name}: ${file}: ${from}`)
  })
  assert.deepEqual([...new Set(lost)], [])
})
