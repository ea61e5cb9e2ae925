/** Rate limit flags: where requests are counted and which proxies are trusted, shared by several commands. */
import { type Network, networkOf } from '../flow/network.ts'
import { type RedisLedger, redisLedger } from '../limits/redis.ts'
import type { Service } from '../service.ts'
import type { CommandInput, Flag } from './command.ts'
import { commandError } from './command-error.ts'

export const rateLimitFlag: Flag = {
  value: 'URL',
  env: 'RATE_LIMIT_URL',
  about: 'A Redis or Valkey that counts requests against quotas, as redis://host:6379; the database unless given.',
}

export const trustedProxiesFlag: Flag = {
  value: 'A,B',
  isList: true,
  env: 'TRUSTED_PROXIES',
  about: 'Addresses or networks of proxies, whose X-Forwarded-For says where a request comes from; none unless given.',
}

/** The Redis that counts requests; undefined if the database counts them or there are no quotas. */
export async function openRateLimitLedger(input: CommandInput, { quotas }: Service): Promise<RedisLedger | undefined> {
  const url = input.flagValue('rate-limit')
  if (url === undefined) return undefined
  const place = redisHostOf(url.text)
  if (place === undefined)
    throw commandError(
      `${url.from} has to be the URL of a Redis or Valkey.`,
      'Give one as redis://host:6379 or rediss://…',
    )
  if (quotas === null) return undefined
  try {
    return await redisLedger(url.text)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_MODULE_NOT_FOUND')
      throw commandError(`${url.from} needs the package ioredis.`, 'Install it beside bylaw:  npm install ioredis')
    throw commandError(`The Redis at ${place} cannot be used: ${code ?? message}.`, 'Start it, or correct the URL.')
  }
}

/** The host of the URL, for messages: the URL can contain a password. */
function redisHostOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && ['redis:', 'rediss:'].includes(url.protocol) && url.host !== '' ? url.host : undefined
}

export function trustedProxiesOf(input: CommandInput): { proxies?: readonly Network[] } {
  const { text, from } = input.flagValue('trusted-proxies') ?? { text: '', from: '' }
  const names = text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  const proxies = names.map((one) => networkOf(one) ?? one)
  const stray = proxies.find((one) => typeof one === 'string')
  if (stray !== undefined)
    throw commandError(
      `${from} has to be addresses or networks, and "${stray}" is neither.`,
      'Give them as 10.0.0.0/8,::1',
    )
  return proxies.length === 0 ? {} : { proxies: proxies as readonly Network[] }
}
