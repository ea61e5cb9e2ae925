/** Tests idempotency claims on their table: which are kept, released and swept. The store. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import type { Outcome } from '../flow/outcome.ts'
import type { Claim, Create, Plan } from '../flow/plan.ts'
import { encodeRow } from '../resources/document.ts'
import { openSqlite } from '../sqlite/open.ts'
import { claimTable } from './idempotency-claims.ts'

const yard = service({
  name: 'yard',
  resources: {
    carts: { prefix: 'crt', fields: { name: f.text({ unique: true }) }, access: 'public' },
    wagons: { prefix: 'wag', fields: { name: f.text({ unique: true }) }, access: 'public' },
  },
})
const retention = 1000

/** A plan that creates an item with an idempotency key. */
function making(
  collection: 'carts' | 'wagons',
  n: number,
  claim: Partial<Claim> & Pick<Claim, 'hash' | 'time'>,
): Create {
  const resource = yard.resources.get(collection) ?? assert.fail()
  const [id, at] = [`${resource.prefix}_${String(n).padStart(26, '0')}`, new Date(claim.time).toISOString()]
  const row = encodeRow(resource, { id, name: `n${n}`, createdAt: at, updatedAt: at })
  const whole = { fingerprint: 'f', expired: claim.time - retention, keeps: false, ...claim }
  const key = { id, parent: null, account: null }
  return {
    do: 'create',
    collection,
    key,
    parent: null,
    row,
    time: claim.time,
    id: 'fresh',
    references: [],
    claim: whole,
  }
}

function opened(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-'))
  const file = join(folder, 'yard.db')
  const collections = [...yard.resources.values()].map(({ collection }) => collection)
  const store = openSqlite(`sqlite:${file}`, collections, 'apply')
  const db = new DatabaseSync(file, { readOnly: true })
  t.after(async () => {
    db.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const hashes = (collection: string) =>
    db
      .prepare(`SELECT hash FROM ${claimTable.name} WHERE collection = ? ORDER BY hash`)
      .all(collection)
      .map(({ hash }) => hash)
  return { execute: async (plan: Plan): Promise<Outcome> => store.execute(plan), hashes }
}

test('a key is stored with its item, and found until it is released', async (t) => {
  const { execute } = opened(t)
  const claim = (time: number) => making('carts', 1, { hash: 'k', time }).claim as Claim
  const recall = (time: number) => execute({ do: 'recall', claim: claim(time) })
  assert.deepEqual(await recall(5000), { is: 'free' })
  assert.equal((await execute(making('carts', 1, { hash: 'k', time: 5000 }))).is, 'created')
  const known = {
    is: 'claimed',
    collection: 'carts',
    id: 'crt_00000000000000000000000001',
    parent: null,
    fingerprint: 'f',
    answer: null,
  }
  assert.deepEqual(await recall(5000), known)
  assert.deepEqual(await recall(5999), known)
  assert.deepEqual(await recall(6000), { is: 'free' })
  assert.deepEqual(await execute(making('wagons', 2, { hash: 'k', time: 5999, fingerprint: 'other' })), known)
  assert.equal((await execute(making('wagons', 3, { hash: 'k', time: 6000 }))).is, 'created')
  assert.deepEqual(await recall(6500), { ...known, collection: 'wagons', id: 'wag_00000000000000000000000003' })
})

test('a key without expiry is kept', async (t) => {
  const { execute } = opened(t)
  await execute(making('carts', 1, { hash: 'k', time: 0, expired: null }))
  assert.equal((await execute(making('carts', 2, { hash: 'k', time: 1e15, expired: null }))).is, 'claimed')
})

test('the first answer is stored if wanted, and deleted with its key', async (t) => {
  const { execute } = opened(t)
  const first = await execute(making('carts', 1, { hash: 'k', time: 0, keeps: true }))
  const { doc } = first.is === 'created' ? first : assert.fail()
  const again = await execute(making('carts', 2, { hash: 'k', time: 1, keeps: true }))
  assert.deepEqual(again.is === 'claimed' && again.answer, { doc, revision: 1 })
  await execute(making('carts', 3, { hash: 'k', time: retention, keeps: false }))
  const last = await execute(making('carts', 4, { hash: 'k', time: retention, keeps: true }))
  assert.deepEqual(last.is === 'claimed' && [last.id, last.answer], ['crt_00000000000000000000000003', null])
})

test('a failed request leaves no key', async (t) => {
  const { execute, hashes } = opened(t)
  await execute(making('carts', 1, { hash: 'a', time: 0 }))
  assert.equal((await execute(making('carts', 1, { hash: 'b', time: 0 }))).is, 'duplicate')
  const unmet = {
    ...making('carts', 2, { hash: 'c', time: 0 }),
    references: [{ collection: 'wagons', id: 'wag_1', field: '/a' }],
  }
  assert.equal((await execute(unmet)).is, 'unmet')
  assert.equal(
    (await execute({ ...making('carts', 3, { hash: 'd', time: 0 }), parent: { collection: 'wagons', id: 'wag_1' } }))
      .is,
    'missing',
  )
  assert.deepEqual(hashes('carts'), ['a'])
})

test('a creation deletes some expired keys of its collection, and no others', async (t) => {
  const { execute, hashes } = opened(t)
  for (let n = 0; n < 25; n++) await execute(making('carts', n, { hash: `c${n}`, time: n, expired: null }))
  await execute(making('wagons', 1, { hash: 'w', time: 0, expired: null }))
  const counts: number[] = []
  for (let n = 100; n < 104; n++) {
    await execute(making('carts', n, { hash: `d${n}`, time: retention + 22 }))
    counts.push(hashes('carts').length)
  }
  assert.deepEqual(counts, [16, 7, 5, 6])
  assert.deepEqual(hashes('carts').slice(0, 2), ['c23', 'c24'])
  assert.deepEqual(hashes('wagons'), ['w'])
})
