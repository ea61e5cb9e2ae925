/** The comparison finds every kind of planted difference, and ignores only wording and random values. */
import './preload.ts'
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { answerOf } from './answer.ts'
import type { Received } from './client.ts'
import { differencesOf, Judge, joined, reportOf } from './compare.ts'
import { type Exchange, linesOf, packed, type Session, sessionsOf, unpacked } from './exchange.ts'
import { namesOf } from './names.ts'
import { advance, present, restart } from './preload.ts'

const [one, other] = ['cus_01m3wy8jzaf0krpbp6rvf4kf1k', 'cus_01m3wy8k0gfxh9v3t2c0wqk7bz']
const cursor = (id: string) =>
  Buffer.concat([randomBytes(12), Buffer.of(1), Buffer.from(JSON.stringify(['abcdefgh', 0, 0, id]))]).toString(
    'base64url',
  )

interface Parts {
  readonly status?: number
  readonly headers?: Received['headers']
  readonly body?: object
  readonly text?: string
}

const head: Received['headers'] = [
  ['Content-Type', 'application/json'],
  ['ETag', '"1-1-abcdef0123456789abcdef"'],
]

function answered({ status = 200, headers = head, body, text = JSON.stringify(body ?? { id: one, rank: 1 }) }: Parts) {
  const bytes = Buffer.from(text)
  return answerOf(
    { status, headers: [...headers, ['Content-Length', String(bytes.length)]], body: bytes },
    namesOf(),
    0,
  )
}
const kinds = (was: Parts, is: Parts): string[] => differencesOf(answered(was), answered(is)).map(({ kind }) => kind)

describe('a planted difference is found', () => {
  const changed = (name: string, value: string) =>
    head.map(([own, old]): [string, string] => [own, own === name ? value : old])
  const refusal = { status: 400, body: { message: 'No.', type: 'a', errors: [{ message: 'No.', pointer: '/x' }] } }
  const cases: Record<string, [was: Parts, is: Parts, kinds: readonly string[]]> = {
    'a status': [{}, { status: 201 }, ['status']],
    'a header': [{}, { headers: changed('Content-Type', 'text/plain') }, ['header Content-Type']],
    'the revision in a tag': [{}, { headers: changed('ETag', '"2-1-abcdef0123456789abcdef"') }, ['header ETag']],
    'a header that is missing': [{}, { headers: head.slice(1) }, ['header Content-Type']],
    'a header that is new': [{ headers: head.slice(1) }, {}, ['header Content-Type']],
    'the letters of a header': [
      {},
      { headers: head.map(([name, value]) => [name.toLowerCase(), value]) },
      [...['header Content-Type', 'header ETag', 'header content-type', 'header etag']],
    ],
    'the order of headers': [{}, { headers: head.toReversed() }, ['order of headers']],
    'a member': [{}, { body: { id: one, rank: 2 } }, ['member /rank']],
    'a member that is missing': [{}, { body: { id: one } }, ['member /rank']],
    'the order of members': [{}, { body: { rank: 1, id: one } }, ['bytes of the body']],
    'white space': [{}, { text: JSON.stringify({ id: one, rank: 1 }, null, 1) }, ['bytes of the body']],
    'another identifier': [{ body: { id: one, twin: one } }, { body: { id: one, twin: other } }, ['member /twin']],
    'the place of a cursor': [
      { body: { id: one, next: cursor(one) } },
      { body: { id: one, next: cursor(other) } },
      ['member /next'],
    ],
    'a type of error': [refusal, { ...refusal, body: { ...refusal.body, type: 'b' } }, ['member /type']],
    'a pointer of an error': [
      refusal,
      { ...refusal, body: { ...refusal.body, errors: [{ message: 'No.', pointer: '/y' }] } },
      ['member /errors/…/pointer'],
    ],
    'a message that is no refusal': [{ body: { message: 'a' } }, { body: { message: 'b' } }, ['member /message']],
  }
  for (const [name, [was, is, expected]] of Object.entries(cases))
    test(name, () => assert.deepEqual(kinds(was, is), expected))
})

describe('equal answers', () => {
  test('other identifiers in the same places', () => {
    const body = (id: string) => ({ id, links: [`/customers/${id}`], next: cursor(id) })
    assert.deepEqual(kinds({ body: body(one) }, { body: body(other) }), [])
  })
  test('the wording of a refusal, and its length', () => {
    const body = (message: string) => ({ message, type: 'a', cause: { message, type: 'b' } })
    assert.deepEqual(kinds({ status: 400, body: body('No.') }, { status: 400, body: body('Not at all.') }), [])
  })
})

describe('names of values', () => {
  test('are filled with the values of the current run', () => {
    const [before, now] = [namesOf(), namesOf()]
    before.name(`/customers/${one}`, 3)
    const stored = before.refer(`/customers/${one}/lines`)
    assert.doesNotMatch(stored, /01m3/)
    now.name(`/customers/${other}`, 3)
    assert.equal(now.fill(stored), `/customers/${other}/lines`)
  })
  test('are not given to values that a client made up', () => {
    const names = namesOf()
    assert.equal(names.refer(`/customers/${one}`), `/customers/${one}`)
    assert.equal(names.name(`no ${one}`, 0), `no ${one}`)
  })
})

const exchange: Exchange = {
  ...{ kind: 'read', wait: 1, request: { method: 'GET', target: '/a', headers: [] } },
  answer: answered({ body: { text: 'x'.repeat(3000) } }),
}
const session: Session = {
  setting: { name: 'a session', service: 'shop', store: 'SQLite', door: 'fetch' },
  exchanges: [exchange, exchange],
}

test('a corpus is read as it was written', () => {
  assert.deepEqual(sessionsOf(unpacked(packed(linesOf([session, session])))), [session, session])
})

test('a report counts differences by kind and names request and difference', () => {
  const judge = new Judge(1)
  const is = { ...exchange.answer, status: 500 }
  judge.compare(session, 0, exchange, exchange.answer)
  for (const number of [1, 2]) judge.compare(session, number, exchange, is)
  const text = reportOf(joined([judge.verdict(), judge.verdict()], 1))
  assert.match(text, /a session, request 1 \(read\)\n {4}GET \/a\n {2}status: was 200, is 500/)
  assert.match(text, /4 of 6 requests are answered otherwise than recorded:\n {6}4 {2}status/)
  assert.doesNotMatch(text, /request 2/)
})

test('time stops until it is moved, and random values repeat', () => {
  restart('a')
  const drawn = [randomUUID(), randomBytes(8).toString('hex'), Math.random()]
  const time = Date.now()
  assert.equal(new Date().toISOString(), new Date(time).toISOString())
  advance(5)
  assert.deepEqual([Date.now(), present()], [time + 5, time + 5])
  restart('a')
  Math.random() // other random functions have streams of their own, so that this draw does not change their values
  assert.deepEqual([randomUUID(), randomBytes(8).toString('hex')], drawn.slice(0, 2))
})
