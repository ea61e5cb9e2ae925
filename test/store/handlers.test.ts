/** Proves that money moved by handlers neither appears nor vanishes, on two nodes and seen from outside. R226. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { f, service } from 'bylaw'
import bank from '../help/bank.ts'
import { nodeOn, type Place, places } from '../help/places.ts'
import { connected, freshPostgres, sql } from '../help/postgres.ts'
import { until } from '../help/until.ts'

const [accounts, clients, rounds] = [6, 8, 6]
const balances = ({ rows }: Place) => rows('SELECT doc FROM accounts')
const sumOf = (found: readonly Record<string, unknown>[]): number =>
  found.reduce((sum, { doc }) => sum + JSON.parse(String(doc)).balance, 0)

for (const [name, place] of places)
  test(`transfers on two nodes keep the sum, and each takes place once (${name})`, { timeout: 180_000 }, async (t) => {
    const where = await place(t)
    const nodes = [nodeOn(where, bank), nodeOn(where, bank)] as const
    for (const { close } of nodes) t.after(close)
    const ids: string[] = []
    for (let i = 0; i < accounts; i++) ids.push((await nodes[0].ask('POST', '/accounts', { balance: 20 })).json.id)
    let isOver = false
    const watched = (async () => {
      for (; !isOver; await setImmediate()) assert.equal(sumOf(await balances(where)), 20 * accounts)
    })()
    let seed = 7
    const next = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    const totals: number[] = []
    const client = async (own: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const node = nodes[next(2)] as (typeof nodes)[0]
        const from = next(accounts)
        const transfer = { from: ids[from], to: ids[(from + 1 + next(accounts - 1)) % accounts], amount: 1 + next(9) }
        const key = { 'idempotency-key': `${own}-${round}` }
        const answers = [await node.ask('POST', '/transfers', transfer, key)]
        answers.push((await nodes[next(2)]?.ask('POST', '/transfers', transfer, key)) as never)
        for (const { status, json } of answers)
          assert.ok([201, 409, 503].includes(status), `${status} ${JSON.stringify(json)}`)
        assert.ok(answers.filter(({ status }) => status === 201).length < 2, 'a key was used twice')
        if (round % 3 !== 0) continue
        const report = await node.ask('POST', '/reports', {})
        assert.ok([201, 503].includes(report.status), JSON.stringify(report.json))
        if (report.status === 201) totals.push(report.json.total)
      }
    }
    const ended = await Promise.allSettled(Array.from({ length: clients }, (_, i) => client(i)))
    isOver = true
    await watched
    for (const one of ended) if (one.status === 'rejected') throw one.reason
    assert.ok(totals.length > 0)
    assert.deepEqual([...new Set(totals)], [20 * accounts])
    const made = (await where.rows('SELECT doc FROM transfers')).map(({ doc }) => JSON.parse(String(doc)))
    const expected = new Map(ids.map((id) => [id, 20]))
    for (const { from, to, amount } of made) {
      expected.set(from, (expected.get(from) ?? 0) - amount)
      expected.set(to, (expected.get(to) ?? 0) + amount)
    }
    for (const { doc } of await balances(where)) {
      const { id, balance } = JSON.parse(String(doc))
      assert.equal(balance, expected.get(id))
    }
  })

for (const [what, statement] of [
  [
    'changed',
    `UPDATE accounts SET doc = replace(doc, '"balance":20', '"balance":7'), revision = revision + 1 WHERE id = $1`,
  ],
  ['left', `DELETE FROM accounts WHERE id = $1`],
])
  test(`a list waits for a writer that has ${what} one of its rows and not committed (PostgreSQL)`, async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    const { ask, close } = nodeOn({ url }, bank)
    t.after(close)
    await ask('POST', '/accounts', { balance: 20 })
    const { id } = (await ask('POST', '/accounts', { balance: 20 })).json
    const other = await connected(t, url)
    await other.query('BEGIN')
    await other.query(statement as string, [id])
    let isAnswered = false
    const asked = ask('POST', '/reports', {}).finally(() => {
      isAnswered = true
    })
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    await until(async () => isAnswered || (await sql(url, waiting)).length > 0)
    await other.query('COMMIT')
    assert.equal((await asked).json.total, what === 'changed' ? 27 : 20)
  })

for (const [name, place] of places)
  test(`writes without handlers go on while a handler waits, which then runs again (${name})`, async (t) => {
    const gate = Promise.withResolvers<void>()
    let runs = 0
    const slow = service({
      name: 'slow',
      resources: {
        counters: { prefix: 'cnt', fields: { value: f.integer({ default: 0 }) }, access: 'public' },
        reports: { prefix: 'rep', fields: { value: f.integer({ default: 0, readOnly: true }) }, access: 'public' },
      },
    }).handlers({
      reports: {
        async create({ get, set, input }) {
          const [counter] = [await get('counters', await first)]
          if (runs++ === 0) await gate.promise
          set({ value: (counter?.value ?? 0) + input.value })
        },
      },
    })
    const node = nodeOn(await place(t), slow)
    t.after(node.close)
    const first = node.ask('POST', '/counters', {}).then(({ json }) => json.id as string)
    const id = await first
    const report = node.ask('POST', '/reports', {})
    await until(() => runs === 1)
    for (let value = 1; value <= 20; value++) {
      assert.equal((await node.ask('PATCH', `/counters/${id}`, { value })).status, 200)
      assert.equal((await node.ask('POST', '/counters', {})).status, 201)
    }
    gate.resolve()
    assert.equal((await report).json.value, 20)
    assert.equal(runs, 2)
  })
