/** Counting in any order of events: at most the quota and the leases are granted, and at least the quota. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Meter, makeMeter } from '../../src/limits/meter.ts'
import type { Ledger } from '../../src/limits/quota-table.ts'
import type { QuotaPolicy } from '../../src/limits/tier.ts'

const window = 1000
const policyOf = (quota: number, lease: number, name = 'hourly'): QuotaPolicy => ({
  ...{ tier: 'free', name, quota, window, partition: 'caller', lease },
})

/** A ledger that all nodes share, like a store. */
function shared(): { ledger: Ledger; asked: () => number } {
  const rows = new Map<string, { used: number; until: number }>()
  let asked = 0
  const ledger: Ledger = async ({ name, amount, time, until }) => {
    asked++
    const row = rows.get(name)
    const next =
      row && row.until > time && row.until <= 2 * until - time
        ? { used: row.used + amount, until: row.until }
        : { used: amount, until }
    rows.set(name, next)
    return next
  }
  return { ledger, asked: () => asked }
}

/** A ledger whose answers arrive in the order of the scheduler. */
const slow = (ledger: Ledger, scheduler: fc.Scheduler): Ledger => {
  const scheduled = scheduler.scheduleFunction((plan: Parameters<Ledger>[0]) => ledger(plan))
  return (plan) => scheduled(plan)
}

interface Asked {
  readonly node: number
  readonly time: number
}

/** Sends requests one after the other without waiting for answers; returns whether each was granted. */
async function granted(
  nodes: readonly Meter[],
  policies: readonly QuotaPolicy[],
  requests: readonly Asked[],
  scheduler: fc.Scheduler,
): Promise<readonly boolean[]> {
  const charges = policies.map((policy) => ({ policy, partition: 'a' }))
  const sent = scheduler.scheduleSequence(
    requests.map(({ node, time }, n) => ({
      label: `request ${n}`,
      builder: async () => {
        answers[n] = Promise.resolve((nodes[node] as Meter)(charges, time)).then((taken) => taken.granted)
      },
    })),
  )
  const answers: Promise<boolean>[] = []
  await scheduler.waitFor(sent.task)
  return scheduler.waitFor(Promise.all(answers))
}

const count = (all: readonly boolean[]): number => all.filter((one) => one).length

const scene = fc.record({
  nodes: fc.integer({ min: 1, max: 4 }),
  quota: fc.integer({ min: 1, max: 30 }),
  lease: fc.integer({ min: 0, max: 6 }),
  order: fc.array(fc.nat(), { maxLength: 80 }),
  scheduler: fc.scheduler(),
})

test('in one window nodes grant the whole quota, and at most one lease each beyond it', async () => {
  await fc.assert(
    fc.asyncProperty(scene, async ({ nodes, quota, lease, order, scheduler }) => {
      const { ledger } = shared()
      const all = Array.from({ length: nodes }, () => makeMeter(slow(ledger, scheduler)))
      const requests = order.map((n) => ({ node: n % nodes, time: 0 }))
      const got = count(await granted(all, [policyOf(quota, lease)], requests, scheduler))
      assert.ok(got >= Math.min(quota, requests.length), `${got} of ${requests.length} at a quota of ${quota}`)
      assert.ok(got <= quota + (nodes - 1) * lease, `${got} at a quota of ${quota}, ${nodes} nodes with ${lease} each`)
    }),
    { numRuns: 1500 },
  )
})

test('one node alone is exact with any lease, and asks once for each lease', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 9 }), async (quota, lease) => {
      const { ledger, asked } = shared()
      const one = makeMeter(ledger)
      const charges = [{ policy: policyOf(quota, lease), partition: 'a' }]
      for (let n = 1; n <= quota + 5; n++) {
        const taken = await one(charges, n)
        assert.deepEqual(taken.granted, n <= quota)
        assert.deepEqual(taken.balances, [
          { policy: charges[0]?.policy, left: Math.max(0, quota - n), until: 1 + window },
        ])
      }
      assert.ok(asked() <= Math.ceil(quota / (lease + 1)) + 1, `${asked()} questions`)
    }),
    { numRuns: 300 },
  )
})

test('each window keeps its quota, and any span of that length at most two quotas', async () => {
  const events = fc.array(fc.record({ node: fc.nat(), pause: fc.integer({ min: 0, max: 400 }) }), { maxLength: 120 })
  await fc.assert(
    fc.asyncProperty(scene, events, async ({ nodes, quota, lease, scheduler }, given) => {
      const { ledger } = shared()
      const ends: number[] = []
      const noting: Ledger = async (plan) => {
        const spent = await ledger(plan)
        if (ends.at(-1) !== spent.until) ends.push(spent.until)
        return spent
      }
      const all = Array.from({ length: nodes }, () => makeMeter(slow(noting, scheduler)))
      const charges = [{ policy: policyOf(quota, lease), partition: 'a' }]
      let time = 0
      const counts = new Map<number, number>()
      for (const { node, pause } of given) {
        time += pause
        const taken = await scheduler.waitFor(Promise.resolve((all[node % nodes] as Meter)(charges, time)))
        const [standing] = taken.balances
        assert.ok(standing && standing.until > time, 'a window that is over')
        if (taken.granted) counts.set(standing.until, (counts.get(standing.until) ?? 0) + 1)
      }
      for (const [i, end] of ends.entries()) if (i > 0) assert.ok(end - (ends[i - 1] as number) >= window)
      for (const got of counts.values()) assert.ok(got <= quota + (nodes - 1) * lease)
    }),
    { numRuns: 600 },
  )
})

test('a request that one of several quotas refuses counts against none of them', async () => {
  await fc.assert(
    fc.asyncProperty(scene, fc.integer({ min: 1, max: 30 }), async ({ quota, lease, order, scheduler }, other) => {
      const { ledger } = shared()
      const one = makeMeter(slow(ledger, scheduler))
      const policies = [policyOf(quota, lease), policyOf(other, lease, 'burst')]
      const requests = order.map(() => ({ node: 0, time: 0 }))
      const got = count(await granted([one], policies, requests, scheduler))
      assert.ok(got <= Math.min(quota, other))
      if (requests.length <= Math.min(quota, other)) assert.equal(got, requests.length)
      const after = await scheduler.waitFor(
        Promise.resolve(one([{ policy: policies[0] as QuotaPolicy, partition: 'a' }], 0)),
      )
      assert.equal(after.granted, got < quota)
      if (after.granted) assert.equal(after.balances[0]?.left, quota - got - 1)
    }),
    { numRuns: 600 },
  )
})

test('a failing store of quotas refuses requests, and nothing is lost when it is back', async () => {
  const { ledger } = shared()
  let broken = false
  const one = makeMeter((plan) => (broken ? Promise.reject(new Error('down')) : ledger(plan)))
  const charges = [{ policy: policyOf(10, 2), partition: 'a' }]
  for (let n = 0; n < 3; n++) assert.equal((await one(charges, 0)).granted, true)
  broken = true
  for (let n = 0; n < 3; n++) await assert.rejects(async () => one(charges, 0), /down/)
  broken = false
  const rest = []
  for (let n = 0; n < 10; n++) rest.push((await one(charges, 0)).granted)
  assert.equal(count(rest), 7)
})

test('callers are counted separately, and a limited number is remembered', async () => {
  const { ledger, asked } = shared()
  const one = makeMeter(ledger, 100)
  const policy = policyOf(10, 5)
  const use = (partition: string, time: number) => one([{ policy, partition }], time)
  for (let round = 0; round < 6; round++)
    for (let n = 0; n < 1000; n++) assert.equal((await use(`c${n}`, round)).granted, true)
  assert.ok(asked() >= 6000, 'each was forgotten, and asked for again')
  // Spent requests are not forgotten with the callers: 6 of 10 are used.
  const rest = []
  for (let n = 0; n < 6; n++) rest.push((await use('c7', 10)).granted)
  assert.deepEqual(rest, [true, true, true, true, false, false])
})

test('forgetting a caller does not give it its lease again', async () => {
  const { ledger } = shared()
  const one = makeMeter(ledger, 1)
  const policy = policyOf(20, 10)
  const use = (partition: string) => one([{ policy, partition }], 0)
  let got = 0
  for (let n = 0; n < 30; n++) {
    for (let k = 0; k < 5; k++) if ((await use('a')).granted) got++
    await use('b')
    await new Promise((resolve) => setImmediate(resolve)) // reports that are sent in the background arrive
  }
  assert.equal(got, 20)
})

test('a clock that was ahead does not block callers once it is corrected', async () => {
  const { ledger } = shared()
  const one = makeMeter(ledger)
  const charges = [{ policy: policyOf(3, 1), partition: 'a' }]
  const day = 86_400_000
  for (let n = 0; n < 4; n++) assert.equal((await one(charges, day)).granted, n < 3)
  assert.equal((await one(charges, 0)).granted, true)
})
