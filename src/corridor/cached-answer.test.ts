/** Cached answers: an answer is cached at its second request, by key and state. Part 7. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAnswerCache, rememberAnswer } from './cached-answer.ts'

const reply = { status: 200, headers: {}, body: 'some books' }

test('an answer is cached at the second request, and is valid for its state only', () => {
  const cache = makeAnswerCache()
  const lookup = { key: 'ann /books', mark: '1' }
  rememberAnswer(cache, lookup, null, reply)
  assert.equal(cache.answers.latest(lookup.key), undefined)
  rememberAnswer(cache, lookup, null, reply)
  assert.deepEqual(cache.answers.get(lookup.key, '1')?.reply, reply)
  assert.equal(cache.answers.get(lookup.key, '2'), undefined)
  assert.equal(cache.answers.get('bob /books', '1'), undefined)
  rememberAnswer(cache, { ...lookup, mark: '2' }, null, { ...reply, body: 'more books' })
  assert.equal(cache.answers.get(lookup.key, '2')?.reply.body, 'more books')
})

test('refusals, empty answers and lists without a state are not cached', () => {
  const cache = makeAnswerCache()
  for (const [mark, one] of [
    ['1', { ...reply, status: 404 }],
    ['1', { ...reply, body: null }],
    [null, reply],
  ] as const)
    for (let i = 0; i < 2; i++) rememberAnswer(cache, { key: 'k', mark }, null, one)
  assert.equal(cache.answers.latest('k'), undefined)
})
