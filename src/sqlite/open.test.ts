/** Open: the URLs of stores, and how a store records its presence. The store. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { fileOf, openSqlite } from './open.ts'

test('a URL names a file', () => {
  const table = [
    ['sqlite::memory:', ':memory:'],
    ['sqlite:file.db', resolve('file.db')],
    ['sqlite:./file.db', resolve('file.db')],
    ['sqlite:../file.db', resolve('../file.db')],
    ['sqlite:./a folder/my file.db', resolve('a folder/my file.db')],
    ['sqlite:/var/lib/a.db', '/var/lib/a.db'],
    ['sqlite:///var/lib/a.db', '/var/lib/a.db'],
    ['sqlite://./file.db', resolve('file.db')],
    ['sqlite:file:other.db?mode=memory', resolve('file:other.db?mode=memory')],
    ['sqlite:é #%20?.db', resolve('é #%20?.db')],
  ] as const
  for (const [url, file] of table) assert.equal(fileOf(url), file, url)
})

test('a URL without a file is refused with a correct one', () => {
  for (const url of [
    '',
    'file.db',
    './file.db',
    'sqlite',
    'sqlite:',
    'sqlite://',
    'sqlite://host/a.db',
    'SQLITE:a.db',
    'mysql://localhost/a',
    'sqlite:a\0b',
  ])
    assert.throws(() => fileOf(url), {
      message: `The database ${JSON.stringify(url)} is not known. Give sqlite:./file.db, sqlite::memory: or postgres://user@host/database.`,
    })
})

test('a node that another one blocks registers soon', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'bylaw-attend-')), 'a.db')
  t.after(() => rmSync(dirname(file), { recursive: true }))
  const world = testWorld()
  const store = openSqlite(`sqlite:${file}`, [], 'apply', { world })
  const other = new DatabaseSync(file)
  const seen = (): number => other.prepare('SELECT node FROM bylaw_nodes').all().length
  other.exec('BEGIN IMMEDIATE')
  store.attend()
  assert.equal(seen(), 0)
  other.exec('COMMIT')
  await world.pass(1000)
  assert.equal(seen(), 1)
  await store.close()
  assert.equal(seen(), 0)
  other.close()
})
