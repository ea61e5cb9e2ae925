/** Writes of items that were read: conditions, and 412 after a lost answer. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { client, entityTag } from 'bylaw/client'
import { errorOf, shopOf } from '../../test/help/client-shop.ts'
import { streamingNode } from '../../test/help/streaming.ts'

describe('writes of items that were read', () => {
  test('R124: a write of an item that has changed since is 412, and one of its id is not', async (t) => {
    const { shop, direct } = await shopOf(t)
    const order = await shop.orders.create({})
    await direct.orders.update(order.id, { note: 'other' })
    for (const write of [
      () => shop.orders.update(order, { total: '1' }),
      () => shop.orders.replace(order, {}),
      () => shop.orders.placements(order),
      () => shop.orders.remove(order),
    ]) {
      const error = await errorOf(write())
      assert.deepEqual([error.type, error.status, error.uncertain], ['precondition-failed', 412, false])
    }
    assert.equal((await shop.orders.update(order.id, { total: '1' })).total, '1.00')
  })
  test('R124, R127: a change that is a function is applied again to the item as it is', async (t) => {
    const { shop, direct } = await shopOf(t)
    const order = await shop.orders.create({ total: '1' })
    await direct.orders.update(order.id, { total: '5' })
    const seen: string[] = []
    const more = await shop.orders.update(order, ({ total }) => {
      seen.push(total)
      return { total: `${Number(total) + 1}.00` }
    })
    assert.deepEqual([more.total, seen], ['6.00', ['1.00', '5.00']])
    const adding = Array.from({ length: 8 }, () =>
      shop.orders.update(order.id, async ({ total }) => ({ total: `${Number(total) + 1}.00` })),
    )
    await Promise.all(adding)
    assert.equal((await direct.orders.get(order.id)).total, '14.00')
  })
  test('R124: 412 after a lost answer is a success if the item has what was written, in any form', async (t) => {
    const { shop, proxy } = await shopOf(t)
    const order = await shop.orders.create({})
    proxy.faults.push('lose-answer')
    const change = { total: '7.5', dueAt: '2027-01-01T00:00:00Z', buyer: { name: 'Bob' }, note: null }
    const changed = await shop.orders.update(order, change)
    assert.deepEqual([changed.total, changed.buyer], ['7.50', { name: 'Bob' }])
    assert.match(changed[entityTag] ?? '', /^"2-/)
    proxy.faults.push('lose-answer')
    assert.equal((await shop.orders.replace(changed, { ...changed, note: 'put' })).note, 'put')
  })
  test('R124: it is an error if the item has another value, or the value cannot be read', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const order = await shop.orders.create({})
    proxy.faults.push('lose-answer')
    proxy.meanwhile = () => direct.orders.update(order.id, { note: 'other' })
    const error = await errorOf(shop.orders.update(order, { note: 'mine' }))
    assert.deepEqual([error.type, error.uncertain], ['precondition-failed', true])
    proxy.faults.push('lose-answer')
    for (const secret of ['x', null]) {
      proxy.faults.splice(0, 1, 'lose-answer')
      const hidden = await errorOf(shop.orders.update(await direct.orders.get(order.id), { secret }))
      assert.equal(hidden.type, 'precondition-failed')
    }
    proxy.faults.push('lose-answer')
    proxy.meanwhile = () => direct.orders.remove(order.id)
    const gone = await errorOf(shop.orders.update(await direct.orders.get(order.id), { note: 'gone' }))
    assert.deepEqual([gone.status, gone.uncertain], [410, true])
  })
  test('R124: a function is not applied again if it is unknown whether it was applied', async (t) => {
    const { shop, direct, proxy } = await shopOf(t)
    const order = await shop.orders.create({ total: '5' })
    const less = () => shop.orders.update(order, ({ total }) => ({ total: `${Number(total) - 1}.00` }))
    proxy.faults.push('lose-request')
    proxy.meanwhile = () => direct.orders.update(order.id, { total: '4' })
    const error = await errorOf(less())
    assert.deepEqual([error.type, error.uncertain], ['precondition-failed', true])
    assert.equal((await direct.orders.get(order.id)).total, '4.00')
  })
  test('an item without a tag is refused before anything is sent', async (t) => {
    const notes = service({
      name: 'notes',
      resources: { notes: { fields: { text: f.text() }, access: 'public' } },
      settings: { etag: { mode: 'weak' } },
    })
    const { port } = await streamingNode(t, notes)
    const { notes: all } = client<typeof notes>({ url: `http://127.0.0.1:${port}` })
    const note = await all.create({ text: 'a' })
    assert.equal(note[entityTag], null)
    await assert.rejects(async () => all.update(note, { text: 'b' }), /no strong ETag.*give its id/)
    assert.equal((await all.update(note.id, { text: 'b' })).text, 'b')
  })
  test('a caller that may change but not read gets null', async (t) => {
    const notes = service({
      name: 'notes',
      scopes: { 'notes:read': 'Read notes' },
      resources: { notes: { fields: { text: f.text() }, access: { read: 'notes:read', write: 'public' } } },
    })
    const { port } = await streamingNode(t, notes)
    const { notes: all } = client<typeof notes>({ url: `http://127.0.0.1:${port}` })
    const { id } = await all.create({ text: 'a' })
    assert.equal(await all.update(id, { text: 'b' }), null)
  })
})
