/** Parallel batches that use the same keys and rows in different orders: each of them is carried out. R229. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'
import { connected, freshPostgres } from '../help/postgres.ts'

const api = service({
  name: 'shop',
  settings: { batches: 20, idempotency: { mode: 'replay' } },
  resources: {
    notes: { prefix: 'not', fields: { text: f.text(), number: f.integer({ default: 0 }) }, access: 'public' },
  },
})

type Ask = (operations: object[]) => Promise<{ status: number; text: string }>

/** The numbers below a count, each time in another order. */
const orders = (count: number, turns: number): number[][] => {
  const up = Array.from({ length: count }, (_, i) => i)
  return Array.from({ length: turns }, (_, turn) => {
    const own = [...up.slice(turn % count), ...up.slice(0, turn % count)]
    return turn % 2 === 0 ? own : own.reverse()
  })
}

for (const [name, place] of places)
  describe(`batches in different orders (${name})`, () => {
    const opened = async (t: Parameters<typeof place>[0]) => {
      const { url } = await place(t)
      const nodes = [0, 1].map(() => testing(api, { database: url }))
      for (const { close } of nodes) t.after(close)
      const asks = nodes.map(
        ({ call }): Ask =>
          async (operations) => {
            const answer = await call('/batches', { method: 'POST', json: { operations } })
            return { status: answer.status, text: await answer.text() }
          },
      )
      return { call: (nodes[0] as (typeof nodes)[number]).call, asks }
    }
    const sent = (asks: Ask[], batches: object[][]) =>
      Promise.all(batches.map((one, i) => (asks[i % asks.length] as Ask)(one)))

    test('R229 R102: with the same keys', async (t) => {
      const { asks, call } = await opened(t)
      for (let round = 0; round < 3; round++) {
        const create = (i: number) => ({
          ...{ method: 'POST', path: '/notes', body: { text: `note ${i}` } },
          headers: { 'Idempotency-Key': `round-${round}-${i}` },
        })
        const answers = await sent(
          asks,
          orders(6, 12).map((order) => order.map(create)),
        )
        for (const { status, text } of answers) assert.equal(status, 200, text)
        const { data } = (await (await call('/notes?limit=100')).json()) as { data: object[] }
        assert.equal(data.length, 6 * (round + 1))
      }
    })

    test('R229 R127: with the same rows', async (t) => {
      const { asks, call } = await opened(t)
      const ids: string[] = []
      for (let i = 0; i < 6; i++)
        ids.push(((await (await call('/notes', { method: 'POST', json: { text: 'a' } })).json()) as { id: string }).id)
      const change = (turn: number) => (i: number) => ({
        method: 'PATCH',
        path: `/notes/${ids[i]}`,
        body: { number: turn },
      })
      const answers = await sent(
        asks,
        orders(6, 12).map((order, turn) => order.map(change(turn))),
      )
      for (const { status, text } of answers) assert.equal(status, 200, text)
      const { data } = (await (await call('/notes')).json()) as { data: { number: number }[] }
      assert.equal(new Set(data.map(({ number }) => number)).size, 1)
    })
  })

test('R229: batches that want a row which another transaction holds do not stop those that want other rows', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  const { call, close } = testing(api, { database: url })
  t.after(close)
  const client = await connected(t, url)
  const batch = async (one: object) => {
    const { status } = await call('/batches', { method: 'POST', json: { operations: [one] } })
    return status
  }
  const { id } = (await (await call('/notes', { method: 'POST', json: { text: 'held' } })).json()) as { id: string }
  const change = { method: 'PATCH', path: `/notes/${id}`, body: { number: 1 } }
  const create = { method: 'POST', path: '/notes', body: { text: 'other' } }
  await client.query('BEGIN')
  await client.query(`UPDATE notes SET doc = doc WHERE id = '${id}'`)
  const held = [batch(change), batch(change)]
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await Promise.all([batch(create), batch(create)]), [200, 200])
    await pause(500) // the batches that wait for the row try again meanwhile
  }
  await client.query('ROLLBACK')
  for (const status of await Promise.all(held)) assert.ok([200, 503].includes(status), String(status))
})
