/** Parts 2 to 5 of the contract: pairs of rows of accounts, their rules, and their scopes. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const desk = service({
  name: 'desk',
  scopes: { 'tags:read': 'Read tags', link: 'Link', grades: 'See grades' },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: { note: f.text({ optional: true }) },
      embed: true,
      access: 'authenticated',
    },
    folders: {
      prefix: 'fol',
      owner: 'accountId',
      fields: { name: f.text({ max: 40 }) },
      embed: true,
      access: 'authenticated',
    },
    tags: {
      prefix: 'tag',
      fields: { name: f.text({ max: 40 }) },
      embed: true,
      access: { read: 'tags:read', write: 'public' },
    },
    codes: {
      key: 'code',
      owner: 'accountId',
      fields: { code: f.text({ max: 9 }) },
      embed: true,
      access: 'authenticated',
    },
    labels: { prefix: 'lab', fields: { name: f.text({ max: 40 }) }, embed: true, access: 'public' },
  },
  pairs: {
    'tag-labels': { between: ['tags', 'labels'], access: 'public' },
    'code-labels': {
      between: ['labels', 'codes'],
      fields: { count: f.integer({ default: 0 }) },
      access: 'authenticated',
    },
    'folder-orders': { between: ['folders', 'orders'], access: 'authenticated' },
    'order-tags': { between: ['orders', 'tags'], access: { read: 'authenticated', write: 'link' } },
    'label-orders': {
      between: ['labels', 'orders'],
      fields: { grade: f.integer({ default: 0, read: 'grades' }), note: f.text({ optional: true, write: 'grades' }) },
      access: 'authenticated',
    },
  },
})
const holders = {
  ann: { account: 'a', scopes: ['tags:read', 'link', 'grades'] },
  abe: { account: 'a', scopes: [] },
  eve: { account: 'b', scopes: ['tags:read', 'link', 'grades'] },
}

const asking =
  (door: Door) =>
  (who: keyof typeof holders | null, method: string, path: string, json?: object): Promise<Answer> =>
    door.send(method, path, { ...(json && { json }), headers: who ? door.as(who) : {} })

doors(
  'pairs of accounts',
  desk,
  (door) => {
    const ask = asking(door)
    const made = async (who: 'ann' | 'eve', path: string, json: object): Promise<string> =>
      (await ask(who, 'POST', path, json)).json.id
    const status = async (...given: Parameters<typeof ask>) => (await ask(...given)).status

    spec('R170', 'both sides have to belong to the account of the caller', async () => {
      const [mine, theirs] = [await made('ann', '/orders', {}), await made('eve', '/orders', {})]
      const [own, other] = [await made('ann', '/folders', { name: 'x' }), await made('eve', '/folders', { name: 'y' })]
      assert.equal(await status('ann', 'PUT', `/folders/${own}/orders/${mine}`), 201)
      for (const path of [`/folders/${own}/orders/${theirs}`, `/orders/${mine}/folders/${other}`]) {
        assert.equal(await status('ann', 'PUT', path), 400)
        assert.equal(await status('ann', 'GET', path), 404)
        assert.equal(await status('ann', 'DELETE', path), 204)
      }
      for (const path of [`/folders/${other}/orders/${mine}`, `/orders/${theirs}/folders/${own}`])
        for (const method of ['PUT', 'GET', 'DELETE']) assert.equal(await status('ann', method, path), 404)
      assert.equal(await status('eve', 'GET', `/folders/${own}/orders`), 404)
      assert.equal(await status('eve', 'DELETE', `/folders/${own}/orders/${mine}`), 404)
      assert.equal(await status('ann', 'GET', `/folders/${own}/orders/${mine}`), 200)
      for (const method of ['PUT', 'GET', 'DELETE'])
        assert.equal(await status(null, method, `/folders/${own}/orders/${mine}`), 401)
      assert.equal(await status(null, 'GET', `/folders/${own}/orders`), 401)
    })

    spec('R170 R232', 'an item without an owner shows each account only its own pairs', async () => {
      const label = await made('ann', '/labels', { name: 'shared' })
      const [mine, theirs] = [await made('ann', '/orders', {}), await made('eve', '/orders', {})]
      assert.equal(await status('ann', 'PUT', `/labels/${label}/orders/${mine}`, { note: 'mine' }), 201)
      assert.equal(await status('eve', 'PUT', `/orders/${theirs}/labels/${label}`, { grade: 3 }), 201)
      for (const [who, order] of [
        ['ann', mine],
        ['eve', theirs],
      ] as const) {
        const { json } = await ask(who, 'GET', `/labels/${label}/orders`)
        assert.deepEqual([json.pagination.totalRecords, json.data.map(({ id }: { id: string }) => id)], [1, [order]])
        const { json: whole } = await ask(who, 'GET', `/labels/${label}?embed=orders`)
        assert.deepEqual(
          whole._embedded.orders.data.map(({ id }: { id: string }) => id),
          [order],
        )
        const { json: back } = await ask(who, 'GET', '/orders?embed=labels')
        const seen = back.data.flatMap((one: { id: string; _embedded: { labels: { data: object[] } } }) =>
          one._embedded.labels.data.map(() => one.id),
        )
        assert.deepEqual(seen, [order])
      }
      assert.equal(await status('ann', 'PUT', `/labels/${label}/orders/${theirs}`), 400)
      assert.equal(await status(null, 'GET', `/labels/${label}/orders`), 401)
      assert.equal(await status(null, 'GET', `/labels/${label}?embed=orders`), 401)
      assert.equal(await status(null, 'GET', `/labels/${label}`), 200)
    })

    spec('R170', 'accounts that use the same key have pairs of their own', async () => {
      const [one, two] = [await made('ann', '/labels', { name: '1' }), await made('ann', '/labels', { name: '2' })]
      for (const [who, label, count] of [
        ['ann', one, 1],
        ['eve', two, 2],
      ] as const) {
        await made(who, '/codes', { code: 'red' })
        assert.equal(await status(who, 'PUT', `/codes/red/labels/${label}`, { count }), 201)
      }
      for (const [who, label, count] of [
        ['ann', one, 1],
        ['eve', two, 2],
      ] as const) {
        const { json } = await ask(who, 'GET', '/codes/red/labels')
        assert.deepEqual([json.pagination.totalRecords, json.data[0].id, json.data[0]._pair], [1, label, { count }])
        const { json: whole } = await ask(who, 'GET', '/codes/red?embed=labels')
        assert.deepEqual(whole._embedded.labels.data, json.data)
        assert.equal((await ask(who, 'GET', `/labels/${label}/codes`)).json.data[0]._pair.count, count)
        assert.equal(await status(who, 'GET', `/labels/${label === one ? two : one}/codes/red`), 404)
      }
      assert.equal(await status('ann', 'DELETE', '/codes/red'), 204)
      assert.equal((await ask('eve', 'GET', '/codes/red/labels')).json.data.length, 1)
    })

    spec('R138 R170', 'deleting an item without an owner unlinks it from the items of all accounts', async () => {
      const label = await made('ann', '/labels', { name: 'gone' })
      const [mine, theirs] = [await made('ann', '/orders', {}), await made('eve', '/orders', {})]
      assert.equal(await status('ann', 'PUT', `/labels/${label}/orders/${mine}`), 201)
      assert.equal(await status('eve', 'PUT', `/labels/${label}/orders/${theirs}`), 201)
      assert.equal(await status('ann', 'DELETE', `/labels/${label}`), 204)
      for (const [who, order] of [
        ['ann', mine],
        ['eve', theirs],
      ] as const)
        assert.deepEqual((await ask(who, 'GET', `/orders/${order}/labels`)).json.data, [])
    })

    spec('R166 R169', 'a caller needs the rules of the pair and of both sides', async () => {
      const tag = await made('ann', '/tags', { name: 'x' })
      const order = await made('ann', '/orders', {})
      const paths = [`/orders/${order}/tags/${tag}`, `/tags/${tag}/orders/${order}`]
      for (const path of paths) {
        assert.equal(await status('abe', 'PUT', path), 403)
        assert.equal(await status('abe', 'GET', path), 403)
        assert.equal(await status('abe', 'DELETE', path), 403)
        assert.equal(await status('abe', 'GET', path.replace(/\/[^/]+$/, '')), 403)
      }
      assert.equal(await status('ann', 'PUT', paths[0] as string), 201)
      assert.equal(await status('abe', 'GET', `/orders/${order}?embed=tags`), 403)
      assert.equal((await ask('ann', 'GET', `/orders/${order}?embed=tags`)).json._embedded.tags.data.length, 1)
      // Whoever may remove an item unlinks it.
      assert.equal(await status('abe', 'DELETE', `/orders/${order}`), 204)
      assert.deepEqual((await ask('ann', 'GET', `/tags/${tag}/orders`)).json.data, [])
    })

    spec('R143 R145', 'an answer is private if any of the rules is not public', async () => {
      const [tag, label] = [await made('ann', '/tags', { name: 'y' }), await made('ann', '/labels', { name: 'y' })]
      assert.equal(await status('ann', 'PUT', `/tags/${tag}/labels/${label}`), 201)
      for (const path of [`/tags/${tag}/labels`, `/labels/${label}/tags`])
        for (const at of [path, `${path}/${path.startsWith('/tags') ? label : tag}`]) {
          const { headers } = await ask('ann', 'GET', at)
          assert.match(headers['cache-control'] ?? '', /^private/)
          assert.match(headers.vary ?? '', /Authorization/)
          assert.equal(await status(null, 'GET', at), 401)
        }
    })

    spec('R169', 'fields of a pair that need a scope are hidden and refused without it', async () => {
      const label = await made('ann', '/labels', { name: 'scoped' })
      const order = await made('ann', '/orders', {})
      const path = `/labels/${label}/orders/${order}`
      assert.deepEqual((await ask('ann', 'PUT', path, { grade: 5, note: 'n' })).json._pair, { grade: 5, note: 'n' })
      for (const read of [
        (await ask('abe', 'GET', path)).json._pair,
        (await ask('abe', 'GET', `/labels/${label}/orders`)).json.data[0]._pair,
        (await ask('abe', 'GET', `/labels/${label}?embed=orders`)).json._embedded.orders.data[0]._pair,
      ])
        assert.deepEqual(read, { note: 'n' })
      assert.equal(await status('abe', 'PUT', path, { note: 'other' }), 403)
      assert.equal(await status('abe', 'PUT', path, { grade: 1 }), 403)
      assert.equal(await status('abe', 'PUT', path), 200)
      assert.deepEqual((await ask('ann', 'GET', path)).json._pair, { grade: 5, note: 'n' })
    })
  },
  { holders },
)
