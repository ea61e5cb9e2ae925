/** Proves how writes are committed together, and that one does not affect the others. The store. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { Problem } from 'bylaw'
import { rows } from '../help/file.ts'
import { creation, decision, isThere, openStoreUnderTest, stateOf } from '../help/store-under-test.ts'

/** The number of commits in a write-ahead log: a frame with the size of the database ends one. */
function commits(file: string): number {
  const log = readFileSync(`${file}-wal`)
  if (log.length === 0) return 0
  const size = log.readUInt32BE(8) + 24
  let count = 0
  for (let at = 32; at < log.length; at += size) if (log.readUInt32BE(at + 4) > 0) count++
  return count
}

const names = (file: string) => rows(file, 'SELECT by_name FROM things ORDER BY 1').map(({ by_name }) => by_name)

describe('a batch', () => {
  test('is one durable commit for all writes of a turn, and is answered after it', async (t) => {
    const { db, file, store } = await openStoreUnderTest(t)
    assert.deepEqual({ ...db.prepare('PRAGMA journal_mode').get() }, { journal_mode: 'wal' })
    assert.deepEqual({ ...db.prepare('PRAGMA synchronous').get() }, { synchronous: 2 })
    assert.deepEqual({ ...db.prepare('PRAGMA busy_timeout').get() }, { timeout: 0 })
    const before = commits(file)
    const seen: number[] = []
    const writes = Array.from({ length: 50 }, async (_, i) => {
      await store.execute(creation(i))
      seen.push(names(file).length)
    })
    assert.deepEqual(names(file), [])
    await Promise.all(writes)
    assert.equal(commits(file) - before, 1)
    assert.deepEqual(new Set(seen), new Set([50]))
  })

  test('gives each member its own outcome', async (t) => {
    const { file, store } = await openStoreUnderTest(t)
    await store.execute(creation(1, 'a'))
    const refuses = () => {
      throw new Problem('precondition-failed', 'No.')
    }
    const breaks = () => {
      throw new TypeError('broken')
    }
    const writesThenBreaks = { ...creation(5, 'e'), references: null as unknown as [] }
    const ends = await Promise.allSettled([
      store.execute(creation(2, 'b')),
      store.execute(creation(3, 'a')),
      store.execute(decision(1, refuses)),
      store.execute(decision(1, breaks)),
      store.execute(writesThenBreaks),
      store.execute(creation(1, 'd')),
      store.execute(creation(4, 'c')),
    ])
    const reported = ends.map((end) => (end.status === 'fulfilled' ? end.value.is : String(end.reason.message)))
    assert.deepEqual(reported.slice(0, 4), ['created', 'duplicate', 'No.', 'broken'])
    assert.deepEqual(reported.slice(5), ['duplicate', 'created'])
    const fields = ends.flatMap((end) =>
      end.status === 'fulfilled' && end.value.is === 'duplicate' ? [end.value.fields] : [],
    )
    assert.deepEqual(fields, [['name'], ['id']])
    assert.deepEqual(names(file), ['a', 'b', 'c'])
  })

  test('undoes a member that wrote before it was refused, and keeps the others, also the next time', async (t) => {
    const { file, store } = await openStoreUnderTest(t)
    const keyed = (n: number) => ({ hash: `key-${n}`, fingerprint: '1', time: 1, expired: null, keeps: false })
    const refused = (n: number) => ({
      ...creation(n, `x${n}`),
      claim: keyed(n),
      references: [{ field: 'thingId', collection: 'things', id: 'thg_nowhere' }],
    })
    for (const [at, ...rest] of [
      [10, 'created', 'unmet', 'broken', 'created', 'duplicate', 'created'],
      [20, 'created', 'unmet', 'broken', 'created', 'duplicate', 'created'],
    ] as const) {
      const ends = await Promise.allSettled([
        store.execute({ ...creation(at, `a${at}`), claim: keyed(at) }),
        store.execute(refused(at + 1)),
        store.execute({ ...refused(at + 2), references: null as unknown as [] }),
        store.execute(creation(at + 3, `b${at}`)),
        store.execute({ ...creation(at + 4, `b${at}`), claim: keyed(at + 4) }),
        store.execute(creation(at + 5, `c${at}`)),
      ])
      assert.deepEqual(
        ends.map((end) => (end.status === 'fulfilled' ? end.value.is : 'broken')),
        rest,
      )
      const used = rows(file, 'SELECT hash FROM bylaw_keys ORDER BY time, hash').map(({ hash }) => hash)
      assert.deepEqual(used, at === 10 ? ['key-10'] : ['key-10', 'key-20'])
    }
    assert.deepEqual(names(file), ['a10', 'a20', 'b10', 'b20', 'c10', 'c20'])
    const again = await store.execute({ ...creation(11, 'again'), claim: keyed(11) })
    assert.equal(again.is, 'created')
  })

  test('sees its members in their order', async (t) => {
    const { store } = await openStoreUnderTest(t)
    const key = { id: creation(1).key.id, parent: null, account: null }
    const outcomes = await Promise.all([
      store.execute(creation(1, 'a')),
      store.execute(
        decision(1, (seen) => ({
          do: 'remove',
          collection: 'things',
          key,
          revision: seen.revision,
          time: 1,
          takes: new Set(),
        })),
      ),
      store.execute(creation(2, 'a')),
      store.execute(decision(1, () => ({ do: 'keep' }))),
    ])
    assert.deepEqual(
      outcomes.map(({ is }) => is),
      ['created', 'removed', 'created', 'kept'],
    )
    const [, , , last] = outcomes
    assert.equal(last?.is === 'kept' && last.current.is, 'gone')
  })

  test('that cannot be committed answers every member, and nothing of it stays', async (t) => {
    const { db, file, store } = await openStoreUnderTest(t)
    db.exec(`PRAGMA foreign_keys = ON; CREATE TABLE good (id TEXT PRIMARY KEY);
      CREATE TABLE seen (id TEXT REFERENCES good DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER check_things AFTER INSERT ON things WHEN NEW.by_name = 'bad' BEGIN INSERT INTO seen VALUES ('nowhere'); END`)
    const ends = await Promise.allSettled([1, 2, 3].map((n) => store.execute(creation(n, n === 2 ? 'bad' : `${n}`))))
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    )
    assert.deepEqual(names(file), [])
    assert.equal((await store.execute(creation(4, 'good'))).is, 'created')
    assert.deepEqual(names(file), ['good'])
  })

  test('of very many is split, so that the event loop runs in between', async (t) => {
    const { store } = await openStoreUnderTest(t)
    let turned = 0
    const timer = setInterval(() => turned++, 0)
    const writes = Array.from({ length: 3000 }, (_, i) => store.execute(creation(i)))
    const outcomes = await Promise.all(writes)
    clearInterval(timer)
    assert.ok(outcomes.every(({ is }) => is === 'created'))
    assert.ok(turned >= 3, `the loop turned ${turned} times`)
  })

  test('is finished before the store closes', async (t) => {
    const { file, store } = await openStoreUnderTest(t)
    const writes = Array.from({ length: 700 }, (_, i) => store.execute(creation(i)))
    const closed = store.close()
    assert.equal(await stateOf(writes[0] as Promise<never>), 'pending')
    await closed
    assert.ok((await Promise.all(writes)).every(({ is }) => is === 'created'))
    assert.equal(names(file).length, 700)
    await assert.rejects(async () => store.execute(creation(701)))
    assert.equal(names(file).length, 700)
  })

  test('is read at once if nothing blocks it', async (t) => {
    const { store } = await openStoreUnderTest(t)
    await store.execute(creation(1))
    assert.equal(await isThere(store, 1), true)
    assert.equal(await isThere(store, 2), false)
  })
})
