/** Effects are entries of a list: a made-up counter of children in their owner's document. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { f } from 'bylaw'
import type { EffectMaker } from '../../src/effects/effect-maker.ts'
import { Problem } from '../../src/errors/problem.ts'
import type { Document } from '../../src/flow/intent.ts'
import { serviceWith } from '../../src/service.ts'
import { type Door, doors } from '../help/door.ts'

const mostLines = 9
/** How many guards are still to fail. */
let failing = 0

/** Counts lines in the document of each row that they refer to by a field. */
const countLines = (field: string, resource: string): EffectMaker => ({
  resource: 'lines',
  decide: ({ key, before, after }, { change }) => {
    const [from, to] = [before?.[field], after?.[field]]
    const add = (id: unknown, amount: number) => {
      if (typeof id !== 'string' || from === to) return []
      const make = (owner: Document) => {
        const lineCount = (owner.lineCount as number) + amount
        if (lineCount > mostLines) throw new Problem('order-full', `At most ${mostLines} lines are taken.`)
        return { ...owner, lineCount }
      }
      const counted = change(resource, { ...key, id }, { make })
      return failing-- > 0 ? { ...counted, expectedRevision: -1 } : counted
    }
    return [add(from, -1), add(to, 1)].flat()
  },
})

const lineCount = f.integer({ default: 0, readOnly: true })
const fields = { text: f.text(), orderId: f.ref('orders', { onDelete: 'cascade' }), tagId: f.ref('tags') }
const shop = serviceWith(
  {
    name: 'shop',
    errors: { 'order-full': { status: 409 } },
    resources: {
      orders: { prefix: 'ord', fields: { lineCount }, access: 'public' },
      tags: { prefix: 'tag', fields: { lineCount }, access: 'public' },
      lines: { prefix: 'lin', fields, access: 'public' },
    },
  },
  { effects: [countLines('orderId', 'orders'), countLines('tagId', 'tags')] },
)

doors('a made-up counter of children', shop, (door: Door) => {
  const made = async (path: string) => (await door.send('POST', path, { json: {} })).json.id as string
  const line = (orderId: string, tagId: string) => door.send('POST', '/lines', { json: { text: 'a', orderId, tagId } })
  const counts = (...paths: readonly string[]) =>
    Promise.all(paths.map(async (path) => (await door.send('GET', path)).json.lineCount))

  it('follows lines that are made, moved and removed, by a cascade too', async () => {
    const [first, second, tag] = [await made('/orders'), await made('/orders'), await made('/tags')]
    const all = [`/orders/${first}`, `/orders/${second}`, `/tags/${tag}`]
    const { status, headers } = await line(first, tag)
    assert.deepEqual([status, ...(await counts(...all))], [201, 1, 0, 1])
    const moved = await door.send('PATCH', headers.location as string, { json: { orderId: second } })
    assert.deepEqual([moved.status, ...(await counts(...all))], [200, 0, 1, 1])
    await line(second, tag)
    await door.send('DELETE', headers.location as string)
    assert.deepEqual(await counts(...all), [0, 1, 1])
    assert.equal((await door.send('DELETE', `/orders/${second}`)).status, 204)
    assert.deepEqual(await counts(`/tags/${tag}`), [0])
  })

  it('counts the children of concurrent writers', async () => {
    const [order, tag] = [await made('/orders'), await made('/tags')]
    const all = await Promise.all(Array.from({ length: 6 }, () => line(order, tag)))
    assert.deepEqual(
      all.map(({ status }) => status),
      Array(6).fill(201),
    )
    assert.deepEqual(await counts(`/orders/${order}`, `/tags/${tag}`), [6, 6])
    const gone = await Promise.all(all.slice(1).map(({ headers }) => door.send('DELETE', headers.location as string)))
    assert.deepEqual(
      gone.map(({ status }) => status),
      Array(5).fill(204),
    )
    assert.deepEqual(await counts(`/orders/${order}`, `/tags/${tag}`), [1, 1])
  })

  it('is decided again with the write when a guard fails', async () => {
    const [order, tag] = [await made('/orders'), await made('/tags')]
    failing = 3
    assert.equal((await line(order, tag)).status, 201)
    assert.ok(failing < 0)
    assert.deepEqual(await counts(`/orders/${order}`, `/tags/${tag}`), [1, 1])
  })

  it('writes nothing if one effect is refused', async () => {
    const [order, tag] = [await made('/orders'), await made('/tags')]
    const tags = await Promise.all(Array.from({ length: mostLines }, () => line(order, tag)))
    assert.deepEqual(
      tags.map(({ status }) => status),
      Array(mostLines).fill(201),
    )
    const other = await made('/tags')
    const refused = await line(order, other)
    assert.deepEqual([refused.status, refused.json.type], [409, 'order-full'])
    assert.deepEqual(await counts(`/orders/${order}`, `/tags/${other}`), [mostLines, 0])
    const { json } = await door.send('GET', '/lines')
    assert.equal(json.data.filter(({ tagId }: { tagId: string }) => tagId === other).length, 0)
  })
})
