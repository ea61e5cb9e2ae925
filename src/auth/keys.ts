/** API keys: how they look, how they are sealed for the store, and whose they are. Part 5, authentication. */
import { createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Credential, callerOf } from '../flow/credential.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Store } from '../flow/store.ts'
import type { Verdict } from './verdict.ts'

const prefix = 'bylaw_'
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const form = /^bylaw_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/

/** As many keys of one name are in force at a time: the one that is used, and the one that takes its place. */
export const mostOfName = 2

/** A key of 256 random bits, with a prefix and a checksum that scanners of secrets know it by. R163. */
export const newKey = (random: Uint8Array = randomBytes(32)): string => {
  const secret = prefix + inDigits(BigInt(`0x${Buffer.from(random).toString('hex')}`), 43)
  return secret + checksum(secret)
}

/** The same key for the same seed, for the time of development. */
export const keyFrom = (seed: string, purpose: string): string =>
  newKey(createHmac('sha256', seed).update(purpose).digest())

const checksum = (text: string): string => inDigits(BigInt(crc32(text)), 6)

function inDigits(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text
}

export const isKey = (text: string): boolean => text.startsWith(prefix)

/** Whether a key is whole: one that was mistyped or made up is told without asking the store. */
export const isWhole = (key: string): boolean => form.test(key) && checksum(key.slice(0, -6)) === key.slice(-6)

/** What a key is stored as: without the pepper, nobody who reads the store can try keys against it. R172. */
export const sealed = (key: string, pepper: string): string =>
  createHmac('sha256', pepper).update(key).digest('base64url')

/** How long it can take until a node knows that a key was revoked by another one. */
const keyLife = 1000

const unknown: Verdict = {
  refused: 'The API key is not valid: it is unknown, revoked or expired. Send one that is in force.',
  guessed: true,
}

/** Whose key it is. Keys are found by what they are sealed as, so that no time tells how near a guess is. R172. */
export function keyring({ execute }: Pick<Store, 'execute'>, peppers: readonly string[], now: () => number) {
  return (key: string): Verdict | Promise<Verdict> => {
    if (!isWhole(key) || peppers.length === 0) return unknown
    const found = execute({ do: 'identify', hashes: peppers.map((pepper) => sealed(key, pepper)) })
    return found instanceof Promise ? found.then(judged) : judged(found)
  }

  function judged(outcome: Outcome): Verdict {
    const [one] = outcome.is === 'credentials' ? outcome.credentials : []
    const time = now()
    if (!one || !isInForce(one, time)) return unknown
    return { caller: callerOf(`key:${one.name}`, one), until: Math.min(time + keyLife, one.expires ?? Infinity) }
  }
}

export const isInForce = ({ revoked, expires }: Credential, now: number): boolean =>
  revoked === null && (expires === null || expires > now)
