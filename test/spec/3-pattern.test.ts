/** Part 3 of the contract, filtering: patterns. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { doors, spec } from '../help/door.ts'
import { asked, listed, listService, refused, sentence, stocked, values } from '../help/list-service.ts'

const names = [
  'ann',
  'Anna',
  'joann',
  'hannah',
  'a_b',
  'axb',
  '50%',
  '50',
  '505',
  'a\\b',
  'a*b',
  'a?b',
  'a[b]',
  '[',
  'été',
  'e\u0301te\u0301',
  '😀x',
  '\uffff!',
  '',
  ' ',
  '%',
  '\u{10ffff}z',
  '\ud7ffq',
]

doors('patterns', listService, (door) => {
  before(() =>
    stocked(
      door,
      '/products',
      names.map((name) => ({ name, title: name, email: 'Ann@example.com' })),
    ),
  )
  const found = async (field: string, pattern: string) =>
    values(await listed(door, asked('/products', { [`${field}[like]`]: pattern, limit: '100' })), 'name')
  const table = async (field: string, rows: readonly [pattern: string, found: string[]][]) => {
    for (const [pattern, expected] of rows) assert.deepEqual(await found(field, pattern), expected, pattern)
  }

  spec('R69', 'a percent sign matches any run of characters, and a pattern without one matches anywhere', () =>
    table('name', [
      ['ann', ['ann', 'joann', 'hannah']],
      ['%ann%', ['ann', 'joann', 'hannah']],
      ['ann%', ['ann']],
      ['%ann', ['ann', 'joann']],
      ['A%a', ['Anna']],
      ['%', names],
      ['', names],
      ['j%a%n', ['joann']],
      ['😀%', ['😀x']],
      ['\uffff%', ['\uffff!']],
      ['\u{10ffff}%', ['\u{10ffff}z']],
      ['\ud7ff%', ['\ud7ffq']],
      [' ', [' ']],
    ]),
  )

  spec('R69 R20', 'in a URL the percent sign is written %25', async () => {
    assert.deepEqual(values(await listed(door, '/products?name[like]=ann%25'), 'name'), ['ann'])
    assert.deepEqual(
      values(await listed(door, '/products?name[like]=ann'), 'name'),
      values(await listed(door, '/products?name[like]=%25ann%25'), 'name'),
    )
    assert.deepEqual(values(await listed(door, '/products?name[like]=50\\%25'), 'name'), ['50%'])
  })

  spec('R70', 'every other character matches itself, case-sensitively', () =>
    table('name', [
      ['a_b', ['a_b']],
      ['a*b', ['a*b']],
      ['a?b', ['a?b']],
      ['[', ['a[b]', '[']],
      ['a[b]', ['a[b]']],
      ['ANN', []],
      ['Ann', ['Anna']],
      ['été', ['été']],
      ['e\u0301', ['e\u0301te\u0301']],
      ["'", []],
    ]),
  )

  spec('R70', 'a backslash makes a percent sign or a backslash literal', () =>
    table('name', [
      ['50\\%', ['50%']],
      ['50\\%%', ['50%']],
      ['50%', ['50%', '50', '505']],
      ['\\%', ['50%', '%']],
      ['a\\\\b', ['a\\b']],
      ['\\\\', ['a\\b']],
    ]),
  )

  spec('R70 R60', 'a folded field is matched without regard to case and composition', () =>
    table('title', [
      ['ANN', ['ann', 'Anna', 'joann', 'hannah']],
      ['ANN%', ['ann', 'Anna']],
      ['É', ['été', 'e\u0301te\u0301']],
      ['E\u0301T%', ['été', 'e\u0301te\u0301']],
      ['A_B', ['a_b']],
    ]),
  )

  spec('R69', 'other kinds of text take patterns where declared, and rows without a value match none', async () => {
    assert.equal((await found('email', 'Ann@%')).length, names.length)
    assert.deepEqual(await found('email', 'ann@%'), [])
    await stocked(door, '/products', [{ name: 'untitled' }])
    assert.ok(!(await found('title', '%')).includes('untitled'))
    await door.send('DELETE', `/products/${(await listed(door, '/products?name=untitled')).json.data[0].id}`)
  })

  spec('R70', 'other backslashes, more than 5 wildcards and more than 256 characters are refused', async () => {
    for (const pattern of ['a\\b', '\\', 'a\\', '\\_', '%%%%%%', '%a%b%c%d%e%', 'x'.repeat(257)])
      assert.deepEqual(
        await refused(door, asked('/products', { 'name[like]': pattern })),
        ['invalid-parameter-value name[like]'],
        pattern,
      )
    assert.match(await sentence(door, asked('/products', { 'name[like]': 'a\\b' })), /backslash/)
    assert.deepEqual(await found('name', '%a%b%c%d%'), [])
    assert.deepEqual(await found('name', '😀'.repeat(256)), [])
    assert.deepEqual(await found('title', 'İ'.repeat(256)), [])
  })
})
