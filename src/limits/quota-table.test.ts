/** Quotas in the store: counted over all nodes, reset when their window is over, and swept then. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Store } from '../flow/store.ts'
import { openSqlite } from '../sqlite/open.ts'
import { quotaTable, storeLedger } from './quota-table.ts'

async function onFile(act: (open: () => Store, file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-'))
  const stores: Store[] = []
  try {
    const file = join(folder, 'quotas.db')
    const open = () => {
      const store = openSqlite(`sqlite:${file}`, [], 'apply', { tables: [quotaTable] })
      stores.push(store)
      return store
    }
    await act(open, file)
  } finally {
    await Promise.all(stores.map((store) => store.close()))
    rmSync(folder, { recursive: true })
  }
}

const spend = (store: Store, name: string, amount: number, time: number, window = 1000) =>
  storeLedger(store)({ name, amount, time, until: time + window })

test('requests of two nodes are counted together, for each name separately', () =>
  onFile(async (open) => {
    const [one, two] = [open(), open()]
    assert.deepEqual(await spend(one, 'a', 3, 100), { used: 3, until: 1100 })
    assert.deepEqual(await spend(two, 'a', 4, 900), { used: 7, until: 1100 })
    assert.deepEqual(await spend(one, 'a', -1, 901), { used: 6, until: 1100 })
    assert.deepEqual(await spend(two, 'b', 1, 900), { used: 1, until: 1900 })
  }))

test('concurrent requests are counted separately', () =>
  onFile(async (open) => {
    const stores = [open(), open()]
    const all = await Promise.all(Array.from({ length: 200 }, (_, n) => spend(stores[n % 2] as Store, 'a', 1, 100)))
    assert.deepEqual(
      all.map(({ used }) => used).sort((a, b) => a - b),
      Array.from({ length: 200 }, (_, n) => n + 1),
    )
  }))

test('a new window begins after the former one, and old windows are deleted', () =>
  onFile(async (open, file) => {
    const store = open()
    for (let n = 0; n < 20; n++) await spend(store, `a${n}`, 5, 100)
    assert.deepEqual(await spend(store, 'a7', 1, 1099), { used: 6, until: 1100 })
    assert.deepEqual(await spend(store, 'a7', 1, 1100), { used: 1, until: 2100 })
    for (let n = 0; n < 5; n++) await spend(store, `b${n}`, 1, 1200)
    const db = new DatabaseSync(file)
    const left = db.prepare(`SELECT name FROM ${quotaTable.name} ORDER BY name`).all()
    db.close()
    assert.deepEqual(
      left.map(({ name }) => name),
      ['a7', 'b0', 'b1', 'b2', 'b3', 'b4'],
    )
  }))

test('a window of a wrong clock does not last', () =>
  onFile(async (open) => {
    const store = open()
    const day = 86_400_000
    await spend(store, 'a', 5, day)
    assert.deepEqual(await spend(store, 'a', 1, day - 1000), { used: 6, until: day + 1000 })
    assert.deepEqual(await spend(store, 'a', 1, day - 1001), { used: 1, until: day - 1 })
  }))
