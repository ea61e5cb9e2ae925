/** File mistakes: the mistakes of fields for files. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../index.ts'
import { declarationMistakes } from './declaration-mistakes.ts'

const mistakesOf = (fields: object, more: object = {}, others: object = {}): string[] =>
  declarationMistakes({
    name: 'shop',
    scopes: { chief: 'All' },
    resources: { orders: { fields, access: 'public', ...more }, ...others },
  }).map(({ place, reason, mend }) => `${place}: ${reason} ${mend}`)

test('a file that is declared as it should be', () => {
  const scan = f.file({ max: 5, types: ['image/*', 'application/pdf'], write: 'chief', title: 'Scan', was: 'copy' })
  assert.deepEqual(mistakesOf({ scan, other: f.file() }), [])
})

test('options that a file cannot have', () => {
  const said = (options: object) => mistakesOf({ scan: f.file(options as never) }).join()
  assert.match(said({ max: 0 }), /orders\.fields\.scan: `max` is 0\. Write a number of bytes/)
  assert.match(said({ max: '5MB' }), /`max` is "5MB"/)
  assert.match(said({ types: [] }), /`types` has no media type\. List media types/)
  assert.match(said({ types: ['png'] }), /`types` has "png", which is no media type/)
  assert.match(said({ types: ['Image/PNG'] }), /which is no media type/)
  assert.match(said({ types: ['a/b', 'a/b'] }), /`types` has "a\/b" twice/)
  for (const option of ['filter', 'sort', 'search', 'unique', 'default', 'immutable', 'writeOnly', 'fill', 'example'])
    assert.match(said({ [option]: true }), new RegExp(`no option \`${option}\``), option)
})

test('a file is a field of a resource, with a URL of its own', () => {
  assert.match(mistakesOf({ papers: f.list(f.file()) }).join(), /papers\.item: A file has a URL of its own/)
  assert.match(mistakesOf({ papers: f.object({ scan: f.file() }) }).join(), /papers\.scan: A file has a URL of its own/)
  const operations = { scans: { at: 'item', input: { scan: f.file() } } }
  assert.match(mistakesOf({ note: f.text() }, { operations }).join(), /input\.scan: A file has a URL of its own/)
  assert.match(
    mistakesOf({ scans: f.file() }, { operations: { scans: { at: 'item' } } }).join(),
    /fields\.scans: Its content would have the URL …\/scans, as the operation `scans`/,
  )
  assert.match(
    mistakesOf({ revisions: f.file() }, { history: { read: 'chief' } }).join(),
    /as the revisions of the item/,
  )
  const lines = { parent: 'orders', fields: {}, access: 'public' }
  assert.match(mistakesOf({ lines: f.file() }, {}, { lines }).join(), /as the list of `lines`/)
  assert.match(
    mistakesOf({ scan: f.file() }, { methods: ['read', 'create'] }).join(),
    /No client could upload the file/,
  )
})

test('a file is no key, no target of an order, and not added up', () => {
  assert.notDeepEqual(mistakesOf({ scan: f.file() }, { key: 'scan' }), [])
  assert.notDeepEqual(mistakesOf({ scan: f.file() }, { unique: [['scan']] }), [])
  assert.notDeepEqual(mistakesOf({ scan: f.file() }, { sorts: { best: ['scan'] } }), [])
  assert.notDeepEqual(mistakesOf({ scan: f.file() }, { summaries: { all: { group: ['scan'] } } }), [])
})
