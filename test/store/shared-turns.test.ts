/** Proves that processes whose handlers meet at rows take turns, and that a process that died holds up others for a second. R226. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { SharedTurns } from '../../src/handlers/shared-turns.ts'
import { openStore } from '../../src/terminal/open.ts'
import bank from '../help/bank.ts'
import { nodeOn, type Place, places } from '../help/places.ts'
import { until } from '../help/until.ts'

const [clients, rounds] = [20, 4]

for (const [name, place] of places) {
  test(`every transfer of many clients between two accounts takes place, on two nodes (${name})`, async (t) => {
    const where = await place(t)
    const nodes = [nodeOn(where, bank), nodeOn(where, bank)] as const
    for (const { close } of nodes) t.after(close)
    const ids: string[] = []
    for (let i = 0; i < 2; i++) ids.push((await nodes[0].ask('POST', '/accounts', { balance: 1000 })).json.id)
    const client = async (own: number): Promise<number[]> => {
      const statuses: number[] = []
      for (let round = 0; round < rounds; round++) {
        const [from, to] = round % 2 === 0 ? ids : ids.toReversed()
        const { status } = await (nodes[own % 2] as (typeof nodes)[0]).ask('POST', '/transfers', {
          from,
          to,
          amount: 1,
        })
        statuses.push(status)
      }
      return statuses
    }
    const statuses = await Promise.all(Array.from({ length: clients }, (_, own) => client(own)))
    assert.deepEqual(new Set(statuses.flat()), new Set([201]))
    assert.equal((await where.rows('SELECT id FROM transfers')).length, clients * rounds)
  })

  test(`a row of a process that died is free after a second (${name})`, async (t) => {
    const where = await place(t)
    const { turns, world, holder, close } = await opened(where)
    t.after(close)
    const end = world.now() + 1000
    await where.rows(`INSERT INTO bylaw_turns VALUES ('${row}', 'dead', ${end})`)
    await turns.met(row, false)
    assert.ok(turns.isContended(row), 'a process learns from the lease that processes meet there')
    const leave = await turns.take([row], 60_000)
    assert.ok(world.now() >= end, 'it was taken too early')
    assert.notEqual(await holder(), 'dead')
    leave()
    await until(async () => (await holder()) === undefined)
  })

  test(`a process keeps its row as long as it works, and leaves it to others then (${name})`, async (t) => {
    const where = await place(t)
    const [own, other] = [await opened(where), await opened(where)]
    for (const { close } of [own, other]) t.after(close)
    for (const { turns } of [own, other]) await turns.met(row, true)
    const leave = await own.turns.take([row], 60_000)
    const first = await own.holder()
    const giveUp = await other.turns.take([row], 1500) // longer than a lease that is not renewed
    giveUp()
    assert.equal(await own.holder(), first)
    leave()
    const end = await other.turns.take([row], 60_000)
    assert.notEqual(await other.holder(), first)
    end()
    await until(async () => (await own.holder()) === undefined)
  })
}

const row = 'accounts acc_1'

async function opened(where: Place) {
  const store = await openStore(bank, where.url, 'apply')
  const world = serviceWorld(realWorld, store)
  const holder = async () => (await where.rows('SELECT holder FROM bylaw_turns'))[0]?.holder
  return { world, holder, turns: new SharedTurns({ store, world }), close: store.close }
}
