/** CORS: the headers for pages of other origins, case by case. Part 5, authentication. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeclaredSettings, readSettings } from '../settings.ts'
import { addCorsHeaders } from './cors.ts'

const app = 'https://app.example.com'

/** The headers of an answer to a page. */
function corsHeaders(
  cors: DeclaredSettings['cors'],
  asked: Record<string, string>,
  { method = 'GET', status = 200, headers = {} as Record<string, string>, apiKeyHeader = '' } = {},
): Record<string, string> {
  const declared = { cors, ...(apiKeyHeader && { auth: { apiKeyHeader } }) } as DeclaredSettings
  const reply = { status, headers: { ...headers }, body: null }
  addCorsHeaders(
    { method, headers: asked },
    reply,
    readSettings(declared, undefined, false, ({ path }) => assert.fail(path)),
  )
  return reply.headers
}

test('without origins no CORS headers are sent', () => {
  assert.deepEqual(corsHeaders(undefined, { origin: app }), {})
  assert.deepEqual(corsHeaders({ origins: [] }, { origin: app }), {})
})

test('an origin is compared letter by letter', () => {
  const cors = { origins: [app, 'http://localhost:3000', 'null'] }
  for (const origin of cors.origins) {
    const headers = corsHeaders(cors, { origin })
    assert.equal(headers['Access-Control-Allow-Origin'], origin)
    assert.match(headers['Access-Control-Expose-Headers'] as string, /\bETag\b.*\bRequest-Id\b.*\bWWW-Authenticate\b/)
    assert.equal(headers['Access-Control-Allow-Credentials'], undefined)
  }
  for (const origin of [
    ...['http://app.example.com', 'https://app.example.com:8443', 'https://app.example.com.evil.org'],
    ...['https://evil-app.example.com', 'https://APP.example.com', `${app}/`, 'http://localhost', '*', 'Null', ''],
  ])
    assert.deepEqual(corsHeaders(cors, { origin }), { Vary: 'Origin' }, origin)
  assert.deepEqual(corsHeaders({ origins: [app] }, { origin: 'null' }), { Vary: 'Origin' })
})

test('Vary is set for every caller, and is added to an existing Vary', () => {
  assert.equal(
    corsHeaders({ origins: [app] }, {}, { headers: { Vary: 'Accept-Encoding' } }).Vary,
    'Accept-Encoding, Origin',
  )
  assert.equal(corsHeaders({ origins: ['*'] }, {}).Vary, undefined)
})

test('the older rate limit fields can be read by pages where they are sent', () => {
  const reply = { status: 200, headers: {} as Record<string, string>, body: null }
  const declared = { cors: { origins: [app] }, rateLimit: { headers: 'x-ratelimit' } } as DeclaredSettings
  const settings = readSettings(declared, undefined, false, ({ path }) => assert.fail(path))
  addCorsHeaders({ method: 'GET', headers: { origin: app } }, reply, settings)
  const exposed = (reply.headers['Access-Control-Expose-Headers'] as string).split(', ')
  for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit'])
    assert.ok(exposed.includes(name), name)
  assert.ok(!corsHeaders({ origins: [app] }, { origin: app })['Access-Control-Expose-Headers']?.includes('X-RateLimit'))
})

test('all origins get the same answer, and browser credentials are never allowed', () => {
  const headers = corsHeaders({ origins: ['*'] }, { origin: 'https://anybody.example' })
  assert.equal(headers['Access-Control-Allow-Origin'], '*')
  assert.equal(headers['Access-Control-Allow-Credentials'], undefined)
})

test('a preflight gets the methods of the path and the allowed headers', () => {
  const asked = { origin: app, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-evil' }
  const options = {
    method: 'OPTIONS',
    status: 204,
    headers: { Allow: 'GET, HEAD, OPTIONS, PUT' },
    apiKeyHeader: 'X-Key',
  }
  const headers = corsHeaders({ origins: [app] }, asked, options)
  assert.equal(headers['Access-Control-Allow-Methods'], 'GET, HEAD, OPTIONS, PUT')
  assert.match(headers['Access-Control-Allow-Headers'] as string, /^authorization, .*, content-type, .*, x-key$/)
  assert.equal(headers['Access-Control-Max-Age'], '7200')
  for (const other of [
    corsHeaders({ origins: [app] }, { origin: app }, options),
    corsHeaders({ origins: [app] }, asked, { ...options, method: 'GET' }),
    corsHeaders({ origins: [app] }, asked, { ...options, status: 404 }),
    corsHeaders({ origins: ['https://other.example'] }, asked, options),
  ])
    assert.equal(other['Access-Control-Allow-Methods'], undefined)
})

test('an origin is declared as browsers write it', () => {
  const isTaken = (origin: string) => {
    let taken = true
    readSettings({ cors: { origins: [origin] } }, undefined, false, () => {
      taken = false
    })
    return taken
  }
  const good = [app, 'http://localhost:3000', 'http://[::1]:3000', 'capacitor://localhost', 'null', '*']
  const bad = [`${app}/`, 'https://app.example.com:443', 'https://App.example.com', 'app.example.com', '*.example.com']
  const worse = ['https://*.example.com', `${app}\r\nX-Evil: 1`, `${app} ${app}`, '', 'https://a@b.example']
  assert.deepEqual(
    good.filter((one) => !isTaken(one)),
    [],
  )
  assert.deepEqual([...bad, ...worse].filter(isTaken), [])
})
