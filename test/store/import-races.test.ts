/** R238, R102: two processes with the same key carry out each line of an import once. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'
import { until } from '../help/until.ts'

const shop = service({
  name: 'shop',
  resources: {
    notes: { prefix: 'not', fields: { number: f.integer() }, imports: true, exports: true, access: 'public' },
  },
})
const lines = Array.from({ length: 2300 }, (_, i) => `{"number":${i}}\n`)
const headers = { 'content-type': 'application/x-ndjson', 'idempotency-key': 'same' }

for (const [name, place] of places)
  describe(`imports on ${name}`, () => {
    test('R238 R102: the one that goes on finishes, and the other one is told', async (t) => {
      const { url } = await place(t)
      const [one, other] = [testing(shop, { database: url }), testing(shop, { database: url })]
      t.after(() => Promise.all([one.close(), other.close()]))
      const post = (door: typeof one, body: string | ReadableStream) =>
        door.call('/notes/imports', { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
      // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as they are
      const jsonOf = async (answer: Response): Promise<any> => answer.json()
      const total = async () => (await jsonOf(await other.call('/notes?page_size=1'))).pagination.totalRecords
      const sent = new TransformStream<Uint8Array, Uint8Array>()
      const writer = sent.writable.getWriter()
      const write = (from: number, to: number) => writer.write(Buffer.from(lines.slice(from, to).join('')))
      const first = post(one, sent.readable)
      await write(0, 1200)
      await until(async () => (await total()) >= 1000)
      const same = await post(one, lines.join(''))
      assert.deepEqual([same.status, (await jsonOf(same)).type], [409, 'idempotency-in-progress'])
      const second = await post(other, lines.join(''))
      assert.deepEqual([second.status, (await jsonOf(second)).created], [200, lines.length])
      await write(1200, 2300)
      await writer.close()
      const told = await first
      assert.deepEqual([told.status, (await jsonOf(told)).type], [409, 'idempotency-in-progress'])
      const again = await post(one, lines.join(''))
      assert.equal((await jsonOf(again)).created, lines.length)
      const exported = await other.call('/notes', { headers: { accept: 'application/x-ndjson' } })
      const numbers = (await exported.text()).trimEnd().split('\n')
      assert.deepEqual(
        numbers.map((line) => JSON.parse(line).number),
        [...lines.keys()],
      )
    })
  })
