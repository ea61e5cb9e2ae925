/** Part 7 of the contract: cache groups, and the groups that a write invalidates. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const fields = { name: f.text({ optional: true }) }
const groups = { cache: { groups: 'on' } } as const

const depot = service({
  name: 'depot',
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

  spec('R147', 'without the setting no headers of groups are sent', async () => {
    const place = (await door.send('POST', '/drafts', { json: {} })).headers.location as string
    for (const target of [place, '/drafts'])
      assert.equal((await door.send('GET', target)).headers['cache-groups'], undefined, target)
  })
})
