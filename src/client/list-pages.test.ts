/** Lists of the client: filters, sorts, and all pages of all styles. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { client, entityTag } from 'bylaw/client'
import { errorOf, shopOf } from '../../test/help/client-shop.ts'
import { streamingNode } from '../../test/help/streaming.ts'

describe('lists', () => {
  test('R56, R71, R86: items come page by page, filtered and sorted', async (t) => {
    const { shop, proxy } = await shopOf(t)
    for (const [note, total] of [
      ['a', '1'],
      ['b,"\\', '2'],
      ['c', '3'],
      [null, '4'],
    ] as const)
      await shop.orders.create({ note, total })
    proxy.seen.length = 0
    const notes = async (query: Parameters<typeof shop.orders.list>[0]) =>
      (await Array.fromAsync(shop.orders.list(query))).map(({ note }) => note)
    assert.deepEqual(await notes({ sort: '-total', pageSize: 3 }), [null, 'c', 'b,"\\', 'a'])
    assert.equal(proxy.seen.length, 2)
    assert.deepEqual(await notes({ where: { note: ['a', 'b,"\\'] }, sort: 'note' }), ['a', 'b,"\\'])
    assert.deepEqual(await notes({ where: { total: { gte: '1.5', ne: '3' } }, sort: 'total' }), ['b,"\\', null])
    assert.deepEqual(await notes({ where: { note: null } }), [null])
    assert.deepEqual(await notes({ where: { 'buyer.name': 'Ann', status: 'draft' }, sort: 'note', nulls: 'first' }), [
      null,
      'a',
      'b,"\\',
      'c',
    ])
    assert.deepEqual(await notes({ customSort: 'worth' }), [null, 'c', 'b,"\\', 'a'])
    const sizes: number[] = []
    for await (const { data } of shop.orders.list({ pageSize: 3 }).pages()) sizes.push(data.length)
    assert.deepEqual(sizes, [3, 1])
    proxy.seen.length = 0
    for await (const order of shop.orders.list({ pageSize: 1 })) if (order.note === 'a') break
    assert.equal(proxy.seen.length, 1)
  })
  test('R235: a list is searched for words', async (t) => {
    const { shop } = await shopOf(t)
    for (const note of ['Blue whale', 'whale', 'blue']) await shop.orders.create({ note })
    const found = await Array.fromAsync(shop.orders.list({ search: 'BLUE wh', pageSize: 1 }))
    assert.deepEqual(
      found.map(({ note }) => note),
      ['Blue whale'],
    )
  })
  test('R233, R234: items have the selected fields, on every page, and match one of the filters of or', async (t) => {
    const { shop } = await shopOf(t)
    for (const [note, total] of [
      ['a;(b)', '1'],
      ['50%', '2'],
      ['c', '3'],
      [null, '4'],
    ] as const)
      await shop.orders.create({ note, total })
    const found = await Array.fromAsync(
      shop.orders.list({
        or: { note: ['a;(b)', '50%'], total: { gte: '4' } },
        fields: ['total', 'buyer.name'],
        sort: 'total',
        pageSize: 1,
      }),
    )
    assert.deepEqual(
      found.map(({ id: _, ...one }) => one),
      ['1.00', '2.00', '4.00'].map((total) => ({ total, buyer: { name: 'Ann' } })),
    )
    const { id = '' } = found[0] ?? {}
    const { [entityTag]: tag, ...one } = await shop.orders.get(id, { fields: ['note'] })
    assert.deepEqual(one, { id, note: 'a;(b)' })
    assert.match(String(tag), /^"/)
    await shop.orders.list({ or: {}, fields: [] }).pages()[Symbol.asyncIterator]().next()
  })
  test('R232: items and lists have embedded rows, on every page, and a write may send them back', async (t) => {
    const { shop } = await shopOf(t)
    for (const note of ['a', 'b']) {
      const order = await shop.orders.create({ note })
      await shop.orders(order)['order-lines'].create({ quantity: note === 'a' ? 1 : 2 })
    }
    const found = await Array.fromAsync(shop.orders.list({ embed: ['orderLines'], sort: 'note', pageSize: 1 }))
    assert.deepEqual(
      found.map(({ _embedded: { orderLines } }) => [
        orderLines.data.map(({ quantity }) => quantity),
        orderLines.hasMore,
      ]),
      [
        [[1], false],
        [[2], false],
      ],
    )
    const order = await shop.orders.get(found[0]?.id ?? '', { embed: ['orderLines'], fields: ['note'] })
    assert.equal(order._embedded.orderLines.data[0]?.quantity, 1)
    const whole = await shop.orders.get(order.id, { embed: ['orderLines'] })
    assert.equal((await shop.orders.update(whole, { note: 'c' })).note, 'c')
    await assert.rejects(async () => shop.orders.update(whole, { note: 'd' }), /changed/)
  })
  for (const list of [
    { links: 'body' },
    { links: 'none' },
    { pagination: { styles: ['page'], style: 'page' }, pageSize: 1 },
    { pagination: { styles: ['offset'], style: 'offset' }, links: 'body', pageSize: 1 },
  ] as const)
    test(`R74, R86: all items come with ${JSON.stringify(list)}, in both cases of names`, async (t) => {
      for (const naming of ['camel', 'snake'] as const) {
        const notes = service({
          name: 'notes',
          resources: { notes: { fields: { text: f.text() }, access: 'public' } },
          settings: { naming, list },
        })
        const { port } = await streamingNode(t, notes)
        const { notes: all } = client<typeof notes>({ url: `http://127.0.0.1:${port}/` })
        for (const text of ['a', 'b', 'c']) await all.create({ text })
        const options = 'pageSize' in list ? {} : { pageSize: 1 }
        assert.deepEqual(
          (await Array.fromAsync(all.list(options))).map(({ text }) => text),
          ['a', 'b', 'c'],
        )
      }
    })
  test('R86: a list that does not say where its next page is fails, and does not seem to end', async (t) => {
    const notes = service({
      name: 'notes',
      resources: { notes: { fields: { text: f.text() }, access: 'public' } },
      settings: { list: { links: 'none', pagination: { names: { nextCursor: 'more', hasMore: 'on' } } } },
    })
    const { port } = await streamingNode(t, notes)
    const { notes: all } = client<typeof notes>({ url: `http://127.0.0.1:${port}` })
    await all.create({ text: 'a' })
    const error = await errorOf(Array.fromAsync(all.list()))
    assert.match(error.message, /list\.links/)
  })
})
