/** Quotas that are counted in Redis: together, by its clock, and refused while it is unavailable. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Problem } from '../../src/errors/problem.ts'
import { makeMeter } from '../../src/limits/meter.ts'
import { type RedisLedger, redisLedger } from '../../src/limits/redis.ts'
import type { QuotaPolicy } from '../../src/limits/tier.ts'
import { type Redis, servers } from '../help/redis.ts'
import { until } from '../help/until.ts'

const spend = (name: string, amount: number, window = 60_000, time = Date.now()) =>
  ({ name, amount, time, until: time + window }) as const

for (const { name, start, skip } of servers) {
  describe(name, () => {
    let redis: Redis
    let [one, two]: RedisLedger[] = []
    before(async () => {
      if (skip) return
      redis = await start()
      one = await redisLedger(redis.url)
      two = await redisLedger(redis.url)
    })
    after(async () => {
      one?.close()
      two?.close()
      await redis?.stop()
    })
    const ledgers = () => [one as RedisLedger, two as RedisLedger] as const

    it('counts requests of two nodes together, for each name separately', { skip }, async () => {
      const [a, b] = ledgers()
      assert.equal((await a.ledger(spend('free/hourly/x', 3))).used, 3)
      const spent = await b.ledger(spend('free/hourly/x', 4))
      assert.equal(spent.used, 7)
      assert.ok(spent.until > Date.now() + 50_000 && spent.until <= Date.now() + 60_000)
      assert.equal((await a.ledger(spend('free/hourly/x', -1))).used, 6)
      assert.equal((await b.ledger(spend('free/hourly/y', 1))).used, 1)
    })

    it('begins again when a window is over', { skip }, async () => {
      const [a, b] = ledgers()
      let [name, used] = ['', 0]
      for (let tries = 0; used !== 6; tries++) {
        assert.ok(tries < 10, `${used} were used`) // on a busy machine the window may be over before the second request
        name = `z${tries}`
        await a.ledger(spend(name, 5, 300))
        used = (await b.ledger(spend(name, 1, 300))).used
      }
      await until(async () => (await b.ledger(spend(name, 1, 300))).used === 1)
    })

    it('has one clock for nodes whose own clocks differ', { skip }, async () => {
      const [a, b] = ledgers()
      await a.ledger(spend('clock', 1))
      const hour = 3_600_000
      const { used, until } = await b.ledger(spend('clock', 1, 60_000, Date.now() - hour))
      assert.equal(used, 2)
      assert.ok(until - (Date.now() - hour) <= 60_000)
    })

    it('nodes grant a quota and at most their leases beyond it', { skip }, async () => {
      const [a, b] = ledgers()
      const policy: QuotaPolicy = {
        tier: 'free',
        name: 'hourly',
        quota: 500,
        window: 60_000,
        partition: 'caller',
        lease: 5,
      }
      const nodes = [makeMeter(a.ledger), makeMeter(b.ledger)] as const
      const all = await Promise.all(
        Array.from({ length: 1200 }, async (_, n) => {
          await pause(n % 40) // requests arrive one after another, as leases end and begin
          return (await nodes[(n % 2) as 0 | 1]([{ policy, partition: 'many' }], Date.now())).granted
        }),
      )
      const granted = all.filter((each) => each).length
      assert.ok(granted >= 500 && granted <= 505, String(granted))
    })
  })

  it(`${name} that is lost refuses counted requests at once, and is used again when it is back`, {
    skip,
  }, async () => {
    const first = await start()
    const { ledger, close } = await redisLedger(first.url)
    const policy: QuotaPolicy = {
      tier: 'free',
      name: 'hourly',
      quota: 1000,
      window: 60_000,
      partition: 'caller',
      lease: 10,
    }
    const node = makeMeter(ledger)
    const ask = async () => node([{ policy, partition: 'a' }], Date.now())
    assert.equal((await ask()).granted, true)
    await first.stop()
    for (let n = 0; n < 10; n++) assert.equal((await ask()).granted, true, 'a lease needs nobody')
    for (let n = 0; n < 3; n++)
      await assert.rejects(ask, (error: unknown) => error instanceof Problem && error.type === 'dependency-unavailable')
    const again = await start(Number(new URL(first.url).port))
    try {
      await until(() =>
        ask().then(
          (taken) => taken.granted,
          () => false,
        ),
      )
    } finally {
      close()
      await again.stop()
    }
  })

  it(`${name} that is unreachable, or wants another password, refuses the start`, { skip }, async () => {
    const locked = await start(undefined, 'sesame-open')
    try {
      await assert.rejects(redisLedger(locked.url.replace('sesame-open', 'wrong')))
      const { ledger, close } = await redisLedger(locked.url)
      assert.equal((await ledger(spend('a', 1))).used, 1)
      close()
    } finally {
      await locked.stop()
    }
    await assert.rejects(redisLedger(locked.url))
  })
}
