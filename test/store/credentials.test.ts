/** API keys in the store: found, listed, issued and revoked, and the limit of valid ones. The store. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { findKeys, issueKey, listKeys, revokeKeys } from '../../src/auth/key-table.ts'
import type { Credential } from '../../src/flow/credential.ts'
import type { Store } from '../../src/flow/store.ts'
import { openStore } from '../../src/terminal/open.ts'
import { freshPostgres } from '../help/postgres.ts'
import { staff } from '../help/staff.ts'

let count = 0
const credential = (name: string, more: Partial<Credential> = {}): Credential => ({
  id: `key_${++count}`,
  name,
  hash: `hash ${count}`,
  account: null,
  scopes: ['files:read'],
  tier: 'pro',
  features: ['a'],
  created: 1000 + count,
  expires: null,
  revoked: null,
  ...more,
})
for (const kind of ['SQLite', 'PostgreSQL'] as const)
  describe(`keys on ${kind}`, () => {
    let store: Store
    let drop = async () => {}
    before(async () => {
      let url = 'sqlite::memory:'
      if (kind === 'PostgreSQL') ({ url, drop } = await freshPostgres())
      store = await openStore(staff, url, 'apply')
    })
    after(async () => {
      await store.close()
      await drop()
    })
    const issue = (one: Credential, most = 2) => issueKey(store, one, most)
    const named = (name: string | null) => listKeys(store, name)
    const revoke = (ids: string[], time: number) => revokeKeys(store, ids, time)

    test('a credential is found by its hash only', async () => {
      const one = credential('found', { account: 'acc_1', expires: 9_007_199_254_740_991 })
      assert.equal(await issue(one), true)
      const ask = async (...hashes: string[]) => findKeys(store, hashes)
      assert.deepEqual(await ask('no such hash', one.hash), [one])
      assert.deepEqual(await ask('no such hash'), [])
      assert.deepEqual(await named('found'), [one])
      assert.ok((await named(null)).some(({ id }) => id === one.id))
    })
    test('of concurrent issues only as many succeed as may be in force', async () => {
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => issue(credential('crowd'))))
      assert.equal(outcomes.filter((one) => one).length, 2)
      assert.equal(outcomes.filter((one) => !one).length, 8)
      assert.equal((await named('crowd')).length, 2)
    })
    test('a revoked or expired credential makes room, and is revoked once', async () => {
      const [first, second] = [credential('room'), credential('room', { expires: 5000 })]
      await issue(first)
      await issue(second)
      assert.equal(await issue(credential('room')), false)
      assert.deepEqual(await revoke([first.id, 'key_none'], 3000), [{ ...first, revoked: 3000 }])
      assert.deepEqual(await revoke([first.id], 4000), [])
      assert.equal(await issue(credential('room', { created: 4999 })), true)
      assert.equal(await issue(credential('room', { created: 4999 })), false)
      assert.equal(await issue(credential('room', { created: 5000 })), true)
      assert.equal((await named('room')).length, 4)
    })
  })
