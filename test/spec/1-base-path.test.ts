/** Contract section 1: a service below a base path, which all its URLs carry. */
import assert from 'node:assert/strict'
import { f, type Service, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const audience = 'https://api.example.com/api'
const metadata = '/.well-known/oauth-protected-resource/api'

const shop = service({
  name: 'shop',
  versions: {
    v1: { released: '2025-01-01', deprecated: '2026-01-01' },
    v2: { released: '2026-01-01' },
  },
  events: true,
  resources: {
    orders: {
      prefix: 'ord',
      fields: { total: f.integer({ sort: true, filter: true }) },
      states: { field: 'status', initial: 'open', transitions: { closings: { from: ['open'], to: 'closed' } } },
      access: 'public',
      settings: { list: { links: 'both' } },
    },
    notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' },
    lines: {
      prefix: 'lin',
      fields: { order: f.ref('orders') },
      access: 'public',
      settings: { resource: { links: 'all' } },
    },
  },
  settings: {
    server: { basePath: '/shop/api' },
    path: { trailingSlash: 'redirect' },
    auth: { tokens: { issuer: 'https://login.example.com/', audience, jwks: 'https://login.example.com/keys' } },
    batches: 5,
  },
})
  .change('v2', 'orders', { about: '`total` was `sum`.', renamed: { sum: 'total' } })
  .change('v2', 'notes', {
    about: '`words` is gone.',
    removed: { words: f.integer() },
    request: () => ({}),
    response: ({ text }) => {
      if (text === 'broken') throw new Error('There is no count.')
      return { words: text.split(' ').length }
    },
  }) as unknown as Service

const created = async (door: Door, path = '/shop/api/orders', json: object = { sum: 1 }) => {
  const answer = await door.send('POST', path, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer
}

/** The targets of a header `Link` by relation. */
const linked = (header = ''): Record<string, string> =>
  Object.fromEntries([...header.matchAll(/<([^>]*)>; rel="([^"]*)"/g)].map(([, url, rel]) => [rel, url]))

doors('below a base path', shop, (door) => {
  spec('R4, R49', 'locations and links of items begin with the base path, before the version', async () => {
    for (const [named, json] of [
      ['', { sum: 1 }],
      ['/v1', { sum: 1 }],
      ['/v2', { total: 1 }],
    ] as const) {
      const { headers, json: order } = await created(door, `/shop/api${named}/orders`, json)
      const path = `/shop/api${named}/orders/${order.id}`
      assert.equal(headers.location, path)
      assert.equal(order._links.self, path)
      assert.equal(order._links.closings, `${path}/closings`)
      assert.equal((await door.send('GET', path)).status, 200)
      const closed = await door.send('POST', `${path}/closings`)
      assert.deepEqual([closed.status, closed.headers['content-location']], [200, path])
      const line = await created(door, `/shop/api${named}/lines`, { order: order.id })
      assert.equal(line.json._links.order, path)
    }
  })

  spec('R86', 'links between pages begin with it, and lead on', async () => {
    for (let i = 0; i < 3; i++) await created(door)
    for (const asked of ['/shop/api/orders?cursor=&limit=1', '/shop/api/v2/orders?page_size=1']) {
      const { headers, json } = await door.send('GET', asked)
      const { next = '' } = linked(headers.link)
      assert.ok(next.startsWith(`${asked.split('?')[0]}?`), `${asked}: ${headers.link}`)
      if (json._links) assert.equal(json._links.next, next)
      const second = await door.send('GET', next)
      assert.equal(second.status, 200, second.text)
      assert.notEqual(second.json.data[0].id, json.data[0].id)
    }
  })

  spec('R86', 'links around an item that cannot be shown begin with it', async () => {
    for (const text of ['one', 'broken', 'two']) await created(door, '/shop/api/v2/notes', { text })
    const { status, headers } = await door.send('GET', '/shop/api/v1/notes?limit=3')
    assert.equal(status, 500)
    const { next = '', prev = '' } = linked(headers.link)
    for (const url of [next, prev]) {
      assert.match(url, /^\/shop\/api\/v1\/notes\?/)
      assert.equal((await door.send('GET', url)).status, 200)
    }
  })

  spec('R201', 'the successor of a deprecated version is below it', async () => {
    const { headers } = await door.send('GET', '/shop/api/v1/orders')
    assert.equal(linked(headers.link)['successor-version'], '/shop/api/v2/orders')
  })

  spec('R7', 'a redirect leads below it', async () => {
    const { status, headers } = await door.send('GET', '/shop/api/v2/orders/?limit=1')
    assert.deepEqual([status, headers.location], [308, '/shop/api/v2/orders?limit=1'])
  })

  spec('R5', 'paths outside of it are not found, and are answered as any error', async () => {
    for (const path of [
      '/',
      '/orders',
      '/shop',
      '/shop/apis/orders',
      '/healthz',
      '/openapi.json',
      '/shop/api%2Forders',
      '/SHOP/api/orders',
    ]) {
      const { status, json, headers } = await door.send('GET', path)
      assert.deepEqual([status, json?.type], [404, 'route-not-found'], path)
      assert.match(json.message, /begin with \/shop\/api/)
      assert.ok(headers['request-id'])
    }
    assert.equal((await door.send('GET', '/shop/api/orders%2F')).json.type, 'route-not-found')
    assert.equal((await door.send('OPTIONS', '/shop/api/orders')).status, 204)
  })

  spec(
    'R197, R214',
    'health, descriptions, the catalog and the root are below it, and so are their links',
    async () => {
      for (const path of [
        '/shop/api/healthz',
        '/shop/api/readyz',
        '/shop/api/openapi.json',
        '/shop/api/openapi/v1.json',
      ])
        assert.equal((await door.send('GET', path)).status, 200, path)
      for (const root of ['/shop/api', '/shop/api/', '/shop/api?']) {
        const { status, json, headers } = await door.send('GET', root)
        assert.equal(status, 200, root)
        assert.deepEqual(json._links, {
          self: '/shop/api',
          'service-desc': '/shop/api/openapi.json',
          'api-catalog': '/shop/api/.well-known/api-catalog',
        })
        assert.equal(linked(headers.link)['service-desc'], '/shop/api/openapi.json')
      }
      const { json: catalog } = await door.send('GET', '/shop/api/.well-known/api-catalog')
      const hrefs = [...JSON.stringify(catalog).matchAll(/"(?:href|anchor)":"([^"]*)"/g)].map(([, url]) => url)
      assert.ok(hrefs.length > 3)
      for (const url of hrefs) assert.match(url as string, /^\/shop\/api/)
    },
  )

  spec('R214', 'the servers of the description are below it', async () => {
    const { json } = await door.send('GET', '/shop/api/openapi.json')
    assert.deepEqual(
      json.servers.map(({ url }: { url: string }) => url),
      ['/shop/api/v2'],
    )
    assert.ok(json.paths['/orders'])
    const first = await door.send('GET', '/shop/api/openapi/v1.json')
    assert.deepEqual(
      first.json.servers.map(({ url }: { url: string }) => url),
      ['/shop/api/v1', '/shop/api'],
    )
  })

  spec('R158', 'the pages for people and the types of problems are below it', async () => {
    const problem = await door.send('GET', '/shop/api/orders/ord_1', {
      headers: { accept: 'application/problem+json' },
    })
    const type = problem.json.type
    assert.match(type, /^\/shop\/api\/problems\/[a-z-]+$/)
    for (const path of [type, '/shop/api/problems', '/shop/api/docs', '/shop/api/docs/v1']) {
      const { status, text } = await door.send('GET', path)
      assert.equal(status, 200, path)
      for (const [, href] of text.matchAll(/ href="(\/[^"#]*)/g)) {
        assert.ok(href?.startsWith('/shop/api/'), `${path}: ${href}`)
        assert.equal((await door.send('GET', `${href}`)).status, 200)
      }
    }
    const { text } = await door.send('GET', '/shop/api/docs')
    assert.match(text, /api\.example\.com<\/b>\/shop\/api\/v2\/orders/)
    const browser = await door.send('GET', '/shop/api', { headers: { accept: 'text/html' } })
    assert.match(browser.headers['content-type'] as string, /^text\/html/)
  })

  spec('R171', 'the metadata of the authorization server keep their own path', async () => {
    const { status, json } = await door.send('GET', metadata)
    assert.deepEqual([status, json?.resource], [200, audience])
  })

  spec('R98', 'a repeated key is answered with a path below it', async () => {
    const headers = { 'idempotency-key': 'base-path-1' }
    const first = await door.send('POST', '/shop/api/orders', { json: { sum: 2 }, headers })
    const again = await door.send('POST', '/shop/api/orders', { json: { sum: 2 }, headers })
    assert.equal(again.status, 409)
    assert.equal(linked(again.headers.link).related, first.headers.location)
  })

  spec('R236', 'the paths of operations in a batch are those of the description', async () => {
    const member = { method: 'POST', path: '/orders', body: { total: 3 } }
    const { status, json } = await door.send('POST', '/shop/api/v2/batches', {
      json: { operations: [member] },
      mismatch: 'the bodies of members are described by their own operations',
    })
    assert.equal(status, 200, JSON.stringify(json))
    assert.match(JSON.stringify(json), /"\/shop\/api\/v2\/orders\/ord_/)
  })
})

const needsVersion = (carriers: readonly ('path' | 'query' | 'header')[]): Service =>
  service({
    name: 'shop',
    versions: { v1: { released: '2025-01-01' } },
    resources: { orders: { prefix: 'ord', fields: { total: f.integer() }, access: 'public' } },
    settings: { server: { basePath: '/shop/api' }, versions: { default: 'required', carriers } },
  }) as unknown as Service

doors('below a base path where each request names a version', needsVersion(['path', 'query', 'header']), (door) => {
  spec('R191 R192', 'the refusal and the description name the version with the base path', async () => {
    const { status, json } = await door.send('GET', '/shop/api/orders')
    assert.deepEqual([status, json.type], [400, 'version-required'])
    const ways = 'the path (`/shop/api/v1/…`), the query (`?version=v1`)'
    assert.equal(json.message, `Name a version, by ${ways} or a header (\`version: v1\`). Supported: v1.`)
    const { info } = (await door.send('GET', '/shop/api/openapi.json')).json
    assert.ok(info.description.includes(ways), info.description)
    assert.equal((await door.send('GET', '/shop/api/v1/orders')).status, 200)
  })
})

doors('where only a header names the version', needsVersion(['header']), (door) => {
  spec('R191 R192', 'the refusal names no path', async () => {
    const { json } = await door.send('GET', '/shop/api/orders')
    assert.equal(json.message, 'Name a version, by a header (`version: v1`). Supported: v1.')
  })
})
