/** Bounded search: which searches are read on the event loop, and that slow ones are not. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { freshFile } from '../../test/help/file.ts'
import { testWorld } from '../../test/help/world.ts'
import type { ListRows } from '../flow/plan.ts'
import { encodeRow } from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import { sqliteDialect } from '../sql/dialect.ts'
import { statementTexts } from '../sql/statements.ts'
import { openStore } from '../terminal/open.ts'
import { boundedSearches } from './bounded-search.ts'
import { openFile, statementRunner } from './sqlite.ts'

const library = (owner: object, max: number) =>
  service({
    name: 'library',
    resources: {
      books: { prefix: 'bok', ...owner, fields: { title: f.text({ max, search: true }) }, access: 'authenticated' },
    },
  })

const search = (words: readonly string[], account: string | null = null) =>
  ({ where: [{ column: 'id', is: 'search', words }], account }) as unknown as ListRows

for (const [kind, owner, accounts] of [
  ['all see', {}, [null]],
  ['belong to accounts', { owner: 'accountId' }, ['jo', 'joe', 'Zoë']],
] as const)
  test(`a search of rows that ${kind} is read at once if few match`, async (t) => {
    const file = freshFile(t)
    const declared = library(owner, 200)
    await (await openStore(declared, `sqlite:${file}`, 'apply')).close()
    const books = declared.resources.get('books') as Resource
    const db = openFile(file, testWorld())
    t.after(() => db.close())
    const insert = db.prepare(statementTexts(books.collection, sqliteDialect).insert)
    const add = (account: string | null, i: number, title: string) => {
      const at = '2026-01-01T00:00:00.000Z'
      const one = encodeRow(books, { id: `bok_${account}${i}`, title, createdAt: at, updatedAt: at })
      const key = account === null ? [`bok_${account}${i}`] : [account, `bok_${account}${i}`]
      insert.run(...([...key, 1, 1, one.doc, one.hidden, ...one.cells] as string[]))
    }
    db.exec('BEGIN')
    for (let i = 0; i < 2001; i++)
      add(
        accounts[0],
        i,
        `${i < 2000 ? 'common' : 'other'} always a${i} ${i < 200 ? 'few 東京' : 'many'} ${i < 201 ? 'more' : ''}`,
      )
    for (const account of accounts.slice(1)) add(account, 0, 'always many 東京')
    db.exec('COMMIT')
    const { readIfFew } = boundedSearches(statementRunner(db), testWorld())
    const isRead = (words: readonly string[], account: string | null = accounts[0]) =>
      readIfFew(books.collection, search(words, account), () => 'rows') === 'rows'
    for (const words of [
      ['few'],
      ['fe'],
      ['東京'],
      ['東'],
      ['none'],
      ['few', 'common'],
      ['always', 'none'].slice(1),
      ['a1999'],
    ])
      assert.ok(isRead(words), `${words}`)
    for (const words of [['more'], ['few', 'always'], ['common'], ['a'], ['m'], ['a1']])
      assert.ok(!isRead(words), `${words}`)
    for (const account of accounts.slice(1)) {
      assert.ok(isRead(['always'], account), `the words of others do not count for ${account}`)
      assert.ok(isRead(['many', '東京'], account))
    }
  })

test('long texts and many words let fewer rows be read at once', () => {
  const { collection } = library({}, 50_000).resources.get('books') as Resource
  const isRead = (words: readonly string[], total: number) =>
    boundedSearches(() => [{ total }], testWorld()).readIfFew(collection, search(words), () => 'rows') === 'rows'
  const words = Array.from({ length: 20 }, (_, i) => `w${i}`)
  assert.deepEqual([isRead(['w'], 80), isRead(['w'], 81)], [true, false])
  assert.deepEqual([isRead(words, 4), isRead(words, 5)], [true, false])
})

test('searches that take long are not read at once for a while', () => {
  const { collection } = library({}, 200).resources.get('books') as Resource
  const world = testWorld()
  let [takes, reads] = [60, 0]
  const { readIfFew } = boundedSearches((statement) => {
    if (statement.text.startsWith('SELECT')) world.tick(takes)
    return [{ total: 1 }]
  }, world)
  const read = () => readIfFew(collection, search(['w']), () => ++reads)
  for (let i = 0; i < 10; i++) read()
  assert.equal(reads, 1)
  world.tick(5939)
  assert.equal(read(), null)
  world.tick(1)
  for (let i = 0; i < 10; i++) read()
  assert.equal(reads, 2)
  takes = 0
  for (let i = 0; i < 30; i++) {
    world.tick(6000)
    assert.notEqual(read(), null)
  }
})
