/** Tests how indexes shorten texts that may be too long, and the additional conditions on their first characters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import type { Collection } from '../rows/collection.ts'
import { postgresDialect, sqliteDialect } from './dialect.ts'
import { columnOfTerm, fitIndexColumns, indexPrefixes, indexTerm, prefixConditions } from './index-width.ts'

const { resources } = service({
  name: 'widths',
  resources: {
    notes: {
      prefix: 'not',
      fields: {
        title: f.text({ sort: true }),
        code: f.text({ max: 40, unique: true }),
        body: f.text({ filter: ['like', 'range'] }),
        slug: f.text({ unique: true, fold: true }),
        size: f.integer({ filter: true }),
      },
      access: 'public',
    },
    parts: {
      parent: 'notes',
      key: 'word',
      fields: { word: f.text({ max: 200 }), label: f.text({ sort: true }) },
      access: 'public',
    },
    replies: { prefix: 'rep', parent: 'notes', fields: { text: f.text({ filter: true }) }, access: 'public' },
  },
})
type All = [Collection, Collection, Collection]
const [notes, parts, replies] = [...resources.values()].map(({ collection }) => collection) as All
const built = (one: Collection, names: readonly string[], unique = false) =>
  fitIndexColumns(one, names, postgresDialect, unique)

test('values that fit are indexed whole', () => {
  assert.deepEqual(built(notes, ['by_title', 'id']), ['by_title', 'id'])
  assert.deepEqual(built(notes, ['-by_size', '-id']), ['-by_size', '-id'])
  assert.deepEqual(built(notes, ['by_code'], true), ['by_code'])
  assert.deepEqual(fitIndexColumns(notes, ['by_body', 'id'], sqliteDialect, false), ['by_body', 'id'])
})

test('long values are indexed by their first characters, unique ones by a digest', () => {
  assert.deepEqual(built(notes, ['by_body', 'id']), ['by_body~636', 'id'])
  assert.deepEqual(built(notes, ['by_slug'], true), ['by_slug#'])
  assert.deepEqual(built(notes, ['-by_body', '-by_title', '-id']), ['-by_body~317', '-by_title~317', '-id'])
  assert.deepEqual(built(parts, ['by_noteId', 'by_label', 'id'])[1], 'by_label~134')
})

test('the id of a parent is indexed whole, as lists below it have no condition on its beginning', () => {
  assert.deepEqual(built(replies, ['by_noteId', 'id']), ['by_noteId', 'id'])
  assert.deepEqual(built(replies, ['by_noteId', 'by_text', 'id']), ['by_noteId', 'by_text~379', 'id'])
})

test('terms of an index', () => {
  assert.deepEqual(['by_a', '-by_a', 'by_a~9', '-by_a~9', 'by_a#'].map(indexTerm), [
    '"by_a"',
    '"by_a" DESC',
    'left("by_a", 9)',
    'left("by_a", 9) DESC',
    'md5("by_a")',
  ])
  assert.deepEqual(['by_a', '-by_a', 'by_a__2~9', '-by_a~9', 'by_a#'].map(columnOfTerm), [
    'by_a',
    'by_a',
    'by_a__2',
    'by_a',
    'by_a',
  ])
})

test('a condition on a long text has one on its beginning too', () => {
  const said = (one: Parameters<typeof prefixConditions>[1], collection = notes) => {
    const values: unknown[] = []
    const texts = prefixConditions(indexPrefixes(collection, postgresDialect), one, (value) => `$${values.push(value)}`)
    return [texts, values]
  }
  const start = 'left("by_body", 636)'
  assert.deepEqual(said({ column: 'by_body', is: 'eq', value: 'é'.repeat(700) }), [
    [`${start} = $1`],
    ['é'.repeat(636)],
  ])
  assert.deepEqual(said({ column: 'by_body', is: 'lt', value: 'a' }), [[`${start} <= $1`], ['a']])
  assert.deepEqual(said({ column: 'by_body', is: 'in', values: ['a', 'b'] }), [[`${start} IN ($1, $2)`], ['a', 'b']])
  assert.deepEqual(said({ column: 'by_body', is: 'like', parts: ['a', 'b'] }), [[`${start} >= $1`], ['a']])
  assert.deepEqual(said({ column: 'by_body', is: 'like', parts: ['', 'b'] }), [[], []])
  assert.deepEqual(said({ column: 'by_title', is: 'eq', value: 'a' }), [[], []])
})
