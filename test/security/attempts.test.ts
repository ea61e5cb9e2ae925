/** Attacks on a service, grouped by the OWASP API top ten of 2023, and their refusals. Part 5, authentication. */
// long because: one table of attempts
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, type Sent } from '../help/door.ts'

const shop = service({
  name: 'shop',
  scopes: {
    'orders:read': 'Read orders',
    'orders:write': 'Change orders',
    pii: 'See personal data',
    admin: 'Everything else',
  },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: {
        title: f.text({ max: 200, filter: 'like', sort: true }),
        price: f.decimal({ scale: 2, default: '0.00', write: 'admin' }),
        phone: f.text({ max: 40, optional: true, read: 'pii', filter: true }),
        secret: f.text({ optional: true, writeOnly: true }),
        callback: f.url({ optional: true }),
        labels: f.metadata(),
        scan: f.file({ max: 100, types: ['image/png', 'text/plain'] }),
        letter: f.file({ read: 'pii' }),
        seal: f.file({ write: 'admin' }),
      },
      summaries: {
        byTitle: { group: ['title'] },
        phones: { group: ['phone'] },
        prices: { sum: ['price'], group: ['phone'] },
      },
      exports: true,
      imports: true,
      access: { read: 'orders:read', write: 'orders:write', remove: 'admin' },
      history: { read: 'authenticated' },
    },
    news: { fields: { text: f.text() }, access: { read: 'public', write: 'admin' } },
  },
  settings: { limits: { body: 20_000 }, list: { or: true } },
})
const user = ['orders:read', 'orders:write']
const holders = {
  user: { account: 'acc_user', scopes: user },
  other: { account: 'acc_other', scopes: [...user, 'pii', 'admin'] },
  reader: { account: 'acc_user', scopes: ['orders:read'] },
} as const

const unknown = 'ord_01h455vb4pex5vsknk084sn02q'
const deep = (levels: number): string => '{"labels":'.concat('['.repeat(levels), ']'.repeat(levels), '}')

/** An attack: caller, request, and the status and type of the refusal. `{id}` is an order of another account, `{own}` one of the caller's. */
type Attempt = readonly [
  who: keyof typeof holders | null,
  method: string,
  path: string,
  status: number,
  type: string,
  sent?: Sent,
]
const json = (value: unknown, headers: Record<string, string> = {}): Sent => ({ json: value, headers })
const text = (body: string | Uint8Array, headers: Record<string, string> = {}): Sent => ({
  body,
  headers: { 'content-type': 'application/json', ...headers },
})

const plain = (body: string, headers: Record<string, string> = {}): Sent => ({
  body,
  headers: { 'content-type': 'text/plain', ...headers },
})

const csv: Sent = { headers: { accept: 'text/csv' } }
/** A line of an import. */
const line = (value: object): Sent => text(JSON.stringify(value), { 'content-type': 'application/x-ndjson' })
const cells = (body: string): Sent => text(body, { 'content-type': 'text/csv' })

const attempts: Readonly<Record<string, readonly Attempt[]>> = {
  'API1 broken object level authorization': [
    ['user', 'GET', '/orders/{id}', 404, 'resource-not-found'],
    ['user', 'PATCH', '/orders/{id}', 404, 'resource-not-found', json({ title: 'x' })],
    ['user', 'PUT', '/orders/{id}', 404, 'resource-not-found', json({ title: 'x' })],
    ['other', 'DELETE', '/orders/{own}', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{id}/scan', 404, 'resource-not-found'],
    ['user', 'PUT', '/orders/{id}/scan', 404, 'resource-not-found', plain('x')],
    ['user', 'DELETE', '/orders/{id}/scan', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{id}/revisions/1/scan', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/*', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/%25', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{own},{id}', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{own}%2F..%2F{id}', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{own}/../{id}', 404, 'route-not-found'],
    ['user', 'GET', '/orders?account=acc_other', 400, 'invalid-query'],
    ['user', 'GET', '/orders?accountId=acc_other', 400, 'invalid-query'],
    ['user', 'GET', '/orders/summaries/by-title?accountId=acc_other', 400, 'invalid-query'],
    ['user', 'GET', '/orders?accountId=acc_other', 400, 'invalid-query', csv],
    [null, 'GET', '/orders', 401, 'credentials-missing', csv],
    [null, 'GET', '/orders/summaries/by-title', 401, 'credentials-missing'],
    [null, 'POST', '/orders/imports', 401, 'credentials-missing', line({ title: 'x' })],
    ['user', 'POST', '/orders/imports?accountId=acc_other', 400, 'invalid-query', line({ title: 'x' })],
    ['user', 'GET', '/orders/{id}/revisions', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{id}/revisions/1', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{id}/revisions/1?against=1', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{own}/revisions/1?against={id}', 400, 'invalid-query'],
    ['user', 'GET', '/orders/{own}/revisions/1%20OR%201=1', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/{own}/revisions?accountId=acc_other', 400, 'invalid-query'],
    ['user', 'GET', '/orders/{own}/revisions/1?fields=secret', 400, 'invalid-query'],
    [null, 'GET', '/orders/{id}/revisions', 401, 'credentials-missing'],
    [null, 'GET', '/orders/{id}/revisions/1', 401, 'credentials-missing'],
    ['user', 'GET', '/orders?id=x%27%20OR%201=1--', 400, 'invalid-query'],
  ],
  'API2 broken authentication': [
    [null, 'GET', '/orders', 401, 'credentials-missing'],
    [null, 'GET', '/orders', 401, 'invalid-credentials', { headers: { authorization: 'Bearer ' } }],
    [null, 'GET', '/orders', 401, 'invalid-credentials', { headers: { authorization: 'Bearer null' } }],
    [
      null,
      'GET',
      '/orders',
      401,
      'invalid-credentials',
      { headers: { authorization: `Bearer bylaw_${'A'.repeat(49)}` } },
    ],
    [
      null,
      'GET',
      '/orders',
      401,
      'invalid-credentials',
      { headers: { authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.' } },
    ],
    [null, 'GET', '/orders', 401, 'credentials-missing', { headers: { authorization: 'Basic YWRtaW46YWRtaW4=' } }],
    [null, 'GET', '/orders', 401, 'credentials-missing', { headers: { cookie: 'session=1; token=2' } }],
    [null, 'GET', '/orders?access_token=abc', 400, 'credentials-in-url'],
    [null, 'GET', '/orders?api_key=abc', 400, 'credentials-in-url'],
    [null, 'GET', '/news', 401, 'invalid-credentials', { headers: { authorization: 'Bearer stale' } }],
  ],
  'API3 broken object property level authorization': [
    ['user', 'POST', '/orders', 400, 'validation-failed', json({ title: 'x', accountId: 'acc_other' })],
    ['user', 'POST', '/orders', 400, 'validation-failed', json({ title: 'x', id: unknown })],
    ['user', 'POST', '/orders', 400, 'validation-failed', json({ title: 'x', createdAt: '2020-01-01T00:00:00Z' })],
    ['user', 'POST', '/orders', 400, 'validation-failed', json({ title: 'x', isAdmin: true, role: 'admin' })],
    ['user', 'POST', '/orders', 403, 'insufficient-scope', json({ title: 'x', price: '0.01' })],
    ['reader', 'POST', '/orders/imports', 403, 'insufficient-scope', line({ title: 'x' })],
    ['user', 'POST', '/orders/imports', 400, 'validation-failed', line({ title: 'x', accountId: 'acc_other' })],
    ['user', 'POST', '/orders/imports', 400, 'validation-failed', line({ title: 'x', price: '0.01' })],
    ['user', 'POST', '/orders/imports', 400, 'validation-failed', line({ title: 'x', access_token: 'abc' })],
    ['user', 'POST', '/orders/imports', 400, 'validation-failed', cells('title,accountId\nx,acc_other\n')],
    ['user', 'POST', '/orders/imports', 400, 'validation-failed', cells('title,__proto__\nx,y\n')],
    ['user', 'POST', '/orders/imports', 400, 'validation-failed', cells('title,labels.constructor\nx,y\n')],
    ['user', 'PATCH', '/orders/{own}', 403, 'insufficient-scope', json({ price: '0.01' })],
    ['user', 'PATCH', '/orders/{own}', 400, 'validation-failed', json({ accountId: 'acc_other' })],
    ['user', 'PATCH', '/orders/{own}', 400, 'validation-failed', json({ id: unknown })],
    ['user', 'PATCH', '/orders/{own}', 403, 'insufficient-scope', json({ phone: '1' })],
    ['user', 'GET', '/orders?phone=1', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders?secret=1', 400, 'invalid-query'],
    ['user', 'GET', '/orders?sort=phone', 400, 'invalid-query'],
    ['user', 'GET', '/orders?fields=secret,phone', 400, 'invalid-query'],
    ['user', 'GET', '/orders?fields=title,phone', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders/{own}?fields=phone', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders/{own}?fields=secret', 400, 'invalid-query'],
    ['user', 'GET', '/orders?or=(title=x;phone=1)', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders?or=(%2570hone[null]=true)', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders?or=(title=x;secret=1)', 400, 'invalid-query'],
    ['user', 'GET', '/orders?or=(title=x%27%20OR%201=1)--', 400, 'invalid-query'],
    ['user', 'GET', '/orders?phone=1', 403, 'insufficient-scope', csv],
    ['user', 'GET', '/orders/{own}/letter', 403, 'insufficient-scope'],
    ['user', 'PUT', '/orders/{own}/letter', 403, 'insufficient-scope', plain('x')],
    ['user', 'DELETE', '/orders/{own}/letter', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders/{own}/revisions/1/letter', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders?fields=letter.sha256', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders?letter[null]=true', 400, 'invalid-query'],
    ['user', 'PUT', '/orders/{own}/seal', 403, 'insufficient-scope', plain('x')],
    ['reader', 'PUT', '/orders/{own}/scan', 403, 'insufficient-scope', plain('x')],
    [null, 'GET', '/orders/{own}/scan', 401, 'credentials-missing'],
    [null, 'PUT', '/orders/{own}/scan', 401, 'credentials-missing', plain('x')],
    ['user', 'PUT', '/orders/{own}/scan', 415, 'unsupported-media-type', plain('x', { 'content-type': 'text/html' })],
    [
      'user',
      'PUT',
      '/orders/{own}/scan',
      415,
      'unsupported-media-type',
      plain('<svg/>', { 'content-type': 'image/png' }),
    ],
    ['user', 'PUT', '/orders/{own}/scan', 413, 'content-too-large', plain('x'.repeat(101))],
    ['user', 'GET', '/orders/{own}/scan/..%2f..%2fseal', 404, 'route-not-found'],
    ['user', 'GET', '/orders?fields=phone', 403, 'insufficient-scope', csv],
    ['user', 'GET', '/orders?fields=secret', 400, 'invalid-query', csv],
    ['user', 'GET', '/orders?or=(title=x;phone=1)', 403, 'insufficient-scope', csv],
    ['user', 'GET', '/orders/{own}', 406, 'not-acceptable', csv],
    ['user', 'GET', '/orders/summaries/phones', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders/summaries/prices?title=x', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders/summaries/by-title?phone[null]=false', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders/summaries/by-title?or=(title=x;phone=1)', 403, 'insufficient-scope'],
    ['user', 'GET', '/orders/summaries/by-title?secret=1', 400, 'invalid-query'],
    ['user', 'GET', '/orders/summaries/by-title?group=phone', 400, 'invalid-query'],
    ['user', 'GET', '/orders/summaries/by-title%27--', 404, 'route-not-found'],
    ['user', 'POST', '/orders', 400, 'validation-failed', text('{"title":"x","__proto__":{"isAdmin":true}}')],
    [
      'user',
      'POST',
      '/orders',
      400,
      'validation-failed',
      text('{"title":"x","constructor":{"prototype":{"isAdmin":true}}}'),
    ],
    ['user', 'POST', '/orders', 400, 'duplicate-json-key', text('{"title":"x","title":"y"}')],
  ],
  'API4 unrestricted resource consumption': [
    ['user', 'GET', '/orders?page_size=100000', 400, 'invalid-query'],
    ['user', 'GET', '/orders?limit=1000000000', 400, 'invalid-query'],
    ['user', 'GET', '/orders?limit=-1', 400, 'invalid-query'],
    ['user', 'GET', '/orders?limit=10&offset=99999999999999999999', 400, 'invalid-query'],
    ['user', 'GET', `/orders?id=in:(${Array.from({ length: 200 }, () => unknown).join(',')})`, 400, 'invalid-query'],
    ['user', 'GET', `/orders?title[like]=${'%25a'.repeat(200)}`, 400, 'invalid-query'],
    ['user', 'GET', `/orders?or=(${'title=a;'.repeat(800)})`, 400, 'invalid-query'],
    ['user', 'GET', `/orders?fields=${'title,'.repeat(1200)}`, 400, 'invalid-query'],
    ['user', 'GET', `/orders?${'x'.repeat(9000)}`, 414, 'uri-too-long'],
    ['user', 'GET', '/orders', 431, 'header-fields-too-large', { headers: { 'x-filler': 'a'.repeat(20_000) } }],
    ['user', 'POST', '/orders', 413, 'content-too-large', json({ title: 'x'.repeat(30_000) })],
    ['user', 'POST', '/orders', 400, 'malformed-json', text(deep(5000))],
    ['user', 'POST', '/orders', 400, 'validation-failed', json({ title: 'x'.repeat(201) })],
    [
      'user',
      'POST',
      '/orders',
      400,
      'validation-failed',
      json({ title: 'x', labels: Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`k${i}`, ''])) }),
    ],
    ['user', 'GET', '/orders?limit=2&cursor=AAAAAAAAAAAAAAAAAAAAAAAA', 400, 'invalid-query'],
  ],
  'API5 broken function level authorization': [
    ['reader', 'POST', '/orders', 403, 'insufficient-scope', json({ title: 'x' })],
    ['reader', 'PATCH', '/orders/{own}', 403, 'insufficient-scope', json({ title: 'x' })],
    ['user', 'DELETE', '/orders/{own}', 403, 'insufficient-scope'],
    ['user', 'DELETE', '/orders/{own}', 403, 'insufficient-scope', { headers: { 'x-http-method-override': 'GET' } }],
    ['user', 'POST', '/orders/{own}', 405, 'method-not-allowed', { headers: { 'x-http-method-override': 'DELETE' } }],
    ['user', 'GET', '/orders?_method=DELETE', 400, 'invalid-query'],
    ['user', 'POST', '/news', 403, 'insufficient-scope', json({ text: 'x' })],
    [null, 'POST', '/news', 401, 'credentials-missing', json({ text: 'x' })],
    ['user', 'GET', '/admin/orders', 404, 'route-not-found'],
    ['user', 'GET', '/ORDERS', 404, 'route-not-found'],
    ['user', 'GET', '/orders//{own}', 404, 'route-not-found'],
  ],
  'API8 security misconfiguration': [
    [null, 'PROPFIND', '/orders', 405, 'method-not-allowed'],
    [
      'user',
      'POST',
      '/orders',
      415,
      'unsupported-media-type',
      { body: 'title=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ],
    [
      'user',
      'POST',
      '/orders',
      415,
      'unsupported-media-type',
      { body: '<a/>', headers: { 'content-type': 'application/xml' } },
    ],
    ['user', 'GET', '/orders', 406, 'not-acceptable', { headers: { accept: 'text/html' } }],
    ['user', 'GET', '/orders/{own}%00', 404, 'resource-not-found'],
    ['user', 'GET', '/orders/%c0%ae%c0%ae', 400, 'invalid-url-encoding'],
    ['user', 'GET', '/%2e%2e/%2e%2e/etc/passwd', 404, 'route-not-found'],
  ],
  'API9 improper inventory management': [
    ['user', 'GET', '/v0/orders', 404, 'unknown-version'],
    ['user', 'GET', '/beta/orders', 404, 'route-not-found'],
    ['user', 'GET', '/orders.json', 404, 'route-not-found'],
    ['user', 'GET', '/debug', 404, 'route-not-found'],
    ['user', 'GET', '/metrics', 404, 'route-not-found'],
    ['user', 'GET', '/.env', 404, 'route-not-found'],
  ],
}

doors(
  'attempts',
  shop,
  (door: Door) => {
    const send = (
      who: keyof typeof holders | null,
      method: string,
      path: string,
      { headers, ...sent }: Sent = {},
    ): Promise<Answer> => door.send(method, path, { ...sent, headers: { ...(who && door.as(who)), ...headers } })
    const made = async (who: 'user' | 'other', more: object = {}): Promise<string> =>
      (await send(who, 'POST', '/orders', { json: { title: `by ${who}`, ...more } })).json.id

    for (const [risk, all] of Object.entries(attempts)) {
      for (const [who, method, path, status, type, sent] of all) {
        const named = path.length > 80 ? `${path.slice(0, 80)}…` : path
        it(`${risk}: ${who ?? 'nobody'} ${method} ${named} ${JSON.stringify(sent ?? '').slice(0, 80)}`, async () => {
          const [own, foreign] = [await made('user'), await made('other', { phone: '555-0100', price: '9.00' })]
          const before = (await send('other', 'GET', `/orders/${foreign}`)).text
          const whole = path.replaceAll('{own}', own).replaceAll('{id}', foreign)
          const answer = await send(who, method, whole, sent)
          // A standard client resolves or refuses these paths itself, so they cannot be sent through it.
          if (door.name === 'fetch' && /\.\.|%2e/i.test(path)) return assert.equal(answer.status, 404)
          assert.deepEqual([answer.status, answer.json?.type], [status, type], answer.text)
          assert.equal((await send('other', 'GET', `/orders/${foreign}`)).text, before)
          assert.doesNotMatch(answer.text, /555-0100|acc_other|acc_user|sqlite|node_modules|\.ts:\d|SELECT/)
        })
      }
    }

    it('API3: no answer holds a field that the caller may not see', async () => {
      const mine = await made('user', { secret: 'hush-hush' })
      for (const path of [`/orders/${mine}`, '/orders', '/orders?title[like]=by%25'])
        assert.doesNotMatch((await send('user', 'GET', path)).text, /hush|phone|secret/)
    })

    it('API6: an order that is repeated with the same key is created once', async () => {
      const headers = { 'idempotency-key': 'buy-once' }
      const all = await Promise.all(
        Array.from({ length: 10 }, () => send('user', 'POST', '/orders', { json: { title: 'once' }, headers })),
      )
      assert.equal(all.filter(({ status }) => status === 201).length, 1)
      assert.equal((await send('user', 'GET', '/orders?title=once')).json.data.length, 1)
    })

    it('API7: a URL that is stored is not visited', async () => {
      let visits = 0
      const trap = createServer((_, response) => {
        visits++
        response.end()
      })
      await new Promise<void>((ready) => trap.listen(0, '127.0.0.1', ready))
      try {
        const callback = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/`
        assert.equal((await send('user', 'POST', '/orders', { json: { title: 'x', callback } })).status, 201)
        for (const bad of ['file:///etc/passwd', 'gopher://127.0.0.1', 'javascript:alert(1)', '//evil.example'])
          assert.equal(
            (await send('user', 'POST', '/orders', { json: { title: 'x', callback: bad } })).status,
            400,
            bad,
          )
        await fetch(callback) // a request that the service had sent earlier would have arrived before this one
        assert.equal(visits, 1, 'only that of the test')
      } finally {
        trap.close()
      }
    })

    it('API8: answers carry their security headers and no internal detail', async () => {
      const answers = [
        await send('user', 'GET', '/orders'),
        await send(null, 'GET', '/orders'),
        await send('user', 'GET', '/nowhere'),
      ]
      for (const { headers } of answers) {
        assert.equal(headers['x-content-type-options'], 'nosniff')
        assert.match(headers['content-type'] as string, /^application\/json/)
        assert.equal(headers.server ?? headers['x-powered-by'] ?? headers['access-control-allow-origin'], undefined)
      }
      assert.match(answers[0]?.headers['cache-control'] as string, /^private/)
      assert.equal(answers[1]?.headers['cache-control'], 'no-store')
    })

    it('no refusal writes a secret to the log', async () => {
      const secret = 'bylaw_s3cr3t'
      await send(null, 'GET', `/orders?access_token=${secret}`)
      await send(null, 'GET', '/orders', {
        headers: { authorization: `Bearer ${secret}`, cookie: secret, 'idempotency-key': secret },
      })
      await send('user', 'POST', '/orders', { json: { title: secret, secret } })
      await send('user', 'POST', '/orders', {
        body: `{"title":"${secret}`,
        headers: { 'content-type': 'application/json' },
      })
      await send('user', 'GET', `/orders?title=${secret}`)
      const lines = JSON.stringify([door.errors, door.answered])
      assert.doesNotMatch(lines, /s3cr3t/)
      for (const who of Object.keys(holders)) assert.ok(!lines.includes(door.as(who).authorization?.slice(7) as string))
      assert.deepEqual(door.errors, [])
    })
  },
  { holders },
)
