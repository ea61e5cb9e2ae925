/** Part 3 of the contract: `fields`, the fields that an answer of items or lists has. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import history from '../help/history.ts'

const shop = service({
  name: 'shop',
  scopes: { costs: 'See costs' },
  settings: { methods: { query: true }, resource: { links: 'all' } },
  resources: {
    goods: {
      prefix: 'goo',
      owner: 'accountId',
      fields: {
        name: f.text({ max: 50, filter: true, sort: true }),
        cost: f.integer({ default: 0, read: 'costs', filter: 'range' }),
        pin: f.text({ optional: true, writeOnly: true }),
        size: f.object(
          { width: f.integer(), box: f.object({ depth: f.integer() }, { optional: true }) },
          { optional: true },
        ),
        parts: f.list(f.object({ code: f.text(), count: f.integer() })),
        fields: f.text({ max: 20, optional: true, filter: true }),
        metadata: f.metadata(),
      },
      access: 'authenticated',
    },
    parts: { prefix: 'par', parent: 'goods', fields: { name: f.text() }, access: 'authenticated' },
    shelves: {
      prefix: 'she',
      fields: { fields: f.text({ filter: true }) },
      access: 'public',
      settings: { list: { fields: false } },
    },
  },
})
const holders = {
  ann: { account: 'a', scopes: [] },
  boss: { account: 'a', scopes: ['costs'] },
  eve: { account: 'b', scopes: ['costs'] },
}

doors(
  'fields',
  shop,
  (door) => {
    const get = (who: string, path: string, headers = {}) =>
      door.send('GET', path, { headers: { ...door.as(who), ...headers } })
    let path = ''
    before(async () => {
      const json = {
        name: 'A',
        cost: 7,
        pin: 'secret',
        size: { width: 1, box: { depth: 2 } },
        parts: [{ code: 'x', count: 1 }],
        metadata: { k: 'v' },
      }
      const made = await door.send('POST', '/goods', { json, headers: door.as('boss') })
      path = `/goods/${made.json.id}`
      await door.send('POST', '/goods', { json: { name: 'B', parts: [] }, headers: door.as('boss') })
      await door.send('POST', `${path}/parts`, { json: { name: 'p' }, headers: door.as('boss') })
    })

    spec('R233', 'an item and a list have the selected fields, their parts, and id', async () => {
      const id = path.split('/')[2]
      const table: [fields: string, item: object][] = [
        ['name', { id, name: 'A' }],
        ['metadata,name,name', { id, name: 'A', metadata: { k: 'v' } }],
        ['size.box.depth,size.width', { id, size: { width: 1, box: { depth: 2 } } }],
        ['size.box', { id, size: { box: { depth: 2 } } }],
        ['size.box,size', { id, size: { width: 1, box: { depth: 2 } } }],
        ['parts.code', { id, parts: [{ code: 'x' }] }],
        ['fields', { id, fields: null }],
        ['id', { id }],
      ]
      for (const [fields, item] of table) {
        assert.deepEqual((await get('boss', `${path}?fields=${fields}`)).json, item, fields)
        const list = await get('boss', `/goods?fields=${fields}&sort=name`)
        assert.deepEqual(list.json.data[0], item, fields)
        assert.equal(list.json.data.length, 2)
        assert.ok(list.json.pagination)
      }
      assert.deepEqual(Object.keys((await get('boss', '/goods?fields=size.box&name=B')).json.data[0]), ['id', 'size'])
      assert.equal((await get('boss', '/goods?fields=size.box.depth&name=B')).json.data[0].size, null)
      const below = await get('boss', `${path}/parts?fields=name`)
      assert.deepEqual(Object.keys(below.json.data[0]), ['id', 'name'])
      const form = { 'content-type': 'application/x-www-form-urlencoded', ...door.as('boss') }
      const query = await door.send('QUERY', '/goods', { body: 'fields=name&name=A', headers: form })
      assert.deepEqual(query.json.data, [{ id, name: 'A' }])
      const head = await door.send('HEAD', `${path}?fields=name`, { headers: door.as('boss') })
      assert.equal(head.headers.etag, (await get('boss', `${path}?fields=name`)).headers.etag)
    })

    spec('R233 R121', 'each selection has a tag of its own, which is one of the state for writes', async () => {
      const [whole, name, same, size] = await Promise.all(
        ['', '?fields=name,size', '?fields=size,name,name', '?fields=size'].map((query) => get('boss', path + query)),
      )
      const tags = [whole, name, size].map((one) => one?.headers.etag)
      assert.equal(new Set(tags).size, 3)
      assert.equal(same?.headers.etag, name?.headers.etag)
      const [, tag] = tags as string[]
      assert.equal((await get('boss', `${path}?fields=size,name`, { 'if-none-match': tag })).status, 304)
      assert.equal((await get('boss', path, { 'if-none-match': tag })).status, 200)
      assert.equal((await get('boss', `${path}?fields=size`, { 'if-none-match': tag })).status, 200)
      const list = await get('boss', '/goods?fields=name')
      assert.notEqual(list.headers.etag, (await get('boss', '/goods')).headers.etag)
      assert.equal((await get('boss', '/goods?fields=name', { 'if-none-match': list.headers.etag })).status, 304)
      const change = (etag: string) =>
        door.send('PATCH', path, { json: { name: 'A' }, headers: { ...door.as('boss'), 'if-match': etag } })
      assert.equal((await change(tag as string)).status, 200)
      const other = { json: { size: { width: 1, box: { depth: 2 } }, fields: 'f' }, headers: door.as('boss') }
      await door.send('PATCH', path, other)
      assert.equal((await change(tag as string)).status, 412)
      assert.equal((await get('boss', `${path}?fields=size,name`, { 'if-none-match': tag })).status, 200)
      await door.send('PATCH', path, { json: { fields: null }, headers: door.as('boss') })
    })

    spec('R233 R83 R86', 'pages keep the selection, and a cursor belongs to it', async () => {
      const first = await get('boss', '/goods?fields=name&cursor=&limit=1')
      assert.match(first.headers.link ?? '', /<\/goods\?fields=name&limit=1&cursor=[\w-]+>; rel="next"/)
      const { nextCursor } = first.json.pagination
      const next = await get('boss', `/goods?fields=name&limit=1&cursor=${nextCursor}`)
      assert.deepEqual(Object.keys(next.json.data[0]), ['id', 'name'])
      for (const other of ['', '&fields=size', '&fields=name,size'])
        assert.equal((await get('boss', `/goods?limit=1&cursor=${nextCursor}${other}`)).json.type, 'invalid-query')
    })

    spec('R233 R154', 'unknown and write-only fields are refused, with what is allowed', async () => {
      for (const at of [path, '/goods', `${path}/parts`]) {
        for (const [fields, type] of [
          ['nmae', 'unsupported-field'],
          ['pin', 'unsupported-field'],
          ['name.x', 'unsupported-field'],
          ['_links', 'unsupported-field'],
          ['constructor', 'unsupported-field'],
          ['size.__proto__', 'unsupported-field'],
          ['', 'invalid-parameter-value'],
          ['name,', 'invalid-parameter-value'],
          ['name,,id', 'invalid-parameter-value'],
        ] as const) {
          const { status, json } = await get('boss', `${at}?fields=${fields}`)
          const [violation] = json.errors
          assert.deepEqual([status, violation.type, violation.name], [400, type, 'fields'], `${at} ${fields}`)
        }
        assert.equal((await get('boss', `${at}?fields=id&fields=id`)).json.errors[0].type, 'repeated-parameter')
      }
      assert.match(
        (await get('boss', `${path}?fields=nmae`)).json.errors[0].message,
        /^`nmae` is not a field of goods\. Did you mean name\? Fields: id, accountId|^`nmae` is not a field of goods\. Did you mean name\? Fields: id, name, cost, size, size\.width/,
      )
      for (const method of ['PATCH', 'DELETE', 'PUT'])
        assert.equal(
          (await door.send(method, `${path}?fields=name`, { json: {}, headers: door.as('boss') })).status,
          400,
        )
    })

    spec('R233 R169', 'a caller cannot select a field that it may not read, nor learn one by selecting', async () => {
      for (const at of [path, '/goods', `/goods?name=A`]) {
        const more = at.includes('?') ? '&' : '?'
        const refused = await get('ann', `${at}${more}fields=name,cost`)
        assert.deepEqual([refused.status, refused.json.type, refused.json.name], [403, 'insufficient-scope', 'fields'])
        assert.match(refused.json.message, / cost /)
        assert.equal((await door.send('GET', `${at}${more}fields=cost`)).status, 401)
        assert.equal((await get('ann', `${at}${more}fields=name`)).status, 200)
      }
      assert.equal((await get('boss', `${path}?fields=cost`)).json.cost, 7)
      assert.equal((await get('eve', `${path}?fields=name`)).status, 404)
      assert.deepEqual((await get('eve', '/goods?fields=name')).json.data, [])
    })

    spec(
      'R233 R55',
      'without `list.fields` it is no parameter; a field of that name is filtered with [eq]',
      async () => {
        const { json } = await door.send('POST', '/shelves', { json: { fields: 'f' } })
        for (const at of ['/shelves', `/shelves/${json.id}`]) {
          const refused = await door.send('GET', `${at}?fields=fields`)
          assert.deepEqual([refused.status, refused.json.errors[0].type], [400, 'unknown-parameter'])
        }
        assert.equal((await door.send('GET', '/shelves?fields[eq]=f')).json.data.length, 1)
        assert.equal((await get('boss', '/goods?fields=name&fields[eq]=f')).json.data.length, 0)
      },
    )
  },
  { holders },
)

doors('fields in older versions', history, (door) => {
  spec('R233 R196', 'each version selects its own fields', async () => {
    const account = await door.send('POST', '/v4/accounts', { json: { country: 'IT' } })
    const json = { name: 'Ann Lee', email: 'ann@example.com', accountId: account.json.id }
    const { id } = (await door.send('POST', '/v4/customers', { json })).json
    for (const [at, fields, item] of [
      [
        '/v1/clients',
        'lastName,mail,country,status',
        { mail: json.email, status: 'open', country: 'IT', lastName: 'Lee' },
      ],
      ['/v2/customers', 'name,country', { name: 'Ann Lee', country: 'IT' }],
      ['/v4/customers', 'name,email', { name: 'Ann Lee', email: json.email }],
    ] as const) {
      assert.deepEqual((await door.send('GET', `${at}/${id}?fields=${fields}`)).json, { id, ...item })
      assert.deepEqual((await door.send('GET', `${at}?fields=${fields}`)).json.data, [{ id, ...item }])
    }
    for (const at of ['/v1/clients', `/v1/clients/${id}`, '/v4/customers'])
      for (const field of at.startsWith('/v1') ? ['name', 'email'] : ['mail', 'country'])
        assert.equal((await door.send('GET', `${at}?fields=${field}`)).json.errors[0].type, 'unsupported-field')
  })
})
