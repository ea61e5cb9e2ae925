/** API keys: their format, how they are sealed for the store, and their holders. Part 5, authentication. */
import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Credential, callerOf } from '../flow/credential.ts'
import { clientBlock } from '../flow/network.ts'
import type { Store } from '../flow/store.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { findKeys } from './key-table.ts'
import { makeLookups } from './lookups.ts'
import type { AuthVerdict } from './verdict.ts'

const prefix = 'bylaw_'
const keyDigits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keyPattern = /^bylaw_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/

/** How many keys of one name may be in force at a time: the current one, and its replacement. */
export const mostKeysOfName = 2

/** A key of 256 random bits, with a prefix and a checksum by which secret scanners recognise it. R163. */
export const newApiKey = (random: Uint8Array): string => {
  const secret = prefix + inDigits(BigInt(`0x${Buffer.from(random).toString('hex')}`), 43)
  return secret + checksum(secret)
}

/** Derives a key from a seed, always the same one; for development only. */
export const apiKeyFromSeed = (seed: string, purpose: string): string =>
  newApiKey(createHmac('sha256', seed).update(purpose).digest())

const checksum = (text: string): string => inDigits(BigInt(crc32(text)), 6)

function inDigits(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; text.length < length; rest /= 62n) text = keyDigits[Number(rest % 62n)] + text
  return text
}

export const isApiKey = (text: string): boolean => text.startsWith(prefix)

/** Whether the checksum of a key is right; mistyped and made-up keys are refused without a query. */
export const hasValidChecksum = (key: string): boolean =>
  keyPattern.test(key) && checksum(key.slice(0, -6)) === key.slice(-6)

/** The stored form of a key: without the pepper, a reader of the store cannot test keys against it. R172. */
export const sealKey = (key: string, pepper: string): string =>
  createHmac('sha256', pepper).update(key).digest('base64url')

/** How long a node may still accept a key that another node has revoked, in milliseconds. */
const keyLife = 1000

const unknownKey: AuthVerdict = {
  refused: 'The API key is not valid: it is unknown, revoked or expired. Send a valid one.',
  guessed: true,
}

/** Finds the holders of keys. */
export interface Keyring {
  /** Looks up a key that was valid a moment ago. Not throttled, as it cannot be a guess. */
  readonly renew: (key: string) => AuthVerdict | Promise<AuthVerdict>
  /** Looks up a key that is not known to be valid; such lookups are throttled. */
  readonly find: (key: string, address: string) => AuthVerdict | Promise<AuthVerdict>
}

/** Finds keys by their seals, so that the time of a comparison reveals nothing about a key. R172. */
export function keyring(
  store: Pick<Store, 'execute'>,
  peppers: readonly string[],
  world: Pick<ServiceWorld, 'due' | 'monotonic' | 'after'>,
): Keyring {
  const find = makeLookups(holders, world)
  const isAsked = (key: string) => hasValidChecksum(key) && peppers.length > 0
  return {
    renew(key) {
      if (!isAsked(key)) return unknownKey
      const verdicts = holders([key])
      return verdicts instanceof Promise ? verdicts.then(([one]) => one as AuthVerdict) : (verdicts[0] as AuthVerdict)
    },
    find: (key, address) => (isAsked(key) ? find(key, clientBlock(address)) : unknownKey),
  }

  function holders(keys: readonly string[]): readonly AuthVerdict[] | Promise<readonly AuthVerdict[]> {
    const seals = keys.map((key) => peppers.map((pepper) => sealKey(key, pepper)))
    const credentials = findKeys(store, seals.flat())
    return credentials instanceof Promise ? credentials.then((one) => judged(seals, one)) : judged(seals, credentials)
  }

  function judged(seals: readonly (readonly string[])[], credentials: readonly Credential[]): AuthVerdict[] {
    const bySeal = new Map(credentials.map((one) => [one.hash, one]))
    const time = world.due()
    return seals.map((own) => {
      const one = own.map((seal) => bySeal.get(seal)).find((one) => one !== undefined)
      if (!one || !isInForce(one, time)) return unknownKey
      const caller = Object.freeze({ ...callerOf(`key:${one.name}`, one), key: one.name })
      return { caller, until: Math.min(time + keyLife, one.expires ?? Infinity) }
    })
  }
}

export const isInForce = ({ revoked, expires }: Credential, now: number): boolean =>
  revoked === null && (expires === null || expires > now)
