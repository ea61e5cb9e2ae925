/** Totals that follow from several rows of one request: one change of their item, with one event and the final value. R225. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count, f, max, service, sum } from 'bylaw'
import { nodeOn, places } from '../help/places.ts'

const api = service({
  name: 'bank',
  events: true,
  settings: { batches: 5 },
  resources: {
    banks: {
      prefix: 'bnk',
      fields: { held: f.integer({ derived: sum('wallets', 'total') }) },
      access: 'public',
    },
    wallets: {
      prefix: 'wal',
      parent: 'banks',
      fields: {
        total: f.integer({ derived: sum('purses', 'left'), max: 100 }),
        purses: f.integer({ derived: count('purses') }),
        largest: f.integer({ derived: max('purses', 'left'), optional: true }),
      },
      access: 'public',
    },
    purses: { prefix: 'prs', parent: 'wallets', fields: { left: f.integer() }, access: 'public' },
    moves: {
      prefix: 'mov',
      fields: { from: f.ref('purses'), to: f.ref('purses'), amount: f.integer() },
      access: 'public',
    },
  },
}).handlers({
  moves: {
    async create({ input: { from, to, amount }, change }) {
      change('purses', to, ({ left }) => ({ left: left + amount })) // the total is above its bound until the next change
      change('purses', from, ({ left }) => ({ left: left - amount }))
    },
  },
})

for (const [name, place] of places)
  test(`R206 R225: a total that follows from several rows of a request changes once, to its final value (${name})`, async (t) => {
    const { ask, close } = nodeOn(await place(t), api)
    t.after(close)
    const made = async (path: string, json: object = {}): Promise<string> => {
      const answer = await ask('POST', path, json)
      assert.equal(answer.status, 201, JSON.stringify(answer.json))
      return answer.json.id
    }
    const bank = await made('/banks')
    const [one, other] = [await made(`/banks/${bank}/wallets`), await made(`/banks/${bank}/wallets`)]
    const [a, b] = [
      await made(`/wallets/${one}/purses`, { left: 90 }),
      await made(`/wallets/${one}/purses`, { left: 10 }),
    ]
    const c = await made(`/wallets/${other}/purses`, { left: 0 })
    const wallet = async (id: string) => (await ask('GET', `/wallets/${id}`)).json
    const events = async (cursor: string): Promise<string[]> =>
      (await ask('GET', `/events?cursor=${cursor}`)).json.data.map(
        (one: { type: string; sequence: number; data: { total?: number; held?: number } }) =>
          `${one.type} ${one.data.total ?? one.data.held ?? ''}`.trim(),
      )

    // Within one wallet its total stays the same, and so does the bank's.
    let cursor = (await ask('GET', '/events?limit=100')).json.pagination.nextCursor
    assert.equal((await ask('POST', '/moves', { from: a, to: b, amount: 40 })).status, 201)
    const within = await wallet(one)
    assert.deepEqual([within.total, within.purses, within.largest], [100, 2, 50])
    assert.deepEqual((await events(cursor)).sort(), [
      'move.created',
      'purse.updated',
      'purse.updated',
      'wallet.updated 100',
    ])

    // Between two wallets each total changes once, and the bank's not at all.
    cursor = (await ask('GET', '/events?limit=100')).json.pagination.nextCursor
    assert.equal((await ask('POST', '/moves', { from: a, to: c, amount: 20 })).status, 201)
    assert.deepEqual([(await wallet(one)).total, (await wallet(other)).total], [80, 20])
    assert.deepEqual((await events(cursor)).sort(), [
      'move.created',
      ...['purse.updated', 'purse.updated', 'wallet.updated 20', 'wallet.updated 80'],
    ])
    assert.equal((await ask('GET', `/banks/${bank}`)).json.held, 100)

    // A final total above its bound is still refused.
    const refused = await ask('POST', `/wallets/${one}/purses`, { left: 21 })
    assert.deepEqual([refused.status, refused.json.type], [409, 'conflict'])
  })
