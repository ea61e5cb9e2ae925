/** Imports and exports of the client: any number of items, as streams. R238. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorOf, shopOf } from '../../test/help/client-shop.ts'

test('R238: items of any iterable are imported, and exported again', async (t) => {
  const { direct: shop } = await shopOf(t)
  async function* rows() {
    for (let size = 0; size < 2500; size++) yield { text: `note ${size} é`, size, idempotencyKey: `note-${size}` }
  }
  const report = await shop.notes.import(rows())
  assert.deepEqual(report, { created: 2500, existing: 0, failed: 0, errors: [] })
  const again = await shop.notes.import([{ text: 'note 1 é', size: 1, idempotencyKey: 'note-1' }, { text: 'note 2 é' }])
  assert.deepEqual([again.created, again.existing, again.failed], [0, 1, 1])
  assert.deepEqual([again.errors[0]?.line, again.errors[0]?.errors?.[0]?.pointer], [2, '/text'])
  const sizes: number[] = []
  for await (const { size, text } of shop.notes.export()) {
    assert.equal(text, `note ${size} é`)
    sizes.push(size)
  }
  assert.deepEqual(sizes, [...Array(2500).keys()])
  const some = await Array.fromAsync(shop.notes.export({ where: { size: { lte: 2 } }, fields: ['text'] }))
  assert.deepEqual(
    some.map(({ id, ...rest }) => rest),
    [{ text: 'note 0 é' }, { text: 'note 1 é' }, { text: 'note 2 é' }],
  )
  for await (const { id } of shop.notes.export()) {
    const pages = await shop.notes(id).pages.import([{ place: 1 }, { place: 2 }])
    assert.equal(pages.created, 2)
    assert.equal((await Array.fromAsync(shop.notes(id).pages.export())).length, 2)
    break
  }
})

test('R238: refusals and lost answers are errors, and a call with the same key continues the import', async (t) => {
  const { shop, direct, proxy } = await shopOf(t)
  const wrong = await errorOf(shop.notes.import([{ text: 5 } as never]))
  assert.deepEqual(
    [wrong.status, wrong.type, (wrong.errors[0] as { line?: number }).line],
    [400, 'validation-failed', 1],
  )
  assert.equal(
    (await errorOf(Array.fromAsync(shop.notes.export({ where: { id: 'x', nothing: 1 } as never })))).status,
    400,
  )
  const rows = Array.from({ length: 20 }, (_, i) => ({ text: `t${i}` }))
  proxy.faults.push('lose-answer')
  const lost = await errorOf(shop.notes.import(rows, { idempotencyKey: 'rows' }))
  assert.equal(lost.type, 'no-answer')
  assert.equal((await shop.notes.import(rows, { idempotencyKey: 'rows' })).created, 20)
  assert.equal((await Array.fromAsync(direct.notes.export())).length, 20)
  await assert.rejects(shop.notes.import(rows, { signal: AbortSignal.abort(new Error('left')) }), /left/)
})
