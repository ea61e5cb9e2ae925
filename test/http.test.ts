/** A read of the newest version copies text: nothing is parsed or serialized. */
import assert from 'node:assert/strict'
import { it, mock } from 'node:test'
import { testing } from 'bylaw/testing'
import { shop } from './help/shop.ts'

it('items and lists are sent as stored, except the page information', async () => {
  const { call, close } = testing(shop)
  const made = await call('/warehouses', { method: 'POST', json: { name: 'North' } })
  const text = await made.text()
  const path = made.headers.get('location') as string
  const parse = mock.method(JSON, 'parse')
  const stringify = mock.method(JSON, 'stringify')
  const read = await (await call(path)).text()
  const counts = [parse.mock.callCount(), stringify.mock.callCount()]
  const list = await (await call('/warehouses?limit=5')).text()
  const parsed = parse.mock.callCount()
  mock.restoreAll()
  assert.equal(read, text)
  assert.deepEqual(counts, [0, 0])
  assert.equal(parsed, 0)
  assert.ok(list.startsWith(`{"data":[${text}]`))
  await close()
})
