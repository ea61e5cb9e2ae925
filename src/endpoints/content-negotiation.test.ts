/** Content negotiation: the representation, and the content that a route takes. Part 4. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Route } from '../flow/route.ts'
import { admitContent, codingsOf, negotiate, wantsProblem } from './content-negotiation.ts'

const call = (headers: Record<string, string>, method = 'POST') => ({ headers, method, raw: [] }) as unknown as Call

function refusal(act: () => void): Problem | null {
  try {
    act()
    return null
  } catch (problem) {
    assert.ok(problem instanceof Problem, String(problem))
    return problem
  }
}

const admitted = (accept: string) => refusal(() => negotiate(call({ accept }))) === null

const settings = { limits: { body: 100 }, request: { codings: ['gzip', 'br'] } }
const route = (content: string[]) => ({ content, resource: { settings } }) as unknown as Route
const post = (headers: Record<string, string>, made = route(['application/json']), method = 'POST') =>
  refusal(() => admitContent(call({ 'content-length': '10', ...headers }, method), made))

test('JSON is sent if Accept allows it, is malformed or is missing', () => {
  assert.equal(
    refusal(() => negotiate(call({}))),
    null,
  )
  const fitting = ['*/*', 'application/json', 'application/*', 'APPLICATION/JSON', 'application/json;charset=utf-8', '']
  const ranked = [
    'text/html, */*;q=0.1',
    'text/html;q=1, application/json;q=0.001',
    '*/*;q=0, application/json',
    'application/*;q=0, application/json;q=0.5',
    '*/*, text/html;q=0',
  ]
  const odd = [
    ' , ,',
    'application/json ; q = 0.5',
    'application/json;',
    ',application/json,',
    'text/html;level="a,b";q=1, application/json',
    'application/json;a=";q=0"',
    'text/html;a="application/json", application/json;q=0.1',
  ]
  const broken = [
    'json',
    'application',
    'text/html, foo',
    '*/json',
    'text/html;q=2',
    'text/html;q=x',
    'text/html;q=-1',
    'text/html;q=0.1234',
    'a/b/c',
    'text/html "',
    'text/html;a="',
    '@/@',
    'text/html;q=',
  ]
  for (const accept of [...fitting, ...ranked, ...odd, ...broken]) assert.ok(admitted(accept), accept)
})

test('JSON is refused if Accept excludes it', () => {
  for (const accept of [
    'application/xml',
    'text/*',
    'application/json;q=0, */*',
    '*/*;q=0',
    'application/json;q=0.000',
    'application/*;q=0, */*',
    'application/problem+json',
    'application/merge-patch+json',
    'application/jsonp',
    'text/html;a="application/json"',
    'application/json;Q=0',
  ])
    assert.equal(admitted(accept), false, accept)
})

test('errors have the form of RFC 9457 only if Accept names it', () => {
  for (const accept of ['application/problem+json', 'application/json, Application/Problem+JSON;q=0.1'])
    assert.ok(wantsProblem(call({ accept })), accept)
  for (const accept of [
    '*/*',
    'application/*',
    'application/problem+json;q=0',
    'application/problem+json, x',
    'text/html;a="application/problem+json"',
  ])
    assert.equal(wantsProblem(call({ accept })), false, accept)
  assert.equal(wantsProblem(call({})), false)
})

test('content has a supported type in UTF-8', () => {
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; Charset=Utf-8',
    ' application/json ; charset = utf-8 ;',
    'application/json; foo=";charset=latin1"',
    'application/json;charset="ut\\f-8"',
  ])
    assert.equal(post({ 'content-type': type }), null, type)
  for (const type of [
    'text/plain',
    '',
    'application/jsonx',
    'application/json, text/plain',
    'application/json; charset',
    'json',
    'application/merge-patch+json',
    '*/*',
    'application/json;a="b',
  ])
    assert.equal(post({ 'content-type': type })?.type, 'unsupported-media-type', type)
  for (const type of [
    'application/json; charset=iso-8859-1',
    'application/json;charset=utf8',
    'application/json;charset=""',
    'application/json;charset=utf-8;charset=latin1',
  ])
    assert.equal(post({ 'content-type': type })?.type, 'unsupported-charset', type)
  assert.equal(post({})?.type, 'unsupported-media-type')
})

test('the refusal of a type names the accepted ones, on PATCH twice', () => {
  assert.deepEqual(post({ 'content-type': 'text/plain' })?.headers, { Accept: 'application/json' })
  const patch = route(['application/merge-patch+json', 'application/json'])
  const both = 'application/merge-patch+json, application/json'
  assert.deepEqual(post({ 'content-type': 'text/plain' }, patch, 'PATCH')?.headers, {
    Accept: both,
    'Accept-Patch': both,
  })
})

test('empty content needs no media type', () => {
  assert.equal(post({ 'content-length': '0' }), null)
  assert.equal(post({ 'content-type': 'text/plain' }, route([])), null)
  assert.equal(post({ 'content-length': '101', 'content-type': 'application/json' })?.type, 'content-too-large')
  assert.equal(post({ 'content-length': '100', 'content-type': 'application/json' }), null)
  assert.equal(
    refusal(() => admitContent(call({ 'transfer-encoding': 'chunked' }), route(['application/json'])))?.type,
    'unsupported-media-type',
  )
})

test('codings are those of the settings, and only a few at once', () => {
  const json = { 'content-type': 'application/json' }
  for (const coding of ['gzip', 'GZIP', 'x-gzip', 'br', 'identity', '', 'gzip, br', 'identity, gzip', 'gzip, gzip, br'])
    assert.equal(post({ ...json, 'content-encoding': coding }), null, coding)
  for (const coding of ['compress', 'deflate', 'zstd', 'gzip, compress', 'gzip;q=1', 'gzip,'.repeat(4)]) {
    const problem = post({ ...json, 'content-encoding': coding })
    assert.equal(problem?.type, 'unsupported-content-coding', coding)
    assert.deepEqual(problem?.headers, { 'Accept-Encoding': 'gzip, br' })
  }
  assert.deepEqual(codingsOf(call({ 'content-encoding': ' gzip ,, Identity, BR' })), ['gzip', 'br'])
})

test('any header is read without failing', () => {
  const piece = fc.constantFrom('a', '/', '*', ';', ',', '"', '\\', '=', 'q', '0', ' ', '\t', 'é', 'application/json')
  const header = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(header, (text) => {
      refusal(() => negotiate(call({ accept: text })))
      wantsProblem(call({ accept: `${text}problem+json` }))
      post({ 'content-type': text, 'content-encoding': text })
    }),
    { numRuns: 2000 },
  )
})

test('adversarial headers are read in linear time', () => {
  const long = [
    'a/b,'.repeat(4000),
    ','.repeat(16_000),
    `a/b${';  '.repeat(5000)}(`,
    `a/b;a="${'\\"'.repeat(8000)}`,
    '"'.repeat(16_000),
    `a/b;a=${'"",'.repeat(5000)}`,
    `a/b${'; a=a'.repeat(3000)} (`,
    `${' '.repeat(16_000)}x`,
  ]
  for (const text of long) {
    refusal(() => negotiate(call({ accept: text })))
    post({ 'content-type': text, 'content-encoding': text })
  }
})
