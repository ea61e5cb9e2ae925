/** Tables are values: a made-up lease and a made-up gapless number are data and general plans, with concurrent writers on both stores. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { rowsIn } from '../../src/flow/outcome.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { type Table, type TableOperation, tablePlan } from '../../src/flow/table.ts'
import { quotaTable } from '../../src/limits/quota-table.ts'
import { openStore, serviceTables } from '../../src/terminal/open.ts'
import { freshPostgres } from '../help/postgres.ts'

const leases: Table = {
  name: 'toy_leases',
  columns: { name: 'text', holder: 'text', until: 'integer' },
  key: ['name'],
  indexes: [{ name: 'until', columns: ['until'] }],
}

const acquireLease: TableOperation = { do: 'insert', table: leases, replaces: { until: { upTo: 'now' } } }
const releaseLease: TableOperation = {
  ...{ do: 'set', table: leases, where: { name: 'name', holder: 'holder' } },
  to: { until: 'now' },
}

/** Takes a lease that is free or has ended; returns its holder. */
async function acquire({ execute }: Store, holder: string, now: number): Promise<unknown> {
  const taken = await execute(tablePlan(acquireLease, { name: 'timer', holder, until: now + 100, now }))
  return rowsIn(taken)[0]?.holder
}

/** Ends a lease if it is still that of the holder; returns whether it was. */
const release = async ({ execute }: Store, holder: string, now: number): Promise<boolean> =>
  rowsIn(await execute(tablePlan(releaseLease, { name: 'timer', holder, now }))).length === 1

const numbers: Table = {
  name: 'toy_numbers',
  columns: { series: 'text', last: 'integer' },
  key: ['series'],
  shardKey: 'series',
}

const count: TableOperation = { do: 'add', table: numbers, sums: ['last'] }

const nextNumber = async ({ execute }: Store, series: string): Promise<unknown> =>
  rowsIn(await execute(tablePlan(count, { series, last: 1 })))[0]?.last

const notes = service({
  name: 'notes',
  resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
})

async function freshDatabase(kind: string): Promise<{ url: string; drop: () => Promise<void> | void }> {
  if (kind === 'PostgreSQL') return freshPostgres()
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-tables-'))
  return { url: `sqlite:${join(folder, 'store.db')}`, drop: () => rmSync(folder, { recursive: true, force: true }) }
}

const upTo = (most: number): number[] => Array.from({ length: most }, (_, i) => i + 1)

for (const kind of ['SQLite', 'PostgreSQL'] as const)
  describe(`made-up tables on ${kind}`, () => {
    let one: Store
    let two: Store
    let drop: () => Promise<void> | void
    const kept = { name: 'kept', used: 1, until: 9_007_199_254_740_991 }
    const find = async (store: Store, table: Table) =>
      rowsIn(await store.execute(tablePlan({ do: 'find', table, where: {}, order: table.key })))

    before(async () => {
      const made = await freshDatabase(kind)
      drop = made.drop
      const old = await openStore(notes, made.url, 'apply')
      await old.execute(tablePlan({ do: 'insert', table: quotaTable }, kept))
      await old.close()
      const tables = [...serviceTables, leases, numbers]
      one = await openStore(notes, made.url, 'apply', {}, realWorld, tables)
      two = await openStore(notes, made.url, 'require', {}, realWorld, tables)
    })
    after(async () => {
      await one.close()
      await two.close()
      await drop()
    })

    test('an old database gets the new tables and keeps its rows', async () => {
      assert.deepEqual(await find(one, quotaTable), [kept])
      assert.deepEqual(await find(two, leases), [])
    })
    test('of several nodes one gets the lease until it ends or is released', async () => {
      const holders = await Promise.all([acquire(one, 'a', 1000), acquire(two, 'b', 1000), acquire(one, 'c', 1000)])
      assert.equal(new Set(holders).size, 1)
      assert.equal(await acquire(two, 'later', 1099), holders[0])
      assert.equal(await acquire(two, 'later', 1100), 'later')
      assert.deepEqual([await release(one, 'nobody', 1101), await release(one, 'later', 1101)], [false, true])
      assert.equal(await acquire(two, 'next', 1101), 'next')
    })
    test('two nodes that count at the same time get each number once, without gaps', async () => {
      const all = await Promise.all(upTo(100).map((i) => nextNumber(i % 2 ? one : two, 'invoice')))
      assert.deepEqual(new Set(all), new Set(upTo(100)))
    })
    test('several writes are committed together, or none of them', async () => {
      const add = tablePlan(count, { series: 'together', last: 1 })
      await one.execute({ do: 'several', writes: [add, add] })
      const wrong = tablePlan(count, { series: 'wrong', last: null })
      await assert.rejects(async () => two.execute({ do: 'several', writes: [add, wrong] }))
      assert.deepEqual((await find(two, numbers)).at(-1), { series: 'together', last: 2 })
    })
    test('each row is taken by one of two nodes, the last of an order first, and the first ones are swept', async () => {
      const insert: TableOperation = { do: 'insert', table: leases }
      for (const i of upTo(9)) await one.execute(tablePlan(insert, { name: `${i}`, holder: '', until: i }))
      const take: TableOperation = {
        ...{ do: 'set', table: leases, where: { holder: 'nobody' }, order: ['-until'], limit: 2 },
        to: { holder: 'holder' },
      }
      const taken = await Promise.all(
        [one, two].map(async (store) =>
          rowsIn(await store.execute(tablePlan(take, { nobody: '', holder: 'me' }))).map(({ name }) => name),
        ),
      )
      assert.deepEqual(taken.flat().toSorted(), ['6', '7', '8', '9'])
      const sweep: TableOperation = {
        do: 'sweep',
        table: leases,
        where: { holder: 'nobody' },
        order: ['until'],
        limit: 4,
      }
      await two.execute(tablePlan(sweep, { nobody: '' }))
      assert.deepEqual(
        (await find(one, leases)).map(({ name }) => name),
        ['5', '6', '7', '8', '9', 'timer'],
      )
    })
  })
