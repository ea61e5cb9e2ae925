/** Compares values that a database stores twice: index columns, totals and idempotency keys with the rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count, f, service, sum } from 'bylaw'
import { openMigration } from '../../src/terminal/open.ts'
import { nodeOn, type Place, places } from '../help/places.ts'

const api = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        note: f.text({ optional: true, filter: true, fold: true }),
        code: f.bigint({ filter: true }),
        paid: f.boolean({ default: false, filter: true }),
        total: f.decimal({ precision: 20, scale: 2, derived: sum('lines', 'price') }),
        lineCount: f.integer({ derived: count('lines'), filter: true }),
      },
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { price: f.decimal({ precision: 20, scale: 2 }) },
      access: 'public',
    },
  },
})

async function checked({ url }: Place) {
  const migration = await openMigration(api, url)
  try {
    return await migration.crossCheck()
  } finally {
    migration.close()
  }
}

for (const [name, make] of places) {
  test(`columns, totals and keys that differ from their rows are found on ${name}`, async (t) => {
    const place = await make(t)
    assert.equal(await checked(place), null, 'an empty database is not as declared')
    const { ask, close } = nodeOn(place, api)
    const created = async (path: string, json: object, key: string): Promise<string> => {
      const answer = await ask('POST', path, json, { 'idempotency-key': key })
      assert.equal(answer.status, 201, JSON.stringify(answer.json))
      return answer.json.id
    }
    const order = await created('/orders', { note: 'Ärger', code: '9007199254740993123' }, 'a')
    const bare = await created('/orders', { code: '-5', paid: true }, 'b')
    for (const [i, price] of ['1.10', '2.00'].entries()) await created(`/orders/${order}/lines`, { price }, `line-${i}`)
    const gone = await created(`/orders/${bare}/lines`, { price: '3.00' }, 'gone')
    assert.equal((await ask('DELETE', `/lines/${gone}`)).status, 204)
    await close()
    assert.deepEqual(await checked(place), [])

    await place.rows(`UPDATE orders SET by_note = 'other' WHERE id = '${order}'`)
    await place.rows(`UPDATE orders SET by_code = by_code + 1 WHERE id = '${order}'`)
    await place.rows(`UPDATE orders SET by_note = 'some' WHERE id = '${bare}'`)
    await place.rows(
      `UPDATE lines SET by_orderId = '${bare}' WHERE by_orderId = '${order}' AND doc LIKE '%"1.10"%'`.replaceAll(
        'by_orderId',
        '"by_orderId"',
      ),
    )
    await place.rows(`INSERT INTO bylaw_keys VALUES ('h', 'orders', NULL, 'ord_lost', 'f', 1, NULL)`)
    const faults = new Map((await checked(place))?.map((one) => [`${one.collection}: ${one.says}`, one.rows]))
    assert.deepEqual(faults.get('orders: by_note differs from the document')?.toSorted(), [order, bare].toSorted())
    assert.deepEqual(faults.get('orders: by_code differs from the document'), [order])
    assert.deepEqual(faults.get('orders: an idempotency key belongs to an item that was never there'), ['ord_lost'])
    for (const field of ['total', 'lineCount'])
      assert.equal(faults.get(`orders: ${field} is not what follows from the rows that it is made from`)?.length, 2)
    assert.equal(faults.get('lines: by_orderId differs from the document')?.length, 1)
    assert.equal(faults.size, 6)
  })
}
