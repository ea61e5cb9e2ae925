/** Redis: counts what is spent of quotas in Redis or Valkey, where the database should not. Part 8, request counts. */
import { Problem } from '../errors/problem.ts'
import type { Ledger } from '../flow/store.ts'

export interface RedisLedger {
  readonly ledger: Ledger
  readonly close: () => void
}

/** One step on the server: no window without an end, and its clock is that of all nodes. */
export const spendScript = `local used = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[2])
  redis.call('PEXPIRE', KEYS[1], left)
end
return { used, left }`

const patience = 1000

/** Connects at once, and refuses where that cannot be done. Later failures refuse what has to be counted. R161, R184. */
export async function redisLedger(url: string): Promise<RedisLedger> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: patience,
    commandTimeout: patience,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: (times) => Math.min(times * 50, patience),
  })
  let reason: unknown // who asks is told that there is no connection; why, is told here
  client.on('error', (error: unknown) => {
    reason = error
  })
  try {
    await client.connect()
    await client.ping()
  } catch (error) {
    client.disconnect()
    throw reason ?? error
  }
  const ledger: Ledger = async ({ name, amount, time, until }) => {
    try {
      const answer = await client.eval(spendScript, 1, `bylaw:quota:${name}`, amount, until - time)
      const [used, left] = answer as [number, number]
      return { used, until: time + left }
    } catch (cause) {
      throw new Problem('dependency-unavailable', 'Requests cannot be counted at the moment. Try again later.', {
        cause,
      })
    }
  }
  return { ledger, close: () => client.disconnect() }
}
