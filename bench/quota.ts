/** The cost of a quota: the check alone, and reads of one item with and without it, in turn. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { handle } from '../src/corridor/handle.ts'
import { callerGate } from '../src/corridor/server-context.ts'
import type { Call } from '../src/flow/call.ts'
import { nobody } from '../src/flow/caller.ts'
import { realWorld } from '../src/flow/real-world.ts'
import type { Store } from '../src/flow/store.ts'
import { type ServiceWorld, serviceWorld } from '../src/flow/world.ts'
import { fetchDoor } from '../src/http/fetch.ts'
import { addQuotaHeaders, admitQuota, spendQuota } from '../src/limits/quota.ts'
import { quotasOf } from '../src/limits/tier.ts'
import type { DeclaredTiers } from '../src/resources/declaration.ts'
import { service } from '../src/service.ts'
import { openSqlite } from '../src/sqlite/open.ts'
import library from './library.ts'
import { median } from './report.ts'

const folder = mkdtempSync(join(tmpdir(), 'bylaw-quota-'))

const call = { address: '127.0.0.1' } as Call
const contextOf = () => ({
  service: {
    quotas: quotasOf({ pro: { hourly: 1_000_000_000 } }, { lease: 1, headers: 'draft-11' }),
    settings: { naming: 'camel' } as const,
  },
  world: { due: () => Date.now() } as ServiceWorld,
})

try {
  for (const callers of [1, 10_000]) console.log(`a check, ${callers} callers: ${(await check(callers)).toFixed(2)} µs`)
  console.log(`a first request of a window, SQLite on disk: ${(await firstCheck()).toFixed(1)} µs`)
  console.log(`a read of one item with a quota, of one without: ${(await timeRatio()).toFixed(3)}`)
} finally {
  rmSync(folder, { recursive: true })
}

/** One check with its headers, in microseconds: the median of several batches. */
async function check(callers: number): Promise<number> {
  const store = { execute: async () => ({ is: 'spent', used: 1, until: Date.now() + 3_600_000 }) } as unknown as Store
  const all = Array.from({ length: callers }, (_, n) => ({ ...nobody, id: `key:caller-${n}`, tier: 'pro' }))
  const context = { ...contextOf(), store }
  for (const caller of all) await spendQuota(context, call, caller)
  const batch = 100_000
  const times: number[] = []
  for (let round = 0; round < 11; round++) {
    const began = performance.now()
    for (let n = 0; n < batch; n++) {
      const rate = spendQuota(context, call, all[n % callers] as (typeof all)[number])
      if (rate instanceof Promise) throw new Error('A check in the process must not be asynchronous.')
      admitQuota(rate)
      addQuotaHeaders({ status: 200, headers: {}, body: null }, rate)
    }
    times.push(((performance.now() - began) * 1000) / batch)
  }
  return median(times)
}

/**
 * Reads of one item through the whole corridor, without a socket, with and without a quota, in short batches in turn: the ratio
 * of their times. Over a socket the ratio is smaller.
 */
async function timeRatio(): Promise<number> {
  const [without, counted] = [await readerOf({}), await readerOf({ anonymous: { hourly: 1_000_000_000 } })]
  const shares: number[] = []
  for (let round = 0; round < 300; round++) {
    const [before, after] = round % 2 ? [await without(), await counted()] : await countedFirst(without, counted)
    if (round >= 50) shares.push(after / before)
  }
  return median(shares)
}

async function countedFirst(without: () => Promise<number>, counted: () => Promise<number>): Promise<[number, number]> {
  const after = await counted()
  return [await without(), after]
}

/** Makes a service with one book; the returned function measures 1,000 reads of it. */
async function readerOf(tiers: DeclaredTiers): Promise<() => Promise<number>> {
  const own = service({ ...library.declaration, tiers })
  const store = openSqlite(
    'sqlite::memory:',
    [...own.resources.values()].map(({ collection }) => collection),
    'apply',
  )
  const world = serviceWorld(realWorld, store)
  const log = { error: console.error, warn: () => {}, info: () => {} }
  const context = { service: own, store, world, authenticate: callerGate(own, store, world), log, open: () => true }
  const body = JSON.stringify({ title: 'Emma', status: 'listed', price: '9.50', blurb: 'x'.repeat(200) })
  const headers = { 'content-type': 'application/json' }
  const created = await fetchDoor(context)(new Request('http://localhost/books', { method: 'POST', body, headers }))
  const { id } = (await created.json()) as { id: string }
  const raw = ['host', 'localhost']
  const read: Call = {
    ...{ method: 'GET', target: `/books/${id}`, authority: null, http: '1.1', headers: { host: 'localhost' }, raw },
    ...{ id: 'a', content: null, address: '127.0.0.1' },
  }
  return async () => {
    const began = performance.now()
    for (let n = 0; n < 1000; n++) {
      const { status } = await handle(read, context)
      if (status !== 200) throw new Error(`A read was answered with ${status}.`)
    }
    return performance.now() - began
  }
}

/** Checks that have to ask the store, on disk: each for a new caller, 64 at a time, in microseconds. */
async function firstCheck(): Promise<number> {
  const store = openSqlite(`sqlite:${join(folder, 'first.db')}`, [], 'apply')
  const context = { ...contextOf(), store }
  const [count, parallel] = [20_000, 64]
  let next = 0
  const began = performance.now()
  const client = async () => {
    while (next < count) await spendQuota(context, call, { ...nobody, id: `key:new-${next++}`, tier: 'pro' })
  }
  await Promise.all(Array.from({ length: parallel }, client))
  const took = ((performance.now() - began) * 1000) / count
  await store.close()
  return took
}
