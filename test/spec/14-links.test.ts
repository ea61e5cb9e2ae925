/** Links: all links of an item, for callers with different scopes, and keys that URLs escape. R49, R224. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  scopes: {
    'orders:read': 'Read orders',
    'orders:write': 'Write orders',
    'lines:read': 'Read lines',
    'customers:read': 'Read customers',
    'customers:write': 'Write customers',
  },
  settings: { resource: { links: 'all' } },
  resources: {
    customers: { fields: { name: f.text() }, access: { read: 'customers:read', write: 'customers:write' } },
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: {
        customerId: f.ref('customers', { optional: true }),
        agentId: f.ref('customers', { optional: true, read: 'customers:read' }),
        secretId: f.ref('customers', { optional: true, writeOnly: true }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { placements: { from: ['draft'], to: 'placed' } },
      },
      access: { read: 'orders:read', write: 'orders:write' },
    },
    lines: {
      parent: { resource: 'orders', while: ['draft'], onDelete: 'cascade' },
      key: 'sku',
      fields: { sku: f.text({ max: 50 }) },
      states: { field: 'phase', initial: 'open', transitions: { closures: { from: ['open'], to: 'closed' } } },
      access: { read: 'lines:read', write: 'orders:write' },
    },
  },
})

const own = ['orders:read', 'orders:write', 'lines:read']
const holders = {
  clerk: { account: 'one', scopes: [...own, 'customers:read', 'customers:write'] },
  writer: { account: 'one', scopes: own },
  reader: { account: 'one', scopes: ['orders:read'] },
  packer: { account: 'one', scopes: ['lines:read'] },
  other: { account: 'two', scopes: [...own, 'customers:read'] },
}

doors(
  'links',
  shop,
  (door: Door) => {
    const send = (method: string, path: string, json?: unknown, who = 'clerk', headers = {}) =>
      door.send(method, path, { ...(json !== undefined && { json }), headers: { ...door.as(who), ...headers } })
    const linksOf = async (path: string, who: string) => (await send('GET', path, undefined, who)).json._links

    spec('R49 R224', 'links lead only to what the caller may use, in items and in lists', async () => {
      const { id: customerId } = (await send('POST', '/customers', { name: 'Ann' })).json
      const refs = { customerId, agentId: customerId, secretId: customerId }
      const path = `/orders/${(await send('POST', '/orders', refs)).json.id}`
      const customer = `/customers/${customerId}`
      const lines = `${path}/lines`
      const placements = `${path}/placements`
      const all = { self: path, customer, agent: customer, lines, placements }
      assert.deepEqual(await linksOf(path, 'clerk'), all)
      assert.deepEqual(await linksOf(path, 'writer'), { self: path, lines, placements })
      assert.deepEqual(await linksOf(path, 'reader'), { self: path })
      for (const who of ['clerk', 'reader', 'clerk', 'writer']) {
        const [listed] = (await send('GET', '/orders', undefined, who)).json.data
        assert.deepEqual(listed, (await send('GET', path, undefined, who)).json, who)
        for (const url of Object.values((await linksOf(path, who)) as Record<string, string>))
          if (url !== placements) assert.equal((await send('GET', url, undefined, who)).status, 200, url)
      }
      assert.deepEqual((await send('GET', '/orders', undefined, 'other')).json.data, [])
      assert.equal((await send('POST', placements, undefined, 'other')).status, 404)
    })

    spec('R224', 'links are part of the tag, so the tag of one caller is not valid for another', async () => {
      const path = `/orders/${(await send('POST', '/orders', {})).json.id}`
      const { etag } = (await send('GET', path)).headers
      const same = await send('GET', path, undefined, 'clerk', { 'if-none-match': etag })
      const other = await send('GET', path, undefined, 'reader', { 'if-none-match': etag })
      assert.deepEqual([same.status, other.status], [304, 200])
      assert.equal((await send('HEAD', path, undefined, 'reader')).headers.etag, other.headers.etag)
    })

    spec('R49', 'links of children below their owner work, whatever their keys are', async () => {
      const path = `/orders/${(await send('POST', '/orders', {})).json.id}`
      for (const sku of ['k"1', 'k\\2', 'a/b', 'é', '%41', 'a?b', 'c d', '+'])
        assert.equal((await send('POST', `${path}/lines`, { sku })).status, 201, sku)
      const { data } = (await send('GET', `${path}/lines`)).json
      assert.equal(data.length, 8)
      for (const one of data) {
        assert.deepEqual((await send('GET', one._links.self)).json, one)
        assert.equal(one._links.order, path)
        assert.deepEqual(Object.keys(await linksOf(one._links.self, 'packer')), ['self'])
        assert.equal((await send('POST', one._links.closures)).json.phase, 'closed')
      }
    })
  },
  { holders },
)
