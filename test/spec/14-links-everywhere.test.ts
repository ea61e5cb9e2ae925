/** Links together with other features: naming, QUERY, older versions, hidden fields, cached lists, and every answer with an item. R49, R224. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const transitions = {
  placements: { from: ['draft'], to: 'placed' },
  priorityShipments: { from: ['placed'], to: 'shipped' },
} as const
const named = { placements: transitions.placements, 'priority-shipments': transitions.priorityShipments } as const
const states = { field: 'status', initial: 'draft', transitions: named } as const

const snake = service({
  name: 'shop',
  settings: { naming: 'snake', resource: { links: 'all' }, methods: { query: true } },
  resources: {
    'big-customers': { prefix: 'cus', fields: { name: f.text() }, access: 'public' },
    orders: {
      prefix: 'ord',
      fields: { big_customer_id: f.ref('big-customers', { optional: true }), total: f.integer({ filter: 'range' }) },
      states,
      access: 'public',
    },
    'order-lines': {
      parent: 'orders',
      key: 'sku',
      fields: { sku: f.text({ max: 20 }) },
      access: 'public',
    },
  },
})

doors('links in snake naming', snake, (door: Door) => {
  spec('R49 R15', 'have names in that case, and QUERY gives the same as GET', async () => {
    const customer = (await door.send('POST', '/big-customers', { json: { name: 'Ann' } })).json.id
    const made = await door.send('POST', '/orders', { json: { big_customer_id: customer, total: 7 } })
    const self = `/orders/${made.json.id}`
    const around = { self, big_customer: `/big-customers/${customer}`, order_lines: `${self}/order-lines` }
    assert.deepEqual(made.json._links, { ...around, placements: `${self}/placements` })
    const placed = await door.send('POST', `${self}/placements`)
    assert.deepEqual(placed.json._links, { ...around, priority_shipments: `${self}/priority-shipments` })
    const body = 'total[gte]=7&page_size=5'
    const [query, get] = [
      await door.send('QUERY', '/orders', { body, headers: form }),
      await door.send('GET', `/orders?${body}`),
    ]
    assert.deepEqual([query.json, query.json.data], [get.json, [placed.json]])
    await door.send('POST', `${self}/order-lines`, { json: { sku: 'a/b' } })
    const [line] = (await door.send('GET', `${self}/order-lines`)).json.data
    assert.deepEqual(line._links, { self: `${self}/order-lines/a%2Fb`, order: self })
  })
})

/** Texts that contain what the service looks for in a stored item. */
const traps = ['"status":"placed"', '\\"status\\":\\"placed', ',\n{"id":"x"}', '"},"createdAt":"', '"_links":{}']

const versioned = service({
  name: 'shop',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  resources: {
    shelves: { prefix: 'shf', fields: { room: f.text({ optional: true }) }, access: 'public' },
    books: {
      prefix: 'bok',
      fields: { title: f.text({ max: 100 }), shelfId: f.ref('shelves', { optional: true }) },
      states,
      access: 'public',
    },
  },
}).change('v2', 'books', {
  about: 'The room is that of the shelf.',
  moved: { room: { by: 'shelfId', to: 'room' } },
})

doors('links in versions with moved fields', versioned, (door: Door) => {
  spec('R49 R196', 'follow the state of each row, whatever its texts contain', async () => {
    const shelfId = (await door.send('POST', '/v2/shelves', { json: { room: traps[0] } })).json.id
    const ids: string[] = []
    for (const [i, title] of [...traps, 'plain'].entries()) {
      const sent = { json: { title, shelfId: i % 2 === 0 ? shelfId : null } }
      ids.push((await door.send('POST', '/v2/books', sent)).json.id)
    }
    for (const id of [ids[0], ids[3]]) await door.send('POST', `/v1/books/${id}/placements`)
    for (const version of ['v1', 'v2']) {
      const { data } = (await door.send('GET', `/${version}/books?page_size=10`)).json
      assert.equal(data.length, ids.length)
      for (const one of data) {
        const self = `/${version}/books/${one.id}`
        const placed = [ids[0], ids[3]].includes(one.id)
        const action = placed ? 'priority-shipments' : 'placements'
        const name = placed ? 'priorityShipments' : 'placements'
        assert.deepEqual([one.status, one._links], [placed ? 'placed' : 'draft', { self, [name]: `${self}/${action}` }])
        assert.deepEqual((await door.send('GET', self)).json, one)
      }
    }
    const [one] = (await door.send('GET', '/v1/books?page_size=1')).json.data
    assert.ok('room' in one)
  })
})

const scopes = { 'orders:read': 'Read', 'orders:write': 'Write', 'orders:secret': 'Read secrets' }
const scoped = service({
  name: 'shop',
  scopes,
  settings: { resource: { links: 'all' } },
  resources: {
    customers: { prefix: 'cus', fields: { name: f.text() }, access: 'orders:read' },
    orders: {
      prefix: 'ord',
      fields: {
        note: f.text({ optional: true }),
        secret: f.text({ optional: true, read: 'orders:secret' }),
        agentId: f.ref('customers', { optional: true, read: 'orders:secret' }),
      },
      states,
      access: { read: 'orders:read', write: 'orders:write' },
    },
  },
})
const holders = {
  clerk: { scopes: Object.keys(scopes) },
  writer: { scopes: ['orders:read', 'orders:write'] },
  reader: { scopes: ['orders:read'] },
  auditor: { scopes: ['orders:read', 'orders:secret'] },
}

doors(
  'links for callers of one list',
  scoped,
  (door: Door) => {
    const send = (method: string, path: string, who: string, json?: object, headers = {}): Promise<Answer> =>
      door.send(method, path, { ...(json && { json }), headers: { ...door.as(who), ...headers } })
    const draft = async () => {
      const agentId = (await door.send('POST', '/customers', { json: { name: 'Ann' }, headers: door.as('reader') }))
        .json.id
      const made = await send('POST', '/orders', 'clerk', { note: 'a', agentId })
      assert.equal(made.status, 201, made.text)
      return made.json.id as string
    }

    spec('R224 R169', 'are each caller’s own, also from the cache, and hidden fields give none', async () => {
      const id = await draft()
      const self = `/orders/${id}`
      const expected: Record<string, object> = {}
      for (const who of Object.keys(holders)) expected[who] = (await send('GET', self, who)).json._links
      assert.deepEqual(Object.keys(expected.writer ?? {}), ['self', 'placements'])
      assert.deepEqual(Object.keys(expected.reader ?? {}), ['self'])
      assert.deepEqual(Object.keys(expected.auditor ?? {}), ['self', 'agent'])
      const tags: Record<string, string> = {}
      for (let round = 0; round < 4; round++)
        for (const who of ['writer', 'reader', 'auditor', 'writer']) {
          const list = await send('GET', '/orders', who)
          assert.deepEqual(list.json.data[0]._links, expected[who], `${who}, round ${round}`)
          tags[who] = list.headers.etag as string
        }
      for (const who of Object.keys(holders))
        for (const [other, tag] of Object.entries(tags)) {
          const { status } = await send('GET', '/orders', who, undefined, { 'if-none-match': tag })
          assert.equal(status, who === other ? 304 : 200, `${who} with the tag of ${other}`)
        }
      assert.equal((await send('HEAD', '/orders', 'reader')).headers.etag, tags.reader)
      await send('POST', `${self}/placements`, 'writer')
      const after = await send('GET', '/orders', 'writer', undefined, { 'if-none-match': tags.writer })
      assert.deepEqual([after.status, Object.keys(after.json.data[0]._links)], [200, ['self', 'priorityShipments']])
    })

    spec('R224', 'are in every answer with the item, as a GET gives them then', async () => {
      const first = await send('POST', '/orders', 'writer', { note: 'a' })
      const self = `/orders/${first.json.id}`
      const current = async (who: string) => (await send('GET', self, who)).json
      assert.deepEqual(first.json, await current('writer'))
      for (const [method, path, json] of [
        ['PUT', self, { note: 'b' }],
        ['PATCH', self, { note: 'c' }],
        ['POST', `${self}/placements`, undefined],
      ] as const) {
        const answer = await send(method, path, 'writer', json)
        assert.deepEqual([answer.status, answer.json], [200, await current('writer')], method)
      }
      const head = await send('HEAD', self, 'writer')
      const get = await send('GET', self, 'writer')
      assert.deepEqual([head.headers.etag, head.text], [get.headers.etag, ''])
      const { json: other } = await send('POST', '/orders', 'writer', {})
      const key = { 'idempotency-key': 'placed' }
      const place = () => send('POST', `/orders/${other.id}/placements`, 'writer', undefined, key)
      const [placed, replayed] = [await place(), await place()]
      assert.equal(replayed.headers['idempotency-replayed'], 'true')
      assert.deepEqual(replayed.json, placed.json)
    })
  },
  { holders },
)
