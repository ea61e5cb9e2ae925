/** API keys in the store: found, listed, issued and revoked, and never more in force than may be. The cellar. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Credential } from '../../src/flow/credential.ts'
import type { Outcome } from '../../src/flow/outcome.ts'
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
const found = (outcome: Outcome): readonly Credential[] =>
  outcome.is === 'credentials' ? outcome.credentials : assert.fail(outcome.is)

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
    const issue = async (one: Credential, most = 2) => store.execute({ do: 'issue', credential: one, most })
    const named = async (name: string | null) => found(await store.execute({ do: 'keys', name }))
    const revoke = async (ids: string[], time: number) => found(await store.execute({ do: 'revoke', ids, time }))

    test('what was issued is found by what it is sealed as, and by nothing else', async () => {
      const one = credential('found', { account: 'acc_1', expires: 9_007_199_254_740_991 })
      assert.deepEqual(found(await issue(one)), [one])
      const ask = async (...hashes: string[]) => found(await store.execute({ do: 'identify', hashes }))
      assert.deepEqual(await ask('no such hash', one.hash), [one])
      assert.deepEqual(await ask('no such hash'), [])
      assert.deepEqual(await named('found'), [one])
      assert.ok((await named(null)).some(({ id }) => id === one.id))
    })
    test('of those who issue at once, only as many succeed as may be in force', async () => {
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => issue(credential('crowd'))))
      assert.equal(outcomes.filter(({ is }) => is === 'credentials').length, 2)
      assert.equal(outcomes.filter(({ is }) => is === 'duplicate').length, 8)
      assert.equal((await named('crowd')).length, 2)
    })
    test('what is revoked or has expired makes room, and is revoked once', async () => {
      const [first, second] = [credential('room'), credential('room', { expires: 5000 })]
      await issue(first)
      await issue(second)
      assert.equal((await issue(credential('room'))).is, 'duplicate')
      assert.deepEqual(await revoke([first.id, 'key_none'], 3000), [{ ...first, revoked: 3000 }])
      assert.deepEqual(await revoke([first.id], 4000), [])
      assert.equal((await issue(credential('room', { created: 4999 }))).is, 'credentials')
      assert.equal((await issue(credential('room', { created: 4999 }))).is, 'duplicate')
      assert.equal((await issue(credential('room', { created: 5000 }))).is, 'credentials')
      assert.equal((await named('room')).length, 4)
    })
  })
