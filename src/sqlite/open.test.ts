/** Tables of the URLs of stores. The cellar. */
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { fileOf } from './open.ts'

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

test('what names no file is refused with what would', () => {
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
      message: `The database ${JSON.stringify(url)} is not known. Give sqlite:./file.db or sqlite::memory:.`,
    })
})
