import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { makeLookups } from './lookups.ts'

/** Lookups on a store that answers each statement after `takes` milliseconds, at once if that is null. */
function lookupsWithDelay(takes: number | null = 5) {
  const world = testWorld()
  const { monotonic: now, pass } = world
  const statements: { at: number; questions: readonly string[] }[] = []
  const ask = (questions: readonly string[]) => {
    statements.push({ at: now(), questions })
    const answers = questions.map((one) => one.toUpperCase())
    if (takes === null) return answers
    return new Promise<string[]>((resolve) => void world.after(takes, () => resolve(answers)))
  }
  return { find: makeLookups(ask, world), pass, statements, now }
}

test('a look-up of an idle service is sent at once, and answered in the same turn if the store can', () => {
  const { find, statements } = lookupsWithDelay(null)
  assert.equal(find('a', '192.0.2.1'), 'A')
  assert.equal(statements.length, 1)
})

test('five thousand look-ups a second of one address leave a new key of it and of another answered within 500 ms', async () => {
  const { find, pass, statements, now } = lookupsWithDelay(20)
  const answered: number[] = []
  const wanted: Promise<unknown>[] = []
  for (let second = 0; second < 3; second++)
    for (let ms = 0; ms < 1000; ms++) {
      for (let i = 0; i < 5; i++) void find(`made-up-${second}-${ms}-${i}`, 'attacker')
      if (ms % 100 === 50)
        for (const from of ['attacker', 'other']) {
          const begun = now()
          wanted.push(Promise.resolve(find(`good-${ms}`, from)).then(() => answered.push(now() - begun)))
        }
      await pass(1)
    }
  await pass(2000)
  await Promise.all(wanted)
  assert.equal(answered.length, 60)
  assert.ok(Math.max(...answered) <= 500, `the slowest took ${Math.max(...answered)} ms`)
  for (const { at } of statements) {
    const within = statements.filter((one) => one.at >= at && one.at < at + 1000)
    // Keys that are renewed each second and timers that fire early need a part of the 20 statements.
    assert.ok(within.length <= 17, `${within.length} statements within a second`)
  }
  assert.ok(statements.every(({ questions }) => questions.length <= 500))
  assert.equal(statements.flatMap(({ questions }) => questions).length, 15_060)
})

test('addresses take turns: a long queue of one does not delay the first look-up of another', async () => {
  const { find, pass, statements } = lookupsWithDelay(5)
  void find('first', 'attacker')
  for (let i = 0; i < 2000; i++) void find(`made-up-${i}`, 'attacker')
  const other = find('good', 'other')
  await pass(20)
  assert.ok(statements[1]?.questions.includes('good'))
  assert.equal(await other, 'GOOD')
})

test('one statement runs at a time, and its failure reaches all its callers', async () => {
  let fail: (error: Error) => void = () => {}
  let asked = 0
  const world = testWorld()
  const ask = () => {
    asked++
    return new Promise<string[]>((_, reject) => {
      fail = reject
    })
  }
  const find = makeLookups(ask, world)
  const first = assert.rejects(async () => find('a', 'x'), /away/)
  const others = ['b', 'c'].map((one) => assert.rejects(async () => find(one, 'x'), /away/))
  await new Promise(setImmediate)
  assert.equal(asked, 1)
  fail(new Error('away'))
  await first
  await world.pass(1000)
  assert.equal(asked, 2)
  fail(new Error('away'))
  await Promise.all(others)
})
