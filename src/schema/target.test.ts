/** Target: the statements of steps for databases that speak PostgreSQL's protocol. The store. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f } from '../fields/field.ts'
import { service } from '../service.ts'
import type { SchemaStep } from './step.ts'
import { refuseSearchOn, stepsFor, type Target } from './target.ts'

const step = (sql: readonly string[], more: Partial<SchemaStep> = {}): SchemaStep => ({
  about: 'a',
  phase: 'expand',
  note: 'b',
  sql,
  ...more,
})

const texts: readonly (readonly [target: Target, text: string, expected: string])[] = [
  ['postgres', 'CREATE TABLE "a" (id text COLLATE "C" NOT NULL)', 'CREATE TABLE "a" (id text COLLATE "C" NOT NULL)'],
  ['cockroach', 'CREATE TABLE "a" (id text COLLATE "C" NOT NULL)', 'CREATE TABLE IF NOT EXISTS "a" (id text NOT NULL)'],
  [
    'cockroach',
    'ALTER TABLE "a" ADD COLUMN IF NOT EXISTS "b" text COLLATE "C"',
    'ALTER TABLE "a" ADD COLUMN IF NOT EXISTS "b" text',
  ],
  [
    'cockroach',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "a" ("b", "id")',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "a" ("b", "id")',
  ],
  [
    'yugabyte',
    'CREATE TABLE "a" (id text COLLATE "C" NOT NULL)',
    'CREATE TABLE IF NOT EXISTS "a" (id text COLLATE "C" NOT NULL)',
  ],
  [
    'yugabyte',
    'CREATE TABLE "a" (parent text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (parent, id))',
    'CREATE TABLE IF NOT EXISTS "a" (parent text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (parent ASC, id ASC))',
  ],
  [
    'yugabyte',
    'CREATE TABLE IF NOT EXISTS p (position bigint PRIMARY KEY, event text COLLATE "C" NOT NULL)',
    'CREATE TABLE IF NOT EXISTS p (position bigint, event text COLLATE "C" NOT NULL, PRIMARY KEY (position ASC))',
  ],
  [
    'yugabyte',
    'CREATE TABLE IF NOT EXISTS p (a text COLLATE "C" PRIMARY KEY)',
    'CREATE TABLE IF NOT EXISTS p (a text COLLATE "C", PRIMARY KEY (a ASC))',
  ],
  [
    'yugabyte',
    'CREATE INDEX "i" ON "a" ("b" DESC, "id" DESC)',
    'CREATE INDEX IF NOT EXISTS "i" ON "a" ("b" DESC, "id" DESC)',
  ],
  [
    'yugabyte',
    'CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "u" ON "a" ("b")',
    'CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "u" ON "a" ("b" ASC)',
  ],
  [
    'yugabyte',
    'CREATE INDEX IF NOT EXISTS k_time ON k (collection, time)',
    'CREATE INDEX IF NOT EXISTS k_time ON k (collection ASC, time ASC)',
  ],
  [
    'yugabyte',
    'CREATE TABLE "a" (parent text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (parent, id))',
    'CREATE TABLE IF NOT EXISTS "a" (parent text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (parent ASC, id ASC))',
  ],
  [
    'yugabyte',
    'CREATE TABLE IF NOT EXISTS p (position bigint PRIMARY KEY, event text COLLATE "C" NOT NULL)',
    'CREATE TABLE IF NOT EXISTS p (position bigint, event text COLLATE "C" NOT NULL, PRIMARY KEY (position ASC))',
  ],
  [
    'yugabyte',
    'CREATE TABLE IF NOT EXISTS p (a text COLLATE "C" PRIMARY KEY)',
    'CREATE TABLE IF NOT EXISTS p (a text COLLATE "C", PRIMARY KEY (a ASC))',
  ],
  [
    'yugabyte',
    'CREATE INDEX "i" ON "a" (left("b", 636), "id" DESC)',
    'CREATE INDEX IF NOT EXISTS "i" ON "a" (left("b", 636) ASC, "id" DESC)',
  ],
  ['yugabyte', 'DROP INDEX CONCURRENTLY IF EXISTS "i"', 'DROP INDEX IF EXISTS "i"'],
  ['citus', 'CREATE TABLE "a" (id text COLLATE "C" NOT NULL)', 'CREATE TABLE "a" (id text COLLATE "C" NOT NULL)'],
]

describe('steps for a target', () => {
  for (const [target, text, expected] of texts)
    test(`${target}: ${text}`, () => {
      assert.deepEqual(stepsFor(target, [step([text])])[0]?.sql, [expected])
    })

  test('R235: are refused for searched fields if the target has no index of words', () => {
    const collectionsWith = (search: boolean) => {
      const { resources } = service({
        name: 'a',
        resources: { things: { prefix: 'thg', fields: { name: f.text({ search }) }, access: 'public' } },
      })
      return [...resources.values()].map(({ collection }) => collection)
    }
    for (const target of ['cockroach', 'yugabyte'] as const) {
      assert.throws(() => refuseSearchOn(target, collectionsWith(true)), /has no index for the words of things\. Leave/)
      refuseSearchOn(target, collectionsWith(false))
    }
    for (const target of ['sqlite', 'postgres', 'citus'] as const) refuseSearchOn(target, collectionsWith(true))
  })

  test('run separately if the target has no transactional schema changes', () => {
    const all = [step(['DROP VIEW IF EXISTS "v"']), step([], { fill: { collection: 'a', again: false } })]
    for (const target of ['cockroach', 'yugabyte'] as const)
      assert.deepEqual(
        stepsFor(target, all).map(({ apart }) => apart),
        [true, undefined],
      )
    assert.deepEqual(stepsFor('postgres', all), all)
    assert.deepEqual(stepsFor('sqlite', all), all)
  })
})
