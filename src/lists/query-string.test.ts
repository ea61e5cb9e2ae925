/** Query strings: names and values, unknown and repeated names. Part 4, list parameters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../errors/problem.ts'
import type { Settings } from '../settings.ts'
import { nameViolations, parametersOf, parsePairs, queryStringOf, refuseParameters } from './query-string.ts'

test('names and values are decoded once, plus and %20 both as a space', () => {
  const table: [query: string, pairs: [string, string][]][] = [
    ['', []],
    ['&&', []],
    ['a=1', [['a', '1']]],
    ['a', [['a', '']]],
    ['a=', [['a', '']]],
    ['=a', [['', 'a']]],
    ['a=b=c', [['a', 'b=c']]],
    [
      'a=1&&b=2&',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    ['name=a+b', [['name', 'a b']]],
    ['name=a%20b', [['name', 'a b']]],
    ['name=a%2Bb', [['name', 'a+b']]],
    ['name=%2525', [['name', '%25']]],
    ['price%5Bgte%5D=1', [['price[gte]', '1']]],
    ['price[gte]=1', [['price[gte]', '1']]],
    ['a=%C3%A9%F0%9F%98%80', [['a', 'é😀']]],
    ['a+b=1', [['a b', '1']]],
    ['a?=1?', [['a?', '1?']]],
  ]
  for (const [query, expected] of table) {
    assert.deepEqual(parsePairs(query), expected, query)
    assert.deepEqual(parametersOf(`/orders?${query}`), expected, query)
  }
})

test('the query of a target begins after its first question mark', () => {
  assert.equal(queryStringOf('/orders'), '')
  assert.equal(queryStringOf('/orders?'), '')
  assert.equal(queryStringOf('/orders?a=?'), 'a=?')
})

test('malformed escapes, other encodings and bare characters are refused', () => {
  for (const query of [
    'a=%',
    'a=%z1',
    'a=%F',
    '%zz=1',
    'a=%FF',
    'a=%C3',
    'a=%ED%A0%80',
    'a=%C0%80',
    'a=%foo%',
    'a=é',
    'a= b',
    'a=\n',
  ]) {
    assert.throws(
      () => parsePairs(query),
      (problem) =>
        problem instanceof Problem && problem.type === 'invalid-url-encoding' && problem.message.includes('%25'),
      query,
    )
  }
})

const settings = (unknown: 'reject' | 'ignore', ignored: string[] = []) =>
  ({ query: { unknown, ignored }, versions: { carriers: ['query'] } }) as unknown as Settings
const types = (query: string, set: Settings, accepted = ['status', 'sort']) =>
  nameViolations(parsePairs(query), (name) => accepted.includes(name), accepted, set).map(
    ({ type, name }) => `${type} ${name}`,
  )

test('unknown names are refused unless the settings ignore them, repeated ones always', () => {
  const strict = settings('reject')
  assert.deepEqual(types('status=1&sort=a', strict), [])
  assert.deepEqual(types('stauts=1&Sort=a', strict), ['unknown-parameter stauts', 'unknown-parameter Sort'])
  assert.deepEqual(types('status=1&status=1', strict), ['repeated-parameter status'])
  assert.deepEqual(types('x=1&x=2&x=3', strict), [
    'unknown-parameter x',
    'repeated-parameter x',
    'repeated-parameter x',
  ])
  assert.deepEqual(types('x=1&status=1', settings('ignore')), [])
  assert.deepEqual(types('x=1&x=1', settings('ignore')), ['repeated-parameter x'])
  assert.deepEqual(types('_=1&x=1', settings('reject', ['_'])), ['unknown-parameter x'])
  assert.deepEqual(types('__proto__=1', strict), ['unknown-parameter __proto__'])
})

test('messages name the accepted parameters, with a guess', () => {
  const message = (query: string, accepted: string[]) =>
    nameViolations(parsePairs(query), () => false, accepted, settings('reject'))[0]?.message
  assert.equal(
    message('stauts=1', ['status', 'sort']),
    'stauts is not a parameter here. Did you mean status? Accepted: status, sort.',
  )
  assert.equal(
    message('stauts[gte]=1', ['status']),
    'stauts[gte] is not a parameter here. Did you mean status? Accepted: status.',
  )
  assert.equal(message('zzzzzz=1', ['status']), 'zzzzzz is not a parameter here. Accepted: status.')
  assert.equal(message('x=1', []), 'x is not a parameter here; none is accepted.')
  assert.match(message('=1', ['status']) ?? '', /^A parameter without a name/)
})

test('URLs of items accept only the version as a parameter, and empty segments are ignored', () => {
  refuseParameters({ method: 'GET', target: '/orders/ord_1' }, settings('reject'))
  refuseParameters({ method: 'GET', target: '/orders/ord_1?' }, settings('reject'))
  refuseParameters({ method: 'GET', target: '/orders/ord_1?&&' }, settings('reject'))
  refuseParameters({ method: 'GET', target: '/orders/ord_1?x=1' }, settings('ignore'))
  refuseParameters({ method: 'GET', target: '/orders/ord_1?version=v1' }, settings('reject'))
  assert.throws(
    () => refuseParameters({ method: 'GET', target: '/orders/ord_1?x=1' }, settings('reject')),
    /1 parameter is invalid/,
  )
})
