/** What was answered before: how much of it is remembered, and what goes first. Part 7. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../flow/store.ts'
import { recallAnswer, rememberAnswer } from './cached-answer.ts'

type Visit = Parameters<typeof recallAnswer>[0]

const ann = { id: 'ann', account: null, scopes: new Set() }
const to = (target: string, caller = ann) =>
  ({ call: { target }, identified: { caller }, versioned: { carried: { label: 'v1' } } }) as unknown as Visit

/** Answers a target with so many characters, as often as that. */
function answered(store: Store, visit: Visit, length = 10, times = 2): void {
  const reply = { status: 200, headers: {}, body: 'x'.repeat(length) }
  for (let i = 0; i < times; i++) rememberAnswer(visit, store, { query: null, mark: '1', reply })
}

test('what is asked for once is not remembered, what is asked for again is, by its caller alone', () => {
  const store = {} as Store
  answered(store, to('/books'), 10, 1)
  assert.equal(recallAnswer(to('/books'), store), null)
  answered(store, to('/books'), 10, 1)
  assert.equal(recallAnswer(to('/books'), store)?.reply.body, 'x'.repeat(10))
  assert.equal(recallAnswer(to('/books', { ...ann, id: 'bob' }), store), null)
  assert.equal(recallAnswer(to('/books'), {} as Store), null)
})

test('where it is too much, those go that were asked for the longest ago', () => {
  const store = {} as Store
  const all = ['/a', '/b', '/c', '/d'].map((target) => to(target))
  for (const one of all) answered(store, one, 1_000_000)
  assert.ok(recallAnswer(all[0] as Visit, store))
  answered(store, to('/e'), 1_000_000)
  assert.deepEqual(
    [...all, to('/e')].map((one) => recallAnswer(one, store) !== null),
    [true, false, true, true, true],
  )
  answered(store, to('/large'), 5_000_000)
  assert.equal(recallAnswer(to('/large'), store), null)
  answered(store, to('/most'), 4_000_000)
  assert.deepEqual(
    [...all, to('/e'), to('/most')].map((one) => recallAnswer(one, store) !== null),
    [false, false, false, false, false, true],
  )
})

test('who is answered anew takes the place of what was answered before', () => {
  const store = {} as Store
  for (let i = 0; i < 20; i++) answered(store, to('/books'), 1_000_000)
  answered(store, to('/other'), 1_000_000)
  assert.ok(recallAnswer(to('/books'), store))
  assert.ok(recallAnswer(to('/other'), store))
})
