/** Requests with one thing that is odd: the body, its type, the method, the path, the query string, the credential, the version. */
import { gzipSync } from 'node:zlib'
import type { Chance } from './chance.ts'
import { base, doneOf, type Headers, type Variation, written } from './given.ts'

const bodies: readonly ((text: string, chance: Chance) => string | Buffer)[] = [
  (text, { below }) => text.slice(0, below(text.length)),
  (text) => text.replace('{', '{"noSuchMember":1,'),
  (text) => text.replace(/^\{("[^"]+":(?:"[^"]*"|\d+|true|false|null))/, '{$1,$1'),
  () => '',
  () => '[]',
  () => 'null',
  () => '"text"',
  () => '{}',
  (text) => `[${text}]`,
  (text) => `﻿${text}`,
  (text) => ` \n${text}\t`,
  (text) => `${text}x`,
  (text) => text.replace(/"(?=[,}])/, '\\ud800"'),
  (text) => text.replace(/"(?=[,}])/, '\\u0000"'),
  (text) => text.replace(/:(?:"[^"]*"|\d+)/, ':1e400'),
  (text) => text.replace(/:(?:"[^"]*"|\d+)/, ':null'),
  (text) => text.replace(/:(?:"[^"]*"|\d+)/, ':{"a":[1,2,{"b":null}]}'),
  (text) => text.replace(/:(?:"[^"]*"|\d+)/, ':9007199254740993'),
  (text) => text.replace(/:(?:"[^"]*"|\d+)/, ':-0'),
  (text) => text.replace('{', '{"__proto__":{"a":1},"constructor":2,'),
  (text) => text.replace('{', '{"id":"abc","createdAt":"2026-01-01T00:00:00Z",'),
  () => `${'['.repeat(200)}${']'.repeat(200)}`,
  (text) => text.replace(/"([a-z])/, '"\\u0041$1'),
  (text) => Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.of(0xff, 0xfe), Buffer.from(text.slice(-2))]),
  (text) => text.replace('{', `{"text":"${'x'.repeat(2000)}",`),
]

export const malformed: Variation = (sources) => {
  const before = written(sources)
  if (!before) return null
  const text = before.body ?? ''
  const made = sources.chance.one(bodies)(text, sources.chance)
  if (typeof made === 'string') return { ...before, body: made }
  return { ...before, body: made.toString('base64'), base64: true }
}

const kinds = [
  ...[
    'text/plain',
    'application/xml',
    'application/json; charset=latin1',
    'application/json;charset=UTF-8',
    'json',
    '',
  ],
  ...[
    'application/merge-patch+json',
    'application/json-patch+json',
    'multipart/form-data; boundary=x',
    'APPLICATION/JSON',
  ],
]

export const typed: Variation = (sources) => {
  const { chance } = sources
  const before = written(sources)
  if (!before) return null
  const rest = before.headers.filter(([name]) => name.toLowerCase() !== 'content-type')
  if (chance.once(3)) {
    const body = gzipSync(before.body ?? '', { level: 1 })
    body[9] = 255 // gzip names the operating system here, which differs between machines
    const coding = chance.one(['gzip', 'gzip', 'br', 'deflate', 'gzip, gzip', 'identity'])
    return {
      ...before,
      body: body.toString('base64'),
      base64: true,
      headers: [...before.headers, ['Content-Encoding', coding]],
    }
  }
  return { ...before, headers: chance.once(6) ? rest : [...rest, ['Content-Type', chance.one(kinds)]] }
}

const methods = ['PROPFIND', 'DELETE', 'POST', 'PUT', 'PATCH', 'OPTIONS', 'QUERY', 'HEAD', 'FOO', 'REPORT']
const onSocket = [...methods, 'get', 'GeT', 'LINK', 'TRACE']

export const method: Variation = (sources) => {
  const { chance, door } = sources
  const done = doneOf(sources)
  if (!done) return null
  const made = chance.one(door === 'node' ? onSocket : methods)
  const preflight: Headers = [
    ['Origin', 'https://app.example.com'],
    ['Access-Control-Request-Method', chance.one(['POST', 'DELETE', 'FOO'])],
    ['Access-Control-Request-Headers', 'authorization, content-type, if-match'],
  ]
  if (made === 'OPTIONS') return { method: made, target: done.target, headers: chance.once(2) ? preflight : [] }
  if (made === 'HEAD' || made === 'TRACE') return { method: made, target: done.target, ...base }
  return { ...done, method: made }
}

const places: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.replace(/\/(?=[^/]*$)/, '//'),
  (path) => path.replace(/\/(?=[^/]*$)/, '%2F'),
  (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (path) => path.toUpperCase(),
  (path) => `${path}/nope`,
  (path) => path.replace(/.$/, ''),
  (path) => `${path}%00`,
  (path) => `${path}%ZZ`,
  (path) => `${path}/../..`,
  (path) => `${path};a=b`,
  (path) => `${path}.json`,
  (path) => `/v9${path}`,
  (path) => `${path}#x`,
  (path) => path.replace(/[^/]+$/, 'x'.repeat(300)),
  () => '/',
  () => '/healthz',
  () => '/readyz',
  () => '/openapi',
  () => '/openapi.json',
  () => '/.well-known/api-catalog',
  () => '/.well-known/oauth-protected-resource',
  () => '/favicon.ico',
]

export const place: Variation = (sources) => {
  const done = doneOf(sources)
  if (!done) return null
  const [path = '', query] = done.target.split('?', 2)
  const moved = sources.chance.one(places)(path)
  return { ...done, target: query === undefined ? moved : `${moved}?${query}` }
}

const queries = [
  '%zz=1',
  'a=%00',
  'limit',
  '=',
  '&&',
  'x[y]=1',
  'access_token=abc',
  'sort=',
  'sort=nope',
  'version=v1',
  'a'.repeat(500),
]

export const query: Variation = (sources) => {
  const done = doneOf(sources)
  if (!done) return null
  const added = sources.chance.one(queries)
  return { ...done, target: done.target + (done.target.includes('?') ? '&' : '?') + added }
}

export const credential: Variation = (sources) => {
  const { chance, holders } = sources
  const done = chance.once(4) ? (written(sources) ?? doneOf(sources)) : doneOf(sources)
  if (!done) return null
  const { who: _, ...nobody } = done
  if (holders.length > 0 && chance.once(2)) return { ...nobody, who: chance.one(holders) }
  const key = `bylaw_${'0'.repeat(43)}abcdef`
  const sent = chance.one([
    '',
    'Bearer',
    'Bearer x',
    `Bearer ${key}`,
    'Basic YTpi',
    `bearer  ${key}`,
    'Bearer a, Bearer b',
    'x',
  ])
  const name = chance.one(['Authorization', 'Authorization', 'X-Api-Key', 'X-API-Key'])
  return chance.once(3) ? nobody : { ...nobody, headers: [...done.headers, [name, sent]] }
}

export const version: Variation = (sources) => {
  const { chance, versions } = sources
  const done = doneOf(sources)
  if (!done) return null
  const made = chance.one([...versions, ...versions, 'v0', 'v9', 'x', 'V2', ''])
  const rest = done.headers.filter(([name]) => name.toLowerCase() !== 'version')
  if (chance.once(2)) return { ...done, headers: [...rest, ['Version', made]] }
  const bare = done.target.replace(/^\/v\d+(?=\/)/, '')
  return {
    ...done,
    headers: chance.once(2) ? rest : done.headers,
    target: chance.once(4) ? `${bare}${bare.includes('?') ? '&' : '?'}version=${made}` : `/${made}${bare}`,
  }
}
