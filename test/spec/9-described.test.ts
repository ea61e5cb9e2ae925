/** Part 9, versioning, and contract section 13: the description of each version: its URL and its content. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import type { Service } from '../../src/service.ts'
import { doors, spec } from '../help/door.ts'

const described = () =>
  service({
    name: 'described',
    scopes: { 'orders:write': 'Change orders' },
    tiers: { free: { hourly: 1000 } },
    resources: {
      orders: {
        prefix: 'ord',
        fields: {
          note: f.text({ optional: true, max: 50, pattern: '^[a-z]*$', filter: 'like' }),
          total: f.decimal({ scale: 2, filter: 'range', sort: true }),
          state: f.enum(['new', 'paid'], { default: 'new', filter: true }),
          secret: f.text({ writeOnly: true, optional: true }),
          order: f.integer({ min: 1, max: 9, filter: true }),
        },
        access: { read: 'public', write: 'orders:write' },
        settings: { idempotency: { retention: 'P30D' }, list: { maxPageSize: 50 } },
        deprecations: { replace: { deprecated: '2026-01-01', sunset: '2027-01-01', successor: '/lines' } },
      },
      lines: { parent: 'orders', fields: { qty: f.integer() }, access: 'public' },
    },
    settings: { auth: { apiKeyHeader: 'X-Key' }, methods: { query: true } },
  })

// biome-ignore lint/suspicious/noExplicitAny: documents are read as far as a test looks
type Any = any

const operationsOf = (document: Any): Any[] =>
  Object.values(document.paths).flatMap((item) => Object.values(item as object).filter((one) => one.operationId))

doors('description', described() as Service, (door) => {
  spec('R214', 'each version has an OpenAPI document that the root and the catalog lead to', async () => {
    const root = await door.send('GET', '/')
    assert.equal(root.status, 200)
    assert.match(root.headers.link ?? '', /<\/openapi\.json>; rel="service-desc"/)
    assert.equal(root.json._links['service-desc'], '/openapi.json')
    for (const path of ['/openapi.json', '/openapi/v1.json', '/openapi.json?version=v9']) {
      const { status, headers, json } = await door.send('GET', path, { headers: { version: 'v9' } })
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(headers.version, undefined)
      assert.equal(json.openapi, '3.1.1')
      assert.deepEqual([json.info.title, json.info.version], ['described', '1.0.0'])
    }
    const catalog = await door.send('GET', '/.well-known/api-catalog')
    assert.match(catalog.headers['content-type'] ?? '', /^application\/linkset\+json/)
    assert.deepEqual(JSON.parse(catalog.text).linkset[1], {
      anchor: '/v1',
      'service-desc': [{ href: '/openapi/v1.json', type: 'application/json' }],
    })
  })

  spec('R218', 'the document has a strong tag, and a client that has it gets 304', async () => {
    const first = await door.send('GET', '/openapi.json')
    assert.match(first.headers.etag ?? '', /^"[^"]+"$/)
    assert.equal(first.headers['cache-control'], 'no-cache')
    const again = await door.send('GET', '/openapi.json', {
      headers: { 'if-none-match': first.headers.etag as string },
    })
    assert.deepEqual([again.status, again.text], [304, ''])
    const head = await door.send('HEAD', '/openapi.json')
    assert.deepEqual([head.status, head.headers.etag, head.text], [200, first.headers.etag, ''])
    const coded = await door.send('GET', '/openapi.json', { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(coded.headers['content-encoding'], 'gzip')
    assert.deepEqual(coded.json, first.json)
    const options = await door.send('OPTIONS', '/openapi/v1.json')
    assert.deepEqual([options.status, options.headers.allow], [204, 'GET, HEAD, OPTIONS'])
    assert.equal((await door.send('DELETE', '/openapi.json')).status, 405)
    const other = await door.send('GET', '/openapi/v7.json')
    assert.deepEqual([other.status, other.json.type], [404, 'unknown-version'])
    assert.equal((await door.send('GET', '/openapi/v1.yaml')).json.type, 'route-not-found')
  })

  spec('R216', 'operations have stable names', async () => {
    const { json } = await door.send('GET', '/openapi.json')
    const ids = operationsOf(json).map(({ operationId }) => operationId)
    const item = ['get', 'replace', 'update', 'delete']
    const expected = [
      ...['list', 'create', ...item].map((name) => `orders.${name}`),
      ...['orders.lines.list', 'orders.lines.create', 'lines.list'],
      ...item.map((name) => `lines.${name}`),
    ]
    assert.deepEqual(ids.toSorted(), expected.toSorted())
  })

  spec('R216', 'each form of a filter is a parameter of its literal name', async () => {
    const { json } = await door.send('GET', '/openapi.json')
    const shared = (one: Any): Any => (one.$ref ? json.components.parameters[one.$ref.split('/').at(-1)] : one)
    const parameters: Any[] = json.paths['/orders'].get.parameters.map(shared)
    const names = parameters.flatMap(({ name }) => name ?? [])
    for (const name of [
      'note',
      'note[eq]',
      'note[like]',
      'note[null]',
      'total[gte]',
      'total[lte]',
      'order[eq]',
      'sort',
    ])
      assert.ok(names.includes(name), name)
    for (const name of ['order', 'limit', 'cursor']) assert.equal(names.filter((one) => one === name).length, 1, name)
    const [value, set] = parameters.find(({ name }) => name === 'state').schema.anyOf
    assert.deepEqual(value.enum, ['new', 'paid'])
    for (const text of ['in:()', 'in:(new)', 'in:( new, "paid" )']) assert.match(text, new RegExp(set.pattern, 'u'))
    for (const text of ['in:(old)', 'in:(new', 'in:(new,)', 'new'])
      assert.doesNotMatch(text, new RegExp(set.pattern, 'u'))
    assert.deepEqual(parameters.find(({ name }) => name === 'order[null]').schema, { type: 'boolean' })
    assert.equal(parameters.find(({ name }) => name === 'page_size').schema.maximum, 50)
  })

  spec('R216', 'all errors share a schema, and a repeated key has its own', async () => {
    const { schemas } = (await door.send('GET', '/openapi.json')).json.components
    assert.deepEqual(schemas.Error.properties.cause, { $ref: '#/components/schemas/Error' })
    assert.deepEqual(schemas.Error.required, ['message', 'type', 'types'])
    assert.deepEqual(schemas.IdempotencyConflict.required, ['message', 'old_id'])
  })

  spec('R217', 'bounds, defaults, read-only and write-only come from the declaration', async () => {
    const { schemas } = (await door.send('GET', '/openapi.json')).json.components
    const { Order: item, OrderCreate: create, OrderUpdate: update } = schemas
    assert.deepEqual(create.properties.note, { type: ['string', 'null'], maxLength: 50, pattern: '^[a-z]*$' })
    assert.deepEqual([create.properties.order.minimum, create.properties.order.maximum], [1, 9])
    assert.deepEqual(create.properties.state, { type: 'string', enum: ['new', 'paid'], default: 'new' })
    assert.deepEqual(create.required, ['total', 'order'])
    assert.equal(create.additionalProperties, false)
    assert.equal(create.properties.createdAt, undefined)
    assert.equal(update.required, undefined)
    assert.equal(item.properties.secret, undefined)
    assert.equal(create.properties.secret.writeOnly, true)
    assert.equal(item.properties.createdAt.readOnly, true)
    assert.deepEqual(
      [item.properties.createdAt.$ref, schemas.Timestamp.format],
      ['#/components/schemas/Timestamp', 'date-time'],
    )
    assert.ok(item.required.includes('note'))
  })

  spec('R217', 'access, retention of keys and deprecations come from the declaration', async () => {
    const { json } = await door.send('GET', '/openapi.json')
    const { get, post } = json.paths['/orders']
    assert.deepEqual([json.security, get.security], [[], undefined])
    assert.deepEqual(post.security, [{ apiKey: ['orders:write'] }, { apiKeyHeader: ['orders:write'] }])
    assert.equal(json.components.securitySchemes.apiKeyHeader.name, 'X-Key')
    assert.match(json.components.parameters.IdempotencyKey.description, /2592000 seconds/)
    assert.match(json.info.description, /1000 requests in 3600 seconds/)
    assert.match(json.info.description, /1048576 bytes of content/)
    assert.equal(post.requestBody.description, undefined)
    const { put, patch } = json.paths['/orders/{id}']
    assert.deepEqual([put.deprecated, put['x-deprecation'].sunset, patch.deprecated], [true, '2027-01-01', undefined])
  })
})

const closed = service({
  name: 'closed',
  resources: { notes: { fields: { text: f.text() }, access: 'public' } },
  settings: { openapi: { public: 'off', version: '3.2' }, methods: { query: true } },
})

doors(
  'a description that is not public',
  closed,
  (door) => {
    spec('R218', 'only authenticated callers can read it', async () => {
      const unknown = await door.send('GET', '/openapi.json')
      assert.equal(unknown.status, 401)
      assert.match(unknown.headers['www-authenticate'] ?? '', /^Bearer /)
      assert.equal((await door.send('GET', '/openapi/v9.json')).status, 401)
      const known = await door.send('GET', '/openapi.json', { headers: door.as('ann') })
      assert.equal(known.status, 200)
      assert.equal(known.headers['cache-control'], 'private, no-cache')
      assert.match(known.headers.vary ?? '', /Authorization/)
      assert.equal((await door.send('GET', '/')).status, 200)
    })

    spec('R15 R214', 'OpenAPI 3.2 knows the method QUERY', async () => {
      const { json } = await door.send('GET', '/openapi.json', { headers: door.as('ann') })
      assert.equal(json.openapi, '3.2.0')
      const { query } = json.paths['/notes']
      assert.equal(query.operationId, 'notes.query')
      const { schema } = query.requestBody.content['application/x-www-form-urlencoded']
      assert.deepEqual(schema.properties.order, { type: 'string', enum: ['asc', 'desc'] })
    })
  },
  { holders: { ann: {} } },
)

const retired = service({
  name: 'retired',
  versions: {
    v1: { released: '2025-01-15', retired: 'Nobody used it.' },
    v2: { released: '2025-06-01', deprecated: '2026-01-01', guide: 'https://docs.example.com/v3' },
    v3: { released: '2026-01-01' },
  },
  errors: { 'note-locked': { status: 409, parents: ['conflict'] } },
  resources: {
    notes: {
      fields: { text: f.text({ max: 20, filter: true }) },
      access: 'public',
      methods: ['list', 'read', 'create'],
    },
  },
  settings: { versions: { carriers: ['header', 'query'] } },
})
  .change('v3', 'notes', {
    about: '`text` was called `body`.',
    renamed: { body: 'text' },
    methods: { added: ['read'] },
    errors: { 'note-closed': 'note-locked' },
  })
  .change('v2', 'notes', { about: 'Notes were called memos.', was: 'memos' })

doors('descriptions of versions', retired, (door) => {
  spec('R204 R214', 'a retired version has no description any more', async () => {
    const gone = await door.send('GET', '/openapi/v1.json')
    assert.deepEqual([gone.status, gone.json.type], [410, 'version-retired'])
    assert.equal((await door.send('GET', '/openapi.json')).json.info.version, '3.0.0')
  })

  spec('R187 R202', 'an older version is described in its own names, with its deprecation', async () => {
    const [old, now] = [await door.send('GET', '/openapi/v2.json'), await door.send('GET', '/openapi/v3.json')]
    assert.deepEqual(Object.keys(old.json.components.schemas.Note.properties), ['id', 'body', 'createdAt', 'updatedAt'])
    assert.deepEqual(Object.keys(now.json.components.schemas.Note.properties), ['id', 'text', 'createdAt', 'updatedAt'])
    assert.deepEqual(Object.keys(old.json.paths), ['/notes'])
    assert.deepEqual(Object.keys(now.json.paths), ['/notes', '/notes/{id}'])
    const conflict = ({ json }: typeof old) =>
      JSON.stringify(json.components.responses[json.paths['/notes'].post.responses[409].$ref.split('/').at(-1)])
    assert.match(conflict(old), /"note-closed"/)
    assert.match(conflict(now), /"note-locked"/)
    assert.deepEqual(
      [old.json.paths['/notes'].get.deprecated, now.json.paths['/notes'].get.deprecated],
      [true, undefined],
    )
    assert.match(old.json.info.description, /To be left from 2026-01-01 on\. How to move: https:/)
  })

  spec('R188 R214', 'a description says how its version is named', async () => {
    const [old, now] = [await door.send('GET', '/openapi/v2.json'), await door.send('GET', '/openapi/v3.json')]
    assert.deepEqual(
      old.json.servers.map(({ url }: { url: string }) => url),
      ['/'],
    )
    const version = ({ json }: typeof old) => json.components.parameters.Version
    assert.deepEqual([version(old).required, version(old).schema], [undefined, { type: 'string', const: 'v2' }])
    assert.deepEqual([version(now).required, version(now).schema], [true, { type: 'string', const: 'v3' }])
  })
})

const ended = service({
  name: 'ended',
  versions: { v1: { released: '2025-01-15', deprecated: '2026-01-01', sunset: '2027-01-01' } },
  resources: { notes: { fields: { text: f.text() }, access: 'public' } },
  settings: { versions: { enforceSunset: 'on' } },
})
let clock = Date.parse('2026-12-31T00:00:00Z')

doors(
  'the description of a version that ends',
  ended,
  (door) => {
    spec('R203 R214', 'it ends with its version', async () => {
      assert.equal((await door.send('GET', '/openapi.json')).status, 200)
      clock = Date.parse('2027-01-02T00:00:00Z')
      for (const path of ['/openapi.json', '/openapi/v1.json']) {
        const { status, json } = await door.send('GET', path)
        assert.deepEqual([status, json.type], [410, 'version-retired'])
      }
      clock = Date.parse('2026-12-31T00:00:00Z')
    })
  },
  { now: () => clock },
)
