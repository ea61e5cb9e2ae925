/** Part 7 of the contract: cache groups, and the groups that a write invalidates. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const fields = { name: f.text({ optional: true }) }
const groups = { cache: { groups: 'on' } } as const

const mismatch = 'the description does not list the bodies of members'

const depot = service({
  name: 'depot',
  settings: { batches: 5 },
  resources: {
    orders: { prefix: 'ord', fields, access: 'public', settings: groups },
    'order-lines': { prefix: 'lin', parent: 'orders', fields, access: 'public', settings: groups },
    drafts: { prefix: 'drf', fields, access: 'public' },
  },
})

doors('cache groups', depot, (door) => {
  spec('R147', 'lists and items carry the group of their collection', async () => {
    const order = (await door.send('POST', '/orders', { json: {} })).headers.location as string
    await door.send('POST', `${order}/order-lines`, { json: {} })
    for (const [target, group] of [
      ['/orders', '"orders"'],
      ['/orders?limit=1', '"orders"'],
      [order, '"orders"'],
      [`${order}/order-lines`, '"order-lines"'],
      ['/order-lines', '"order-lines"'],
    ] as const)
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await door.send(method, target)
        assert.deepEqual([status, headers['cache-groups']], [200, group], target)
        assert.equal(headers['cache-group-invalidation'], undefined)
      }
  })

  spec('R147', 'successful writes invalidate the group, refused ones do not', async () => {
    const place = (await door.send('POST', '/orders', { json: {} })).headers.location as string
    const lines = `${place}/order-lines`
    for (const [method, target, json, status, group] of [
      ['POST', '/orders', {}, 201, '"orders"'],
      ['POST', '/orders', { x: 1 }, 400, undefined],
      ['PUT', place, { name: 'A' }, 200, '"orders"'],
      ['PATCH', place, { name: 'B' }, 200, '"orders"'],
      ['PATCH', `${place}0`, { name: 'B' }, 404, undefined],
      ['POST', lines, {}, 201, '"order-lines"'],
      ['POST', '/drafts', {}, 201, undefined],
    ] as const) {
      const answer = await door.send(method, target, { json })
      assert.deepEqual([answer.status, answer.headers['cache-group-invalidation']], [status, group], target)
      assert.equal(answer.headers['cache-groups'], undefined)
    }
    const other = (await door.send('POST', '/orders', { json: {} })).headers.location as string
    const removed = await door.send('DELETE', other)
    assert.deepEqual([removed.status, removed.headers['cache-group-invalidation']], [204, '"orders"'])
  })

  spec(
    'R147 R239',
    'a dry run invalidates no group, and gives no tag or date of a state that is not stored',
    async () => {
      const place = (await door.send('POST', '/orders', { json: {} })).headers.location as string
      for (const [method, target, json, status, location] of [
        ['POST', '/orders', {}, 201, true],
        ['PUT', place, { name: 'A' }, 200, false],
        ['PATCH', place, { name: 'B' }, 200, false],
        ['DELETE', place, undefined, 204, false],
        ['POST', `${place}/order-lines`, {}, 201, true],
      ] as const) {
        const { headers, ...dry } = await door.send(method, `${target}?dryRun=true`, { ...(json && { json }) })
        const { etag, location: where, 'last-modified': changed, 'cache-group-invalidation': group } = headers
        assert.deepEqual(
          [dry.status, headers['dry-run'], group, etag, changed, where !== undefined],
          [status, 'true', undefined, undefined, undefined, location],
          `${method} ${target}`,
        )
      }
      const batch = (query: string) =>
        door.send('POST', `/batches${query}`, {
          json: { operations: [{ method: 'PATCH', path: place, body: { name: 'D' } }] },
          mismatch,
        })
      const [dry, real] = [await batch('?dryRun=true'), await batch('')]
      assert.deepEqual(
        [dry, real].map(({ headers, json }) => [headers['cache-group-invalidation'], 'ETag' in json.data[0].headers]),
        [
          [undefined, false],
          ['"orders"', true],
        ],
      )
      const written = await door.send('PATCH', place, { json: { name: 'C' } })
      assert.deepEqual([written.headers['cache-group-invalidation'], 'etag' in written.headers], ['"orders"', true])
    },
  )

  spec('R147 R229', 'a batch invalidates the groups of all its operations', async () => {
    const post = (path: string, as: string, body: object = {}) => ({ method: 'POST', path, as, body })
    const operations = [
      post('/orders', 'order'),
      post('/orders/$order.id/order-lines', 'line'),
      post('/orders/$order.id/order-lines', 'other'),
      post('/drafts', 'draft'),
    ]
    const { status, headers } = await door.send('POST', '/batches', { json: { operations }, mismatch })
    assert.deepEqual([status, headers['cache-group-invalidation']], [200, '"orders", "order-lines"'])
    const alone = await door.send('POST', '/batches', { json: { operations: operations.slice(3) }, mismatch })
    assert.deepEqual([alone.status, alone.headers['cache-group-invalidation']], [200, undefined])
  })

  spec('R147', 'without the setting no headers of groups are sent', async () => {
    const place = (await door.send('POST', '/drafts', { json: {} })).headers.location as string
    for (const target of [place, '/drafts'])
      assert.equal((await door.send('GET', target)).headers['cache-groups'], undefined, target)
  })
})
