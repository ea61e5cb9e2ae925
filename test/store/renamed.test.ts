/** Proves that a renamed resource keeps its rows, the references to them, their tombstones and keys. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { alive, applied, nodeOn, places } from '../help/places.ts'

const name = 'shop'
const v1 = { v1: { released: '2025-01-01' } }
const [text, open] = [{ title: f.text({ sort: true }) }, 'public'] as const
const client = { prefix: 'cli', access: open, fields: { mail: f.email({ unique: true, filter: true }) } } as const
const first = service({
  name,
  versions: v1,
  resources: {
    clients: client,
    visits: { parent: 'clients', fields: text, access: open },
    'client-notes': {
      parent: 'clients',
      key: 'title',
      fields: { title: f.text(), body: f.text({ default: '' }) },
      access: open,
    },
    orders: {
      fields: { clientId: f.ref('clients', { filter: true }), others: f.list(f.ref('clients')) },
      access: open,
    },
  },
})
const second = service({
  name,
  versions: { ...v1, v2: { released: '2026-01-01' } },
  resources: {
    customers: client,
    visits: { parent: 'customers', fields: text, access: open },
    notes: {
      parent: 'customers',
      key: 'title',
      fields: { title: f.text(), body: f.text({ default: '' }) },
      access: open,
    },
    orders: {
      fields: { customerId: f.ref('customers', { filter: true }), others: f.list(f.ref('customers')) },
      access: open,
    },
    clients: { prefix: 'new', fields: text, access: open },
  },
})
  .change('v2', 'clients', { about: 'Clients are something else.', begins: true })
  .change('v2', 'customers', { about: 'Clients are customers.', was: 'clients' })
  .change('v2', 'notes', { about: 'Notes have a short name.', was: 'client-notes' })
  .change('v2', 'orders', { about: 'Clients are customers.', renamed: { clientId: 'customerId' } })

const titled = { prefix: 'cli', fields: text, access: open } as const
const bare = service({ name, versions: v1, resources: { clients: titled } })
const renamed = service({
  name,
  versions: { ...v1, v2: { released: '2026-01-01' } },
  resources: { customers: { ...titled, fields: { ...text, rank: f.integer({ optional: true, sort: true }) } } },
}).change('v2', 'customers', { about: 'Clients are customers with a rank.', was: 'clients', added: ['rank'] })

const referring = (to: string) => ({ fields: { clientId: f.ref(to, { filter: true }) }, access: open })
const parents = service({
  name,
  versions: v1,
  resources: { clients: titled, orders: referring('clients') },
} as never) as Service
const now = { customers: titled, orders: referring('customers') }
const v2 = { v2: { released: '2026-01-01' } }
const children = (
  service({ name, versions: { ...v1, ...v2 }, resources: now } as never) as unknown as ReturnType<typeof service>
).change(
  'v2' as never,
  'customers' as never,
  { about: 'Clients are customers.', was: 'clients' } as never,
) as unknown as Service
const grown = service({ name, versions: v2, resources: now } as never) as Service

for (const [store, make] of places)
  describe(`a renamed resource (${store})`, () => {
    test('has the old rows, from the first request on', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, first)
      t.after(old.close)
      const key = { 'idempotency-key': 'key-of-before' }
      const ann = (await old.ask('POST', '/clients', { mail: 'ann@example.com' }, key)).json
      const bob = (await old.ask('POST', '/clients', { mail: 'bob@example.com' })).json
      const visit = (await old.ask('POST', `/clients/${ann.id}/visits`, { title: 'a' })).json
      await old.ask('POST', `/clients/${ann.id}/client-notes`, { title: 'one', body: 'b' })
      const order = (await old.ask('POST', '/orders', { clientId: ann.id, others: [ann.id] })).json
      assert.equal((await old.ask('DELETE', `/clients/${bob.id}`)).status, 204)
      await old.close()

      for (let runs = 1; runs <= 2; runs++) {
        const { ask, close } = nodeOn(place, second)
        t.after(close)
        assert.equal((await ask('GET', `/v2/customers/${ann.id}`)).json.mail, 'ann@example.com')
        assert.deepEqual((await ask('GET', `/v1/clients/${ann.id}`)).json, ann)
        assert.deepEqual((await ask('GET', '/v1/clients?mail=ann@example.com')).json.data, [ann])
        assert.deepEqual((await ask('GET', `/v1/visits/${visit.id}`)).json, visit)
        assert.equal((await ask('GET', `/v2/visits?customerId=${ann.id}`)).json.data[0].customerId, ann.id)
        assert.equal((await ask('GET', `/v2/customers/${ann.id}/notes/one`)).json.body, 'b')
        assert.equal((await ask('GET', `/v1/clients/${ann.id}/client-notes`)).json.data.length, 1)
        assert.deepEqual((await ask('GET', `/v1/orders?clientId=${ann.id}`)).json.data, [order])
        assert.equal((await ask('GET', `/v2/customers/${bob.id}`)).status, 410)
        const again = await ask('POST', '/v1/clients', { mail: 'eve@example.com' }, key)
        assert.deepEqual([again.status, again.json.old_id], [409, ann.id])
        assert.equal((await ask('POST', '/v1/clients', { mail: 'ann@example.com' })).status, 409)
        assert.equal((await ask('DELETE', `/v2/customers/${ann.id}`)).json.type, 'has-dependents')
        assert.equal((await ask('GET', '/v2/clients')).json.data.length, runs - 1)
        const other = (await ask('POST', '/v2/clients', { title: 'new' })).json
        assert.equal((await ask('GET', `/v2/clients/${other.id}`)).json.title, 'new')
        await close()
      }
    })

    test('has them still when the version of its first name is no longer declared', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, parents)
      t.after(old.close)
      const ann = (await old.ask('POST', '/clients', { title: 'Ann' })).json
      const order = (await old.ask('POST', '/orders', { clientId: ann.id })).json
      await old.close()
      for (const api of [children, grown]) {
        const node = nodeOn(place, api)
        t.after(node.close)
        assert.equal((await node.ask('GET', `/customers/${ann.id}?version=v2`)).json.title, 'Ann')
        assert.equal((await node.ask('GET', `/orders?version=v2&clientId=${ann.id}`)).json.data[0].id, order.id)
        await node.close()
      }
    })

    test('keeps its idempotency keys when the version of its first name ends', async (t) => {
      const place = await make(t)
      const key = { 'idempotency-key': 'one' }
      const below = (resource: string, labels: object) =>
        service({
          name,
          versions: labels,
          resources: { [resource]: titled, visits: { parent: resource, fields: text, access: open } },
        } as never) as unknown as ReturnType<typeof service>
      const change = { about: 'Clients are customers.', was: 'clients' }
      const both = below('customers', { ...v1, ...v2 }).change('v2' as never, 'customers' as never, change as never)
      const made: string[] = []
      for (const api of [below('clients', v1), both, below('customers', v2), both] as unknown as Service[]) {
        const node = nodeOn(place, api)
        t.after(node.close)
        const path = made.length === 0 ? '/v1/clients' : '/v2/customers'
        const item = await node.ask('POST', path, { title: 'Ann' }, key)
        const child = await node.ask('POST', `${path}/${made[0] ?? item.json.id}/visits`, { title: 'a' }, key)
        if (made.length === 0) made.push(item.json.id, child.json.id)
        else
          assert.deepEqual(
            [item.status, item.json.old_id, child.status, child.json.old_id],
            [409, made[0], 409, made[1]],
          )
        await node.close()
      }
    })

    test('is served under both names while nodes are replaced', async (t) => {
      const place = await make(t)
      const old = nodeOn(place, first)
      t.after(old.close)
      const ann = (await old.ask('POST', '/clients', { mail: 'ann@example.com' })).json
      await alive(place)
      assert.deepEqual((await applied(place, second)).waitsFor, ['old'])
      const young = nodeOn(place, second)
      t.after(young.close)
      const bob = (await young.ask('POST', '/v2/customers', { mail: 'bob@example.com' })).json
      assert.equal((await old.ask('GET', `/clients/${bob.id}`)).json.mail, 'bob@example.com')
      assert.equal((await old.ask('POST', '/clients', { mail: 'bob@example.com' })).status, 409)
      const visit = (await young.ask('POST', `/v2/customers/${ann.id}/visits`, { title: 'a' })).json
      assert.equal((await old.ask('GET', `/visits/${visit.id}`)).json.clientId, ann.id)
      const own = (await old.ask('POST', `/clients/${bob.id}/visits`, { title: 'b' })).json
      assert.equal((await young.ask('GET', `/v2/visits/${own.id}`)).json.customerId, bob.id)
      const order = (await old.ask('POST', '/orders', { clientId: bob.id, others: [ann.id] })).json
      assert.equal((await young.ask('GET', `/v2/orders?customerId=${bob.id}`)).json.data[0].id, order.id)
      assert.equal((await young.ask('DELETE', `/v2/customers/${ann.id}`)).status, 409)
      assert.equal((await young.ask('DELETE', `/v2/visits/${visit.id}`)).status, 204)
      assert.equal((await old.ask('GET', `/visits/${visit.id}`)).status, 410)
      await place.rows('DELETE FROM bylaw_nodes')
      assert.deepEqual((await applied(place, second)).left, [])
      assert.equal((await young.ask('GET', `/v1/clients/${bob.id}/visits`)).json.data[0].clientId, bob.id)
    })

    test('is not hidden from the former declaration, which does not know its name', async (t) => {
      const place = await make(t)
      for (const [api, path] of [
        [bare, '/clients'],
        [renamed, '/v2/customers'],
      ] as const) {
        const { ask, close } = nodeOn(place, api)
        t.after(close)
        assert.equal((await ask('POST', path, { title: 'a' })).status, 201)
        await close()
      }
      await assert.rejects(
        async () => nodeOn(place, bare).ask('GET', '/clients'),
        /The resource clients was renamed to customers in a version/,
      )
    })
  })
