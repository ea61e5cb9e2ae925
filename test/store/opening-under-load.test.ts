/** Proves that many clients see no impossible state and no wrong total while a declaration gets states and totals. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Node, type NodeAnswer, nodeOn, places } from '../help/places.ts'
import { after, made, seen, sides } from './growing-shop.ts'

for (const [name, make] of places)
  describe(`a rolling upgrade (${name})`, () => {
    test('with a way back shows 16 clients no impossible state, and totals as their rows', async (t) => {
      const { place, old, young, finish } = await sides(t, make)
      const ids = await Promise.all([old, young, old, young].map(made))
      const work = (nodes: readonly Node[], seed: number) =>
        Promise.all(Array.from({ length: 16 }, (_, i) => client(nodes, ids, seed * 100 + i)))
      const closed = await work([old, young], 1)
      assert.deepEqual(
        closed.flat().filter((status) => status >= 500 && status !== 503),
        [],
      )
      await young.close() // the way back
      await work([old], 2)
      const again = nodeOn(place, after)
      t.after(again.close)
      await work([old, again], 3)
      await old.close()
      const other = nodeOn(place, after)
      t.after(other.close)
      await Promise.all([again, other].map(({ ask }) => ask('GET', '/orders')))
      const [meanwhile] = await Promise.all([work([again, other], 4), finish()])
      const opened = await work([again, other], 5)
      assert.deepEqual(
        [...meanwhile, ...opened].flat().filter((status) => status >= 500 && status !== 503),
        [],
      )
      assert.ok(!opened.flat().includes(503))
      assert.equal((await seen(again, ids[0] as string)).status, 'placed')
      for (const node of [again, other]) await checkTotals(node)
    })
  })

/** Sends requests, one after the other, to nodes in turn; a node of the former declaration has no transitions. */
async function client(nodes: readonly Node[], ids: readonly string[], seed: number): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < 10; i++) {
    const node = nodes[(seed + i) % nodes.length] as Node
    const id = ids[(seed * 7 + i * 3) % ids.length]
    const asked = [
      () => node.ask('POST', `/orders/${id}/lines`, { amount: `${(seed % 9) + 1}.50` }),
      () => node.ask('GET', `/orders/${id}`),
      () => node.ask('PATCH', `/orders/${id}`, { note: `${seed} ${i}` }),
      () => node.ask('GET', '/orders'),
      async () => {
        const { json } = await node.ask('POST', '/orders', {})
        return node.ask('POST', `/orders/${json.id}/lines`, { amount: '1.25' })
      },
      () => node.ask('POST', `/orders/${ids[0]}/placements`),
    ][(seed + i) % 6] as () => ReturnType<Node['ask']>
    const { status, json } = await asked()
    const shown = json?.data ?? [json]
    for (const one of shown)
      if (one?.status !== undefined) assert.ok(['draft', 'placed', 'cancelled'].includes(one.status), one.status)
    statuses.push(status)
  }
  return statuses
}

/** Compares the totals of all orders with their lines. */
async function checkTotals({ ask }: Node): Promise<void> {
  for (let path: string | null = '/orders?limit=100'; path; ) {
    const { json }: NodeAnswer = await ask('GET', path)
    const { data, pagination } = json
    for (const { id, total, lineCount } of data) {
      const lines = (await ask('GET', `/orders/${id}/lines?limit=100`)).json.data as { amount: string }[]
      const cents = lines.reduce((all, one) => all + Math.round(Number(one.amount) * 100), 0)
      assert.deepEqual({ total, lineCount }, { total: (cents / 100).toFixed(2), lineCount: lines.length })
    }
    path = pagination.nextCursor && `/orders?limit=100&cursor=${pagination.nextCursor}`
  }
}
