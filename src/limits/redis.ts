/** Redis: counts quotas in Redis or Valkey instead of the database. Part 8, request counts. */
import { Problem } from '../errors/problem.ts'
import type { Ledger } from './quota-table.ts'

export interface RedisLedger {
  readonly ledger: Ledger
  readonly close: () => void
}

/** Atomic on the server: every window gets an expiry, and all nodes use the server's clock. */
export const spendScript = `local used = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[2])
  redis.call('PEXPIRE', KEYS[1], left)
end
return { used, left }`

const patience = 1000

/** Connects at once, and throws if that fails. After later failures, requests with quotas are refused. R161, R184. */
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
  let reason: unknown // the error of connect() lacks the cause, which this event has
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
