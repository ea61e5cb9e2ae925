/** Part 4 of the contract, methods: cascading deletions need the right to remove every row, and never reach another account. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, doors, spec } from '../help/door.ts'

/** Items of accounts that are removed with shared items: as children, by references, in lists and over several steps. */
const store = service({
  name: 'store',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  scopes: { clear: 'Remove brands', trim: 'Remove notes' },
  settings: { resource: { id: 'client' } },
  resources: {
    brands: { prefix: 'bra', fields: { name: f.text() }, access: { read: 'public', write: 'public', remove: 'clear' } },
    models: {
      prefix: 'mod',
      parent: { resource: 'brands', onDelete: 'cascade' },
      fields: { name: f.text() },
      access: 'authenticated',
    },
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: {
        modelId: f.ref('models', { optional: true, onDelete: 'cascade' }),
        brandIds: f.list(f.ref('brands', { onDelete: 'cascade' })),
      },
      access: 'authenticated',
    },
    lines: {
      parent: { resource: 'orders', onDelete: 'cascade' },
      key: 'n',
      fields: { n: f.integer() },
      access: 'authenticated',
    },
    notes: {
      prefix: 'not',
      fields: { orderless: f.text(), brandId: f.ref('brands', { optional: true, onDelete: 'cascade' }) },
      access: { read: 'public', write: 'authenticated', remove: 'trim' },
      methods: ['list', 'read', 'create', 'change'],
    },
  },
}).change('v2', 'brands', {
  about: '`title` is a name, and makes are brands.',
  was: 'makes',
  renamed: { title: 'name' },
})

doors(
  'items that are deleted with an item',
  store,
  (door) => {
    const as = (who: string, method: string, path: string, json?: object): Promise<Answer> =>
      door.send(method, path, { json, headers: door.as(who) })
    const make = async (who: string, path: string, json: object) => {
      const answer = await as(who, 'POST', path, json)
      assert.equal(answer.status, 201, answer.text)
    }
    const there = async (who: string, ...paths: string[]) =>
      Promise.all(paths.map(async (path) => (await as(who, 'GET', path)).status))
    const removals = (id: string) => [`/v2/brands/${id}`, `/v1/makes/${id}`]

    spec('R138 R170', 'stays if it belongs to another account, and so does the item', async () => {
      const ways: readonly (readonly [n: string, order: object])[] = [
        ['a', { modelId: 'mod_a' }],
        ['b', { brandIds: ['bra_b'] }],
      ]
      for (const [n, order] of ways) {
        await make('keeper', '/v2/brands', { id: `bra_${n}`, name: 'x' })
        await make('keeper', `/v2/brands/bra_${n}/models`, { id: `mod_${n}`, name: 'x' })
        await make('ann', '/v2/orders', { id: `ord_${n}`, ...order })
        await make('ann', `/v2/orders/ord_${n}/lines`, { n: 1 })
        const rest = [`/v2/brands/bra_${n}`, `/v2/models/mod_${n}`]
        for (const who of ['keeper', 'nobody'])
          for (const path of removals(`bra_${n}`)) {
            const { status, json } = await as(who, 'DELETE', path)
            assert.deepEqual([status, json.type], [409, 'has-dependents'])
            assert.doesNotMatch(json.message, /ord_/)
          }
        assert.deepEqual(
          await there('ann', ...rest, `/v2/orders/ord_${n}`, `/v2/orders/ord_${n}/lines/1`),
          [200, 200, 200, 200],
        )
        assert.equal((await as('boss', 'DELETE', `/v2/brands/bra_${n}`)).status, 204)
        assert.deepEqual(
          await there('ann', ...rest, `/v2/orders/ord_${n}`, `/v2/orders/ord_${n}/lines/1`),
          [410, 410, 410, 410],
        )
      }
    })

    spec('R138 R170', 'of several accounts stays for each of them', async () => {
      await make('keeper', '/v2/brands', { id: 'bra_c', name: 'x' })
      await make('keeper', '/v2/orders', { id: 'ord_c', brandIds: ['bra_c'] })
      await make('ann', '/v2/orders', { id: 'ord_c', brandIds: ['bra_c'] })
      for (const who of ['keeper', 'boss']) assert.equal((await as(who, 'DELETE', '/v2/brands/bra_c')).status, 409)
      assert.equal((await as('ann', 'DELETE', '/v2/orders/ord_c')).status, 204)
      assert.equal((await as('boss', 'DELETE', '/v2/brands/bra_c')).status, 409)
      assert.equal((await as('keeper', 'DELETE', '/v2/brands/bra_c')).status, 204)
      assert.deepEqual(await there('keeper', '/v2/orders/ord_c'), [410])
    })

    spec('R138 R169', 'needs the scope for removing them, if there are any', async () => {
      await make('keeper', '/v2/brands', { id: 'bra_d', name: 'x' })
      await make('keeper', '/v2/notes', { id: 'not_d', orderless: 'x', brandId: 'bra_d' })
      for (const path of removals('bra_d')) {
        const { status, json, headers } = await as('keeper', 'DELETE', path)
        assert.deepEqual([status, json.type, json.scope], [403, 'insufficient-scope', 'trim'])
        assert.match(headers['www-authenticate'] as string, /error="insufficient_scope", scope="trim"/)
      }
      assert.deepEqual(await there('keeper', '/v2/brands/bra_d', '/v2/notes/not_d'), [200, 200])
      assert.equal((await as('trimmer', 'DELETE', '/v1/makes/bra_d')).status, 204)
      assert.deepEqual(await there('keeper', '/v2/brands/bra_d', '/v2/notes/not_d'), [410, 410])
      await make('keeper', '/v2/brands', { id: 'bra_e', name: 'x' })
      assert.equal((await as('keeper', 'DELETE', '/v2/brands/bra_e')).status, 204)
    })
  },
  {
    holders: {
      keeper: { account: 'k', scopes: ['clear'] },
      nobody: { account: null, scopes: ['clear'] },
      trimmer: { account: 't', scopes: ['clear', 'trim'] },
      ann: { account: 'a', scopes: [] },
      boss: { account: 'a', scopes: ['clear', 'trim'] },
    },
  },
)

/** Everyone can remove a list, but only authenticated callers can remove its entries. */
const open = service({
  name: 'open',
  scopes: { trim: 'Remove stars' },
  resources: {
    lists: { fields: { name: f.text() }, access: 'public' },
    tasks: {
      parent: { resource: 'lists', onDelete: 'cascade' },
      fields: { text: f.text() },
      access: { read: 'public', create: 'public', write: 'authenticated' },
    },
  },
})

doors(
  'items that are deleted with an item that everybody may remove',
  open,
  (door) => {
    spec('R165 R138', 'asks for credentials', async () => {
      const { id } = (await door.send('POST', '/lists', { json: { name: 'x' } })).json
      await door.send('POST', `/lists/${id}/tasks`, { json: { text: 'x' } })
      const refused = await door.send('DELETE', `/lists/${id}`)
      assert.deepEqual([refused.status, refused.json.type], [401, 'credentials-missing'])
      assert.equal((await door.send('DELETE', `/lists/${id}`, { headers: door.as('ann') })).status, 204)
    })
  },
  { holders: { ann: {} } },
)

test('a resource that is deleted by cascade needs a rule for remove', () => {
  const declared = (child: 'parent' | 'reference', remove: object) =>
    service({
      name: 'open',
      resources: {
        lists: { fields: { name: f.text() }, access: 'public' },
        tasks: {
          ...(child === 'parent' && { parent: { resource: 'lists', onDelete: 'cascade' } }),
          fields: { text: f.text(), ...(child === 'reference' && { listId: f.ref('lists', { onDelete: 'cascade' }) }) },
          access: { read: 'public', ...remove },
          methods: ['list', 'read'],
        } as never,
      },
    })
  for (const child of ['parent', 'reference'] as const) {
    assert.throws(() => declared(child, {}), /tasks.access: Its items are removed with those of `lists`/)
    assert.ok(declared(child, { remove: 'public' }))
  }
})
