/** Database state: when it is asked for and when it is not, on fake connections. The store. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { testWorld } from '../../test/help/world.ts'
import type { Collection } from '../rows/collection.ts'
import type { Connection } from './connect.ts'
import { canReadState, databaseStates } from './database-state.ts'

const snapshot = (n: number) => `1.5 0/16B3740 ${n}:${n}:`

function stateOnFakes(answer: (n: number) => string | null) {
  const own = { asked: 0, losses: 0 }
  const ask = async () => [{ state: answer(own.asked++) }]
  const pool = { share: () => ({ ask }) as unknown as Connection, losses: () => own.losses }
  return { own, state: databaseStates(pool, testWorld()).now }
}

test('requests of one turn ask once, later ones ask again', async () => {
  const { own, state } = stateOnFakes((n) => snapshot(n))
  const first = [state(), state(), state()]
  await turn()
  const later = state()
  const [one, ...same] = await Promise.all(first)
  assert.deepEqual(same, [one, one])
  assert.notEqual(await later, one)
  assert.equal(own.asked, 2)
})

test('under constant writes the state is not asked for a while', async () => {
  const { own, state } = stateOnFakes((n) => snapshot(n))
  for (let n = 0; n < 50; n++) await state()
  assert.equal(own.asked, 32)
  assert.equal(await state(), null)
  const calm = stateOnFakes((n) => snapshot(n >> 1))
  for (let n = 0; n < 50; n++) assert.notEqual(await calm.state(), null)
  assert.equal(calm.own.asked, 50)
})

test('a state from before a lost connection, or older than the last snapshot, is not used', async () => {
  const { own, state } = stateOnFakes(() => snapshot(7))
  const first = await state()
  assert.equal(await state(), first)
  own.losses++
  const second = await state()
  assert.notEqual(second, first)
  assert.equal(await state(), second)
  const back = stateOnFakes((n) => snapshot([9, 8, 9][n] as number))
  const [nine, eight, again] = [await back.state(), await back.state(), await back.state()]
  assert.equal(new Set([nine, eight, again]).size, 3)
})

test('a database without a state is not cached', async () => {
  const { state } = stateOnFakes(() => {
    throw new Error('away')
  })
  assert.equal(await state(), null)
  assert.equal(await stateOnFakes(() => null).state(), null)
})

test('only PostgreSQL itself, with its own tables and a readable state, reports its state', async () => {
  const tables = [{ table: 'books' }, { table: 'shelves' }] as unknown as Collection[]
  const on = 'on x86_64-pc-linux-gnu, compiled by gcc, 64-bit'
  const tells = (version: string, row = {}, state: string | null = snapshot(1)) =>
    canReadState({ ask: async ({ lists }) => [lists ? { version, heaps: 2, ...row } : { state }] }, tables)
  for (const version of [
    'PostgreSQL 17.4',
    'PostgreSQL 15.18 (Debian 15.18-0+deb12u1)',
    'PostgreSQL 16.2 (Ubuntu 16.2-1)',
  ])
    assert.equal(await tells(`${version} ${on}`), true, version)
  for (const version of [
    `PostgreSQL 11.2-YB-2.20.1.0-b0 ${on}`,
    `PostgreSQL 12.12 (Greenplum Database 7.0.0) ${on}`,
    `CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024)`,
    'PostgreSQL 16',
  ])
    assert.equal(await tells(version), false, version)
  assert.equal(await tells(`PostgreSQL 17.4 ${on}`, { heaps: 1 }), false)
  assert.equal(await tells(`PostgreSQL 17.4 ${on}`, { elsewhere: true }), false)
  assert.equal(await tells(`PostgreSQL 17.4 ${on}`, {}, null), false)
  const refuses = canReadState({ ask: () => Promise.reject(new Error('no such function')) }, tables)
  assert.equal(await refuses, false)
})
