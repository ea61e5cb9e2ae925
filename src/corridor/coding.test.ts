/** Coding: the coding that an Accept-Encoding selects, and the tags that it accepts. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Call } from '../flow/call.ts'
import { acceptedCoding, isCodingAcceptable, splitCodedTag, tagOfCoding } from './coding.ts'

const call = (accept: string | undefined, cache?: string): Call => ({
  method: 'GET',
  target: '/',
  authority: null,
  http: '1.1',
  headers: { 'accept-encoding': accept, 'cache-control': cache },
  raw: [],
  id: '',
  content: null,
  address: '',
})

const wanted: readonly (readonly [accept: string | undefined, coding: string | null])[] = [
  [undefined, null],
  ['', null],
  [' ', null],
  [',', null],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['br', 'br'],
  ['zstd', 'zstd'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip, zstd', 'zstd'],
  ['br;q=0.5, gzip', 'gzip'],
  ['br;q=0.5, gzip;q=0.5', 'br'],
  ['gzip;q=0, br', 'br'],
  ['br;q=0, gzip;q=0.001', 'gzip'],
  ['gzip;q=1.000', 'gzip'],
  ['gzip ; Q=0.9 , br ; q=0.8', 'gzip'],
  ['*', 'br'],
  ['*;q=0', null],
  ['*;q=0, gzip', 'gzip'],
  ['br;q=0, *', 'zstd'],
  ['br;q=0, zstd;q=0, *', 'gzip'],
  ['gzip;q=0.2, *;q=0.8', 'br'],
  ['identity', null],
  ['identity, gzip', 'gzip'],
  ['identity, gzip;q=0.5', null],
  ['identity;q=0.5, gzip', 'gzip'],
  ['identity;q=0, foo', null],
  ['identity;q=0, *;q=0', null],
  ['foo, deflate, compress', null],
  ['gzip;q=2', null],
  ['gzip;q=0.1234', null],
  ['gzip;level=9', null],
  ['gzip deflate', null],
  ['gzip;q=', null],
]

it('chooses by quality, and the better coding where qualities are equal', () => {
  for (const [accept, coding] of wanted) assert.equal(acceptedCoding(call(accept)), coding, `${accept}`)
})

it('sends plain content with no-transform', () => {
  for (const cache of ['no-transform', 'no-cache, No-Transform']) assert.equal(acceptedCoding(call('br', cache)), null)
  assert.equal(acceptedCoding(call('br', 'no-cache')), 'br')
})

it('treats a tag as current only in an acceptable coding', () => {
  const rows: [string | undefined, string, boolean][] = [
    [undefined, '', true],
    [undefined, 'gzip', false],
    ['', '', true],
    ['br, gzip', 'gzip', true],
    ['br, gzip', 'br', true],
    ['br, gzip', 'zstd', false],
    ['br, gzip', '', true],
    ['gzip;q=0, br', 'gzip', false],
    ['*', 'zstd', true],
    ['identity;q=0, br', '', false],
    ['*;q=0, br', '', false],
    ['*;q=0, identity', '', true],
    ['foo', 'foo', false],
  ]
  for (const [accept, coding, fits] of rows)
    assert.equal(isCodingAcceptable(call(accept), coding), fits, `${accept}: ${coding}`)
})

it('derives the tag of a coding from the plain one', () => {
  assert.equal(tagOfCoding('"9f3a1c"', 'gzip'), '"9f3a1c+gzip"')
  assert.equal(tagOfCoding('W/"9f3a1c"', 'br'), 'W/"9f3a1c+br"')
  assert.deepEqual(splitCodedTag('9f3a1c+gzip'), ['9f3a1c', 'gzip'])
  assert.deepEqual(splitCodedTag('9f3a1c'), ['9f3a1c', ''])
})
