import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import type { Credential } from '../flow/credential.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Plan } from '../flow/plan.ts'
import { type TableRow, tablePlan } from '../flow/table.ts'
import { findKeysByHash } from './key-table.ts'
import { apiKeyFromSeed, hasValidChecksum, isApiKey, keyring, newApiKey, sealKey } from './keys.ts'

const world = { ...testWorld(), due: () => 1000 }

test('a key is a prefix, 256 bits and a checksum, in letters and digits', () => {
  const keys = Array.from({ length: 50 }, () => newApiKey(randomBytes(32)))
  assert.equal(new Set(keys).size, keys.length)
  for (const key of keys) {
    assert.match(key, /^bylaw_[0-9A-Za-z]{49}$/)
    assert.ok(isApiKey(key) && hasValidChecksum(key))
  }
  const most = newApiKey(new Uint8Array(32).fill(255))
  const least = newApiKey(new Uint8Array(32))
  assert.ok(least.startsWith(`bylaw_${'0'.repeat(43)}`))
  assert.equal(most.length, least.length)
})

test('the same seed makes the same key, and another purpose another key', () => {
  assert.equal(apiKeyFromSeed('seed', 'dev'), apiKeyFromSeed('seed', 'dev'))
  assert.notEqual(apiKeyFromSeed('seed', 'dev'), apiKeyFromSeed('seed', 'other'))
  assert.notEqual(apiKeyFromSeed('seed', 'dev'), apiKeyFromSeed('need', 'dev'))
})

test('a key with one changed character has a wrong checksum', () => {
  const key = newApiKey(randomBytes(32))
  for (let i = 6; i < key.length; i++) {
    const other = key.slice(0, i) + (key[i] === 'a' ? 'b' : 'a') + key.slice(i + 1)
    assert.equal(hasValidChecksum(other), false, other)
  }
  for (const one of [
    key.slice(0, -1),
    `${key}0`,
    key.toLowerCase(),
    `${key}\n`,
    'bylaw_',
    key.replace('bylaw_', 'other_'),
  ])
    assert.equal(hasValidChecksum(one), false, one)
})

/** A key as its table has it. */
const rowOf = ({ account, scopes, tier, features, ...rest }: Credential): TableRow => ({
  ...rest,
  holder: JSON.stringify({ account, scopes, tier, features }),
})

test('a key with a wrong checksum is refused without asking the store, and look-ups use hashes', async () => {
  const asked: Plan[] = []
  const key = newApiKey(randomBytes(32))
  const found: Credential[] = []
  const execute = (plan: Plan): Outcome => {
    asked.push(plan)
    return { is: 'rows', rows: found.map(rowOf) }
  }
  const { find, renew } = keyring({ execute }, ['one pepper', 'the one before'], world)
  const whose = async (text: string) => [await find(text, ''), await renew(text)].find((one) => 'refused' in one) ?? {}
  assert.ok('refused' in (await whose(`${key.slice(0, -1)}!`)))
  assert.ok('refused' in (await whose('bylaw_short')))
  assert.equal(asked.length, 0)
  assert.ok('refused' in (await whose(key)))
  const hashes = [sealKey(key, 'one pepper'), sealKey(key, 'the one before')]
  const plan = tablePlan(findKeysByHash, { hashes })
  assert.deepEqual(asked, [plan, plan])
  assert.ok(!JSON.stringify(asked).includes(key.slice(6, 20)))
  assert.ok('refused' in (await keyring({ execute }, [], world).find(key, '')), 'without a pepper no key is taken')
  assert.equal(asked.length, 2)
})

test('unknown, revoked and expired keys get the same answer', async () => {
  const key = newApiKey(randomBytes(32))
  const one = {
    id: 'key_1',
    name: 'ci',
    hash: sealKey(key, 'pepper'),
    account: null,
    scopes: ['a'],
    tier: null,
    features: [],
    created: 0,
  }
  const ask = (found: Credential[]) =>
    keyring({ execute: () => ({ is: 'rows', rows: found.map(rowOf) }) }, ['pepper'], world).find(key, '')
  const unknown = await ask([])
  assert.ok('refused' in unknown)
  assert.deepEqual(await ask([{ ...one, expires: null, revoked: 5 }]), unknown)
  assert.deepEqual(await ask([{ ...one, expires: 1000, revoked: null }]), unknown)
  const known = await ask([{ ...one, expires: 1001, revoked: null }])
  assert.ok('caller' in known)
  assert.deepEqual([known.until, known.caller.id, [...known.caller.scopes]], [1001, 'key:ci', ['a']])
})
