/** Exchanges: an answer may have more than was recorded, but no difference; identifiers are followed. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exchangesText, parseExchanges, type RecordedExchange, recordExchange, replayExchanges } from './exchanges.ts'
import type { TrialAnswer } from './version-service.ts'

const made: RecordedExchange = recordExchange(
  { method: 'POST', path: '/orders', body: { total: '1.00' } },
  {
    status: 201,
    headers: {
      'content-type': 'application/json',
      etag: '"1-1-abc"',
      date: 'today',
      location: '/orders/ord_1',
      link: '<a>; rel="self"',
    },
    body: { id: 'ord_1', total: '1.00', tags: ['a'], message: 'Made.' },
  },
)
const read: RecordedExchange = recordExchange(
  { method: 'GET', path: '/orders/ord_1' },
  { status: 200, headers: { allow: 'GET, PUT' }, body: { id: 'ord_1', of: { id: 'cus_1' } } },
)

const again = (...answers: TrialAnswer[]) => {
  const sent: string[] = []
  const ask = async (_: string, { method, path }: { method: string; path: string }) => {
    sent.push(`${method} ${path}`)
    return answers[sent.length - 1] as TrialAnswer
  }
  return replayExchanges([made, read], 'v1', ask).then((found) => ({ says: found?.says ?? null, sent }))
}
const with1 = (part: Partial<TrialAnswer>) => again({ ...made.answer, ...part }, read.answer)

describe('answers', () => {
  test('that are the same, or more', async () => {
    assert.equal((await again(made.answer, read.answer)).says, null)
    const headers = { ...made.answer.headers, etag: '"9"', link: '<b>; rel="next", <c>; rel="self"', extra: 'x' }
    assert.equal((await with1({ headers, body: { ...made.answer.body, colour: 'red', message: 'Done.' } })).says, null)
    assert.equal((await again(made.answer, { ...read.answer, headers: { allow: 'GET, PATCH, PUT' } })).says, null)
  })
  const wrong: [string, Partial<TrialAnswer>, RegExp][] = [
    ['another status', { status: 200 }, /201 was recorded, and 200 came/],
    [
      'another value',
      { body: { ...made.answer.body, total: '2.00' } },
      /^\/total: "1\.00" was recorded, and "2\.00" came/,
    ],
    ['a field less', { body: { id: 'ord_1', tags: ['a'], message: '' } }, /\/total was recorded, and is not there/],
    ['a longer list', { body: { ...made.answer.body, tags: ['a', 'b'] } }, /\/tags/],
    ['no text where one was', { body: { ...made.answer.body, message: null } }, /\/message/],
    ['no tag', { headers: { ...made.answer.headers, etag: undefined as never } }, /etag/],
    ['a weaker tag', { headers: { ...made.answer.headers, etag: 'W/"1"' } }, /etag/],
    ['a lost relation', { headers: { ...made.answer.headers, link: '<a>; rel="next"' } }, /link/],
    ['no body', { body: null }, /the body/],
  ]
  for (const [name, part, says] of wrong)
    test(`that have ${name}`, async () => assert.match(String((await with1(part)).says), says))
  test('that have other values because a change computes them', async () => {
    const other = { ...made.answer, body: { ...made.answer.body, total: '2.00' } }
    const ask = async (_: string, { method }: { method: string }) => (method === 'POST' ? other : read.answer)
    assert.equal(await replayExchanges([made, read], 'v1', ask, new Set(['total'])), null)
    const list = { ...read, request: { method: 'GET', path: '/orders?total[gte]=1' } }
    const none = async () => ({ ...read.answer, body: { data: [] } })
    assert.equal(await replayExchanges([list], 'v1', none, new Set(['total'])), null)
    assert.notEqual(await replayExchanges([list], 'v1', none), null)
  })
  test('that are in another order because a change computes their sort field', async () => {
    const bodies = ['ord_1', 'ord_2'].map((id) => ({ ...made.answer.body, id }))
    const sorted = { ...read, request: { method: 'GET', path: '/orders?sort=total' } }
    const exchanges = [{ ...sorted, answer: { ...read.answer, body: { data: bodies } } }, read]
    const turned = { ...read.answer, body: { data: bodies.toReversed() } }
    const ask = async (_: string, { path }: { path: string }) => (path === '/orders/ord_1' ? read.answer : turned)
    assert.equal(await replayExchanges(exchanges, 'v1', ask, new Set(['total'])), null)
  })
  test('that have other identifiers, everywhere', async () => {
    const body = { ...made.answer.body, id: 'ord_2' }
    const headers = { ...made.answer.headers, location: '/orders/ord_2' }
    const { says, sent } = await again(
      { ...made.answer, headers, body },
      { ...read.answer, body: { id: 'ord_2', of: { id: 'cus_7' } } },
    )
    assert.equal(says, null)
    assert.deepEqual(sent, ['POST /orders', 'GET /orders/ord_2'])
    assert.match(String((await again({ ...made.answer, headers, body }, read.answer)).says), /ord_2/)
  })
})

test('only parts that consumers rely on are stored, and read back', () => {
  assert.equal(made.answer.headers.date, undefined)
  assert.deepEqual(parseExchanges(exchangesText([made, read])), [made, read])
  for (const text of ['{', '{}', '[1]', '[{"request":{}}]']) assert.equal(typeof parseExchanges(text), 'string')
})
