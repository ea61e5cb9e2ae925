/** Cached answers: an answer is cached at its second request, by key and state. Part 7. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAnswerCache, rememberAnswer } from './cached-answer.ts'

const reply = { status: 200, headers: {}, body: 'some books' }

test('an answer is cached at the second request in one state, and is valid for its state only', () => {
  const cache = makeAnswerCache()
  const lookup = { key: 'ann /books', mark: '1', collection: null }
  rememberAnswer(cache, lookup, { query: null, reply }, {})
  rememberAnswer(cache, { ...lookup, mark: '2' }, { query: null, reply }, {})
  assert.equal(cache.answers.latest(lookup.key), undefined)
  rememberAnswer(cache, { ...lookup, mark: '2' }, { query: null, reply }, {})
  assert.deepEqual(cache.answers.get(lookup.key, '2')?.reply, reply)
  assert.equal(cache.answers.get(lookup.key, '1'), undefined)
  assert.equal(cache.answers.get('bob /books', '2'), undefined)
})

test('in a new state, an answer that was requested again is cached at once; if it then is not, it is dropped', () => {
  const cache = makeAnswerCache()
  const remember = (mark: string) =>
    rememberAnswer(cache, { key: 'ann /books', mark, collection: null }, { query: null, reply }, {})
  const isCached = (mark: string) => cache.answers.get('ann /books', mark) !== undefined
  for (const mark of ['1', '1', '2']) remember(mark)
  assert.ok(isCached('2'))
  Object.assign(cache.answers.get('ann /books', '2') as object, { repeated: true }) // as a lookup does
  remember('3')
  assert.ok(isCached('3'))
  remember('4')
  assert.equal(cache.answers.latest('ann /books'), undefined)
})

test('a request that is repeated only after more answers than can be cached is not cached', () => {
  const cache = makeAnswerCache()
  const large = { ...reply, body: 'x'.repeat(100_000) }
  for (let round = 0; round < 3; round++)
    for (let page = 0; page < 100; page++)
      rememberAnswer(cache, { key: `/books?${page}`, mark: '1', collection: null }, { query: null, reply: large }, {})
  for (let page = 0; page < 100; page++) assert.equal(cache.answers.latest(`/books?${page}`), undefined)
})

test('refusals, empty answers and lists without a state are not cached', () => {
  const cache = makeAnswerCache()
  for (const [mark, one] of [
    ['1', { ...reply, status: 404 }],
    ['1', { ...reply, body: null }],
    [null, reply],
  ] as const)
    for (let i = 0; i < 2; i++)
      rememberAnswer(cache, { key: 'k', mark, collection: null }, { query: null, reply: one }, {})
  assert.equal(cache.answers.latest('k'), undefined)
})

test('a first request without a known state counts as one in the state of the next', () => {
  const cache = makeAnswerCache()
  const remember = (mark: string | null) =>
    rememberAnswer(cache, { key: 'k', mark, collection: null }, { query: null, reply }, {})
  remember(null)
  assert.equal(cache.answers.latest('k'), undefined)
  remember('1')
  assert.deepEqual(cache.answers.get('k', '1')?.reply, reply)
})
