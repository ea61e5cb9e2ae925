import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from '../index.ts'
import type { Resource } from '../resources/resource.ts'
import { samples } from '../resources/samples.ts'
import { cellIn } from '../rows/collection.ts'

type Members = Record<string, unknown>
type Item = { readonly name: string; readonly size: number }

/** A resource of things with the given newest change; a thing has a name, a size and a word. */
function things(change: Members, fields: Members = {}, versions: Members = {}): Resource {
  const made = service({
    name: 'things',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' }, ...versions },
    resources: {
      things: {
        fields: {
          name: f.text({ max: 80 }),
          size: f.integer({ filter: 'range' }),
          word: f.enum(['a', 'b', 'c'], { sort: true }),
          ...fields,
        },
        access: 'public',
      },
    },
  } as never) as unknown as { change: (version: string, resource: string, change: object) => Service }
  return made.change('v2', 'things', { about: 'It changed.', ...change }).resources.get('things') as Resource
}

const own = (resource: Resource) => resource.collection.columns.filter(({ of }) => of)
const names = (resource: Resource): string[] => own(resource).map(({ name }) => name)
const label = { removed: { label: f.text({ max: 9, optional: true, filter: true }) } }
const made = (response: (now: Item) => unknown, fields?: Members) => things({ ...label, response }, fields)
const form = (resource: Resource): string => own(resource)[0]?.form ?? ''

const cases: readonly [what: string, change: Members, columns: readonly string[]][] = [
  ['a removed field that is filtered by', { ...label, response: () => ({}) }, ['by_label:v2']],
  ['one that is not', { removed: { label: f.text({ optional: true }) } }, []],
  ['one that `filters` answers for', { ...label, filters: { label: () => null } }, []],
  [
    'one that only `filters` answers for, and is sorted by',
    { removed: { label: f.text({ optional: true, filter: true, sort: true }) }, filters: { label: () => null } },
    ['by_label:v2'],
  ],
  [
    'parts of an object',
    {
      removed: { at: f.object({ x: f.integer({ sort: true }), y: f.integer() }, { optional: true }) },
      response: () => ({ at: null }),
    },
    ['by_at.x:v2'],
  ],
  ['other bounds alone', { retyped: { size: f.integer({ max: 9, filter: 'range' }) } }, []],
  [
    'other bounds that are kept by a function',
    { retyped: { size: f.integer({ max: 9, filter: 'range' }) }, request: () => ({}), response: () => ({ size: 1 }) },
    ['by_size:v2'],
  ],
  ['words in the same order', { mapped: { word: { k: 'a', l: 'b' } }, shown: { word: { c: 'm' } } }, []],
  ['words in another order', { mapped: { word: { z: 'a' } } }, ['by_word:v2']],
  ['words that are fewer', { shown: { word: { c: 'a' } } }, ['by_word:v2']],
]

describe('columns of fields that only older versions have', () => {
  for (const [what, change, columns] of cases) test(what, () => assert.deepEqual(names(things(change)), columns))

  test('do not exist if no served version has the field', () => {
    const resource = things(
      { ...label, response: () => ({}) },
      {},
      { v1: { released: '2025-01-01', retired: 'Told.' } },
    )
    assert.deepEqual(names(resource), [])
    assert.deepEqual(
      resource.collection.olderColumns?.map(({ name }) => name),
      ['by_label:v2'],
    )
  })

  test('hold the shown value, or null if it does not fit or cannot be computed', () => {
    const [column] = own(
      made(({ name, size }) => {
        if (size < 0) throw new Error('No size.')
        return { label: name, more: 1 }
      }),
    )
    const cell = (name: string, size: number) => column && cellIn(column, { name, size })
    assert.deepEqual([cell('Ann', 1), cell('Ann', -1), cell('0123456789', 1)], ['Ann', null, null])
  })

  test('have a form that depends on the function only, not on its formatting or other declarations', () => {
    const is = form(made(({ name }) => ({ label: name.slice(0, 3) })))
    assert.match(is, /^text made [0-9a-f]{12}$/)
    assert.equal(form(made((now) => ({ label: [...now.name.substring(0, 3)].join('') }))), is)
    assert.equal(form(made(({ name }) => ({ label: name.slice(0, 3) }), { other: f.text({ default: 'x' }) })), is)
    for (const other of [
      ({ name }: Item) => ({ label: name.slice(0, 4) }),
      ({ name }: Item) => ({ label: name.slice(0, 3).trim() }),
      ({ name, size }: Item) => ({ label: size === 0 ? null : name.slice(0, 3) }),
      ({ name }: Item) => ({ label: name.length > 79 ? 'x' : name.slice(0, 3) }),
    ])
      assert.notEqual(form(made(other)), is, String(other))
  })

  test('a function with a different result each time is refused', () => {
    let count = 0
    assert.throws(
      () => made(() => ({ label: String(count++ % 1000) })),
      /^Error: changes\.v2\.things\.response: It computes a different `label` for the same item each time/,
    )
  })

  test('the sample documents fit the declaration', () => {
    const resource = things({ about: 'Nothing.' }, { code: f.text({ min: 2, max: 4 }), cost: f.decimal({ scale: 2 }) })
    for (const { name, check, writeOnly } of resource.members.filter(({ from }) => from === 'caller'))
      for (const one of samples(resource)) {
        const faults: never[] = []
        check(one[name], '', faults)
        assert.deepEqual([faults, writeOnly], [[], false], `${name} ${JSON.stringify(one[name])}`)
      }
  })
})
