/** Proves that handlers which read rows before their commit decide as if they had read them afterwards. R226. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service, sum } from 'bylaw'
import { testing } from 'bylaw/testing'
import { nodeOn, places } from '../help/places.ts'

let runs = 0
/** Called when a handler of transfers has decided; the transaction begins in the next turn of the event loop. */
let onDecided = () => {}
const api = service({
  name: 'bank',
  settings: { batches: 5 },
  errors: { 'balance-too-low': { parents: ['conflict'], status: 409 } },
  resources: {
    accounts: {
      prefix: 'acc',
      fields: { balance: f.integer({ min: 0 }), spent: f.integer({ derived: sum('fees', 'amount') }) },
      access: 'public',
    },
    fees: { prefix: 'fee', parent: 'accounts', fields: { amount: f.integer() }, access: 'public' },
    counters: { prefix: 'cnt', fields: { last: f.integer({ default: 0 }) }, access: 'public' },
    bills: {
      prefix: 'bil',
      fields: { counter: f.ref('counters'), number: f.integer({ unique: true, default: 0 }) },
      access: 'public',
    },
    seats: { prefix: 'sea', fields: { train: f.text({ filter: true }) }, access: 'public' },
    transfers: {
      prefix: 'trf',
      fields: {
        from: f.ref('accounts'),
        to: f.ref('accounts'),
        amount: f.integer(),
        label: f.text({ unique: true, optional: true }),
      },
      access: 'public',
    },
  },
}).handlers({
  transfers: {
    async create({ input: { from, to, amount }, get, change, refuse }) {
      runs++
      const [payer, payee] = [await get('accounts', from), await get('accounts', to)]
      if (!payer || !payee || payer.balance < amount) throw refuse('balance-too-low')
      change('accounts', from, { balance: payer.balance - amount })
      change('accounts', to, { balance: payee.balance + amount })
      onDecided()
    },
  },
  fees: {
    async create({ input: { accountId, amount }, get, change, refuse }) {
      const account = await get('accounts', accountId)
      if (!account || account.balance < amount) throw refuse('balance-too-low')
      change('accounts', accountId, { balance: account.balance - amount })
    },
  },
  seats: {
    async create({ input: { train }, list, refuse }) {
      const seats = await list('seats', { where: { train } })
      if (seats.length >= 20) throw refuse('balance-too-low')
    },
  },
  bills: {
    async create({ input: { counter }, get, change, set }) {
      const { last = 0 } = (await get('counters', counter)) ?? {}
      change('counters', counter, { last: last + 1 })
      set({ number: last + 1 })
    },
  },
})

for (const [name, place] of places) {
  const opened = async (t: Parameters<typeof place>[0], balances: readonly number[]) => {
    const { rows, ...at } = await place(t)
    const { ask, close } = nodeOn(at, api)
    t.after(close)
    const ids: string[] = []
    for (const balance of balances) ids.push((await ask('POST', '/accounts', { balance })).json.id)
    const transfer = async (from: number, to: number, amount: number, label?: string) =>
      (await ask('POST', '/transfers', { from: ids[from], to: ids[to], amount, ...(label && { label }) })).status
    const left = () => Promise.all(ids.map(async (id) => (await ask('GET', `/accounts/${id}`)).json.balance as number))
    return { ask, ids, transfer, left, rows }
  }

  test(`R226: many transfers between two accounts at once all take place (${name})`, async (t) => {
    const { transfer, left } = await opened(t, [40, 0])
    const statuses = await Promise.all(Array.from({ length: 40 }, () => transfer(0, 1, 1)))
    assert.deepEqual(new Set(statuses), new Set([201]))
    assert.deepEqual(await left(), [0, 40])
  })

  if (name === 'SQLite')
    test('R226: a handler reads the rows of a write that waits for its commit, and both are committed together', async (t) => {
      const { transfer, left } = await opened(t, [40, 0])
      const asked: Promise<number>[] = []
      runs = 0
      // After all microtasks, in which the write is passed to the store, and before the next turn.
      onDecided = () => process.nextTick(() => asked.length < 40 && asked.push(transfer(0, 1, 1)))
      t.after(() => {
        onDecided = () => {}
      })
      asked.push(transfer(0, 1, 1))
      for (let i = 0; i < 40; i++) assert.equal(await asked[i], 201)
      assert.deepEqual(await left(), [0, 40])
      assert.equal(runs, 40, 'a handler ran again')
    })

  if (name === 'PostgreSQL')
    test('R226: transfers that queue for the same accounts share transactions', async (t) => {
      const { transfer, left, rows } = await opened(t, [40, 0])
      await Promise.all(Array.from({ length: 40 }, () => transfer(0, 1, 1)))
      assert.deepEqual(await left(), [0, 40])
      const [shared] = await rows('SELECT count(DISTINCT xmin::text)::int AS n FROM transfers')
      assert.ok(Number(shared?.n) < 40, `40 transfers took ${shared?.n} transactions`)
    })

  test(`R226: a transfer that is refused between others leaves them alone (${name})`, async (t) => {
    const { transfer, left } = await opened(t, [100, 0])
    const labels = Array.from({ length: 60 }, (_, i) => (i % 6 === 5 ? 'once' : undefined))
    const statuses = await Promise.all(labels.map((label) => transfer(0, 1, 1, label)))
    const made = (label: string | undefined) => labels.filter((one, i) => one === label && statuses[i] === 201).length
    assert.deepEqual([made(undefined), made('once')], [50, 1])
    assert.deepEqual(await left(), [49, 51])
    assert.equal(await transfer(0, 1, 50), 409, 'the balance is too low')
  })

  test(`R226 R239: dry runs between transfers leave nothing (${name})`, async (t) => {
    const { ask, ids, left, rows } = await opened(t, [100, 0])
    const body = { from: ids[0], to: ids[1], amount: 1 }
    const batch = { operations: [{ method: 'POST', path: '/transfers', body }] }
    const asked = Array.from({ length: 60 }, (_, i) => {
      const query = i % 3 === 0 ? '' : '?dryRun=true'
      return i % 3 === 2 ? ask('POST', `/batches${query}`, batch) : ask('POST', `/transfers${query}`, body)
    })
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    assert.deepEqual(
      statuses,
      statuses.map((_, i) => (i % 3 === 2 ? 200 : 201)),
    )
    assert.deepEqual(await left(), [80, 20])
    assert.equal(Number((await rows('SELECT count(*) AS n FROM transfers'))[0]?.n), 20)
  })

  test(`R226: requests whose handlers list what they create take turns, and none is refused as overloaded (${name})`, async (t) => {
    const { ask } = await opened(t, [])
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask('POST', '/seats', { train: 'night' })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(20).fill(201), ...Array(20).fill(409)])
  })

  test(`R226: a handler that has read the rows of a write that is refused runs again (${name})`, async (t) => {
    const { transfer, left } = await opened(t, [10, 0, 0])
    assert.equal(await transfer(0, 1, 1, 'once'), 201)
    const statuses = await Promise.all([
      transfer(0, 1, 9, 'once'), // its label is in use, so its 9 stay
      transfer(0, 2, 4),
      transfer(0, 2, 5),
    ])
    assert.deepEqual(statuses, [409, 201, 201])
    assert.deepEqual(await left(), [0, 1, 9])
  })

  test(`R226: a write without a handler between two that have one is not lost (${name})`, async (t) => {
    const { ask, ids, transfer, left } = await opened(t, [100, 0])
    assert.equal(await transfer(0, 1, 0, 'once'), 201)
    const others: Promise<unknown>[] = []
    onDecided = () => {
      onDecided = () => {}
      // Its revision is the one that was announced for the row of the first transfer, which is refused.
      process.nextTick(() => {
        others.push(ask('PATCH', `/accounts/${ids[0]}`, { balance: 50 }))
        process.nextTick(() => others.push(ask('POST', `/accounts/${ids[0]}/fees`, { amount: 10 })))
      })
    }
    assert.equal(await transfer(0, 1, 1, 'once'), 409)
    assert.equal(others.length, 2)
    await Promise.all(others)
    const [from = 0] = await left()
    if (name === 'SQLite') assert.equal(from, 40)
    else assert.ok(from === 40 || from === 50, `${from} are left`)
  })

  test(`R226: a total that follows from the write of a handler to the same row is not lost (${name})`, async (t) => {
    const { ask, ids, left } = await opened(t, [30])
    const fee = async () => (await ask('POST', `/accounts/${ids[0]}/fees`, { amount: 1 })).status
    assert.deepEqual(new Set(await Promise.all(Array.from({ length: 20 }, fee))), new Set([201]))
    assert.deepEqual(await left(), [10])
    assert.equal((await ask('GET', `/accounts/${ids[0]}`)).json.spent, 20)
  })

  test(`R226: a value in use that a handler has computed from an old row is no refusal: it runs again (${name})`, async (t) => {
    const node = nodeOn(await place(t), api)
    t.after(node.close)
    const { json } = await node.ask('POST', '/counters', {})
    const operations = [{ method: 'POST', path: '/bills', body: { counter: json.id } }]
    const batches = await Promise.all(Array.from({ length: 8 }, () => node.ask('POST', '/batches', { operations })))
    assert.deepEqual(new Set(batches.map(({ status }) => status)), new Set([200]))
    const bills = await Promise.all(Array.from({ length: 20 }, () => node.ask('POST', '/bills', { counter: json.id })))
    assert.deepEqual(
      bills.map(({ status, json: bill }) => [status, bill.number]).sort(([, a], [, b]) => a - b),
      Array.from({ length: 20 }, (_, i) => [201, i + 9]),
    )
  })
}

test('R170 R226: a handler does not read the rows of another account before their commit', async (t) => {
  const seen: [string | null, number][] = []
  let next = () => {}
  const wallets = service({
    name: 'wallets',
    resources: {
      wallets: {
        prefix: 'wal',
        fields: { left: f.integer() },
        owner: 'accountId',
        access: 'authenticated',
        settings: { resource: { id: 'client' } },
      },
      payments: {
        prefix: 'pay',
        fields: { wallet: f.ref('wallets') },
        owner: 'accountId',
        access: 'authenticated',
      },
    },
  }).handlers({
    payments: {
      async create({ input: { wallet }, get, change, caller }) {
        const { left = 0 } = (await get('wallets', wallet)) ?? {}
        seen.push([caller.account, left])
        change('wallets', wallet, { left: left - 1 })
        next()
      },
    },
  })
  const { call, close } = testing(wallets)
  t.after(close)
  const pays = (account: string) => call('/payments', { method: 'POST', json: { wallet: 'wal_main' }, as: { account } })
  for (const [account, left] of [
    ['north', 10],
    ['south', 500],
  ] as const) {
    const made = await call('/wallets', { method: 'POST', json: { id: 'wal_main', left }, as: { account } })
    assert.equal(made.status, 201)
  }
  let other: Promise<Response> | undefined
  next = () =>
    process.nextTick(() => {
      other ??= pays('south')
    })
  assert.equal((await pays('north')).status, 201)
  assert.equal((await other)?.status, 201)
  assert.deepEqual(seen, [
    ['north', 10],
    ['south', 500],
  ])
})
