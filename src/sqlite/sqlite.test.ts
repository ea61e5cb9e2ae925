/** SQLite: settings of a connection, refused releases of SQLite, and the bound of prepared statements. The store. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { admitVersion, openFile, statementRunner } from './sqlite.ts'

test('a version of SQLite whose log two connections can corrupt is refused', () => {
  for (const version of ['3.51.3', '3.51.4', '3.51.10', '3.52.0', '3.60.1', '4.0.0']) admitVersion(version)
  for (const version of ['3.51.2', '3.51.0', '3.50.4', '3.7.17', '2.99.99', '3.9.0', ''])
    assert.throws(
      () => admitVersion(version),
      /can corrupt a file that two connections use.*Run a Node\.js that carries SQLite 3\.51\.3 or newer/,
    )
})

test('a connection does not trust the schema of the file and waits for locks only while it starts', () => {
  const db = openFile(':memory:', testWorld())
  const value = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  assert.deepEqual(
    ['synchronous', 'trusted_schema', 'cell_size_check', 'foreign_keys', 'busy_timeout'].map((name) => [
      name,
      value(name),
    ]),
    [
      ['synchronous', 2],
      ['trusted_schema', 0],
      ['cell_size_check', 1],
      ['foreign_keys', 0],
      ['busy_timeout', 5000],
    ],
  )
  db.close()
})

test('statements are prepared once, and at most a thousand are kept', (t) => {
  const db = new DatabaseSync(':memory:')
  const prepare = t.mock.method(db, 'prepare')
  const run = statementRunner(db)
  const ask = (n: number) =>
    assert.deepEqual({ ...run({ text: `SELECT ${n} + ?1 AS sum`, values: [1] })[0] }, { sum: n + 1 })
  for (let i = 0; i < 3; i++) ask(0)
  assert.equal(prepare.mock.callCount(), 1)
  for (let n = 1; n < 2500; n++) ask(n)
  assert.equal(prepare.mock.callCount(), 2500)
  for (let i = 0; i < 3; i++) ask(2499)
  assert.equal(prepare.mock.callCount(), 2500)
  for (let i = 0; i < 3; i++) ask(5)
  assert.equal(prepare.mock.callCount(), 2501)
  db.close()
})
