/** Two declarations of one resource with every difference between fields, and nodes of both on one database. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Field, f, type Service, service } from 'bylaw'
import fc from 'fast-check'
import { alive, applied, type Node, nodeOn, type Place } from './places.ts'

export type Values = Readonly<Record<string, unknown>>

/** Fields of the old declaration, those that replace them in the new one, and the values that each side writes. */
export interface Pair {
  readonly old: Readonly<Record<string, Field>>
  readonly now: Readonly<Record<string, Field>>
  readonly writesOld: fc.Arbitrary<Values>
  readonly writesNow: fc.Arbitrary<Values>
  readonly up: (old: Values) => Values
  readonly down: (now: Values) => Values
  /** The new values after a write of the old side, if they also depend on the stored ones. */
  readonly merge?: (now: Values, made: Values) => Values
}

export const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
const names = (all: readonly string[]) => fc.subarray([...all], { minLength: 0 })
const word = fc.constantFrom('a', 'b', 'c', 'longer than ten')
const asIs = (values: Values): Values => values
const one = (old: string, now: string) => ({
  up: ({ [old]: value }: Values): Values => ({ [now]: value }),
  down: ({ [now]: value }: Values): Values => ({ [old]: value }),
})
const made = (name: string, values: fc.Arbitrary<unknown>) => values.map((value): Values => ({ [name]: value }))
const words = names(['x', 'y', 'z'])
const cut = (name: string, how: (value: never) => unknown, back: (value: never) => unknown = (value) => value) => ({
  up: ({ [name]: value }: Values): Values => ({ [name]: back(value as never) }),
  down: ({ [name]: value }: Values): Values => ({ [name]: how(value as never) }),
})
const city = fc.constantFrom('Rome', 'Oslo')
const split = (full: string) => {
  const [first = '', ...rest] = full.split(' ')
  return { first, last: rest.join(' ') }
}
export const record = (value: Values[string]) => value as Values

/** Differences that the changes of a version declare. */
export const versioned: Readonly<Record<string, Pair>> = {
  'a renamed list': {
    old: { tags: f.list(f.text()) },
    now: { words: f.list(f.text()) },
    writesOld: made('tags', words),
    writesNow: made('words', words),
    ...one('tags', 'words'),
  },
  'a list made from a text': {
    old: { csv: f.text({ min: 0, default: '', filter: true }) },
    now: { parts: f.list(f.text()) },
    writesOld: made(
      'csv',
      words.map((all) => all.join(',')),
    ),
    writesNow: made('parts', words),
    up: ({ csv }) => ({ parts: String(csv).split(',').filter(Boolean) }),
    down: ({ parts }) => ({ csv: (parts as string[]).join(',') }),
  },
  'a decimal with more digits': {
    old: { price: f.decimal({ scale: 2, filter: true }) },
    now: { price: f.decimal({ scale: 3, filter: true }) },
    writesOld: made('price', fc.constantFrom('1.00', '2.00', '2.50')),
    writesNow: made('price', fc.constantFrom('1.000', '1.005', '2.000', '2.009')),
    ...cut(
      'price',
      (value: string) => value.slice(0, -1),
      (value: string) => `${value}0`,
    ),
  },
  'a longer text': {
    old: { note: f.text({ max: 10, filter: true }) },
    now: { note: f.text({ max: 150, filter: true }) },
    writesOld: made('note', fc.constantFrom('a', 'longer tha')),
    writesNow: made('note', word),
    ...cut('note', (value: string) => value.slice(0, 10)),
  },
  'a number that may be null': {
    old: { count: f.integer({ default: 0, filter: true }) },
    now: { count: f.integer({ optional: true, filter: true }) },
    writesOld: made('count', fc.constantFrom(0, 1)),
    writesNow: made('count', fc.constantFrom(null, 0, 1)),
    ...cut('count', (value: number | null) => value ?? 0),
  },
  'a new value of an enum': {
    old: { power: f.enum(['on', 'off'], { default: 'on', filter: true }) },
    now: { power: f.enum(['on', 'off', 'idle'], { default: 'on', filter: true }) },
    writesOld: made('power', fc.constantFrom('on', 'off')),
    writesNow: made('power', fc.constantFrom('on', 'off', 'idle')),
    ...cut('power', (value: string) => (value === 'idle' ? 'off' : value)),
  },
  'values that changed places': {
    old: { side: f.enum(['left', 'right'], { default: 'left', filter: true }) },
    now: { side: f.enum(['right', 'left'], { default: 'right', filter: true }) },
    writesOld: made('side', fc.constantFrom('left', 'right')),
    writesNow: made('side', fc.constantFrom('left', 'right')),
    ...cut('side', swapped, swapped),
  },
  'a field composed of two': {
    old: { first: f.text({ filter: true }), last: f.text({ default: '' }) },
    now: { full: f.text() },
    writesOld: fc.record({ first: fc.constantFrom('Ann', 'Bob'), last: fc.constantFrom('Lee', 'Ray', '') }),
    writesNow: made('full', fc.constantFrom('Ann Lee', 'Bob', 'Ann  Lee', 'Bob Ray Lee')),
    up: ({ first, last }) => ({ full: `${first} ${last}`.trim() }),
    down: ({ full }) => split(full as string),
  },
  'an object that says more': {
    old: { place: f.object({ city: f.text(), zip: f.text({ default: '' }) }) },
    now: { place: f.object({ town: f.text(), country: f.text({ default: 'DE' }) }) },
    writesOld: made('place', fc.record({ city, zip: fc.constantFrom('', '1') })),
    writesNow: made('place', fc.record({ town: city, country: fc.constantFrom('DE', 'IT') })),
    up: ({ place }) => ({ place: { town: record(place).city, country: 'DE' } }),
    down: ({ place }) => ({ place: { city: record(place).town } }),
    merge: ({ place }, made) => ({ place: { ...record(place), town: record(made.place).town } }),
  },
  'a name that another field takes': {
    old: { a: f.list(f.text()) },
    now: { b: f.list(f.text()), a: f.list(f.text()) },
    writesOld: made('a', words),
    writesNow: fc.record({ a: words, b: words }),
    up: ({ a }) => ({ b: a }),
    down: ({ b }) => ({ a: b }),
    merge: (now, { b }) => ({ ...now, b }),
  },
  'a hidden text': {
    old: { pin: f.text({ writeOnly: true, optional: true }) },
    now: { code: f.text({ writeOnly: true, optional: true }) },
    writesOld: made('pin', word),
    writesNow: made('code', word),
    ...one('pin', 'code'),
  },
  metadata: {
    old: { labels: f.metadata() },
    now: { metadata: f.metadata() },
    writesOld: made('labels', fc.dictionary(fc.constantFrom('k', 'l'), word)),
    writesNow: made('metadata', fc.dictionary(fc.constantFrom('k', 'l'), word)),
    ...one('labels', 'metadata'),
  },
  'a field of one side': {
    old: { gone: f.text({ default: '' }) },
    now: { fresh: f.list(f.text()) },
    writesOld: made('gone', word),
    writesNow: made('fresh', words),
    up: () => ({}),
    down: () => ({}),
    merge: asIs,
  },
}

function swapped(value: string): string {
  return value === 'left' ? 'right' : 'left'
}

/** Differences that are possible without a version: renamed fields and members, added and removed ones. */
export const plain: Readonly<Record<string, Pair>> = {
  'a renamed list': {
    old: { tags: f.list(f.text()) },
    now: { words: f.list(f.text(), { was: 'tags' }) },
    writesOld: made('tags', words),
    writesNow: made('words', words),
    ...one('tags', 'words'),
  },
  'a renamed list of objects that say more': {
    old: { lines: f.list(f.object({ text: f.text() })) },
    now: { rows: f.list(f.object({ text: f.text(), rank: f.integer({ default: 0 }) }), { was: 'lines' }) },
    writesOld: made('lines', fc.array(fc.record({ text: city }), { maxLength: 2 })),
    writesNow: made('rows', fc.array(fc.record({ text: city, rank: fc.constantFrom(0, 1) }), { maxLength: 2 })),
    up: ({ lines }) => ({ rows: (lines as Values[]).map(({ text }) => ({ text, rank: 0 })) }),
    down: ({ rows }) => ({ lines: (rows as Values[]).map(({ text }) => ({ text })) }),
  },
  'a renamed text': {
    old: { name: f.text({ filter: true }) },
    now: { label: f.text({ was: 'name', filter: true }) },
    writesOld: made('name', word),
    writesNow: made('label', word),
    ...one('name', 'label'),
  },
  'an object whose members have other names': {
    old: { place: f.object({ city: f.text(), zip: f.text({ default: '' }), tags: f.list(f.text()) }) },
    now: {
      place: f.object({
        town: f.text({ was: 'city' }),
        country: f.text({ default: 'DE' }),
        words: f.list(f.text(), { was: 'tags' }),
      }),
    },
    writesOld: made('place', fc.record({ city, zip: fc.constantFrom('', '1'), tags: words })),
    writesNow: made('place', fc.record({ town: city, country: fc.constantFrom('DE', 'IT'), words })),
    up: ({ place }) => ({ place: { town: record(place).city, words: record(place).tags } }),
    down: ({ place }) => ({ place: { city: record(place).town, tags: record(place).words } }),
    merge: ({ place }, made) => ({ place: { ...record(place), ...record(made.place) } }),
  },
  'a field of one side': versioned['a field of one side'] as Pair,
  metadata: {
    old: { labels: f.metadata() },
    now: { metadata: f.metadata({ was: 'labels' } as never) },
    writesOld: made('labels', fc.dictionary(fc.constantFrom('k', 'l'), word)),
    writesNow: made('metadata', fc.dictionary(fc.constantFrom('k', 'l'), word)),
    ...one('labels', 'metadata'),
  },
}

const fieldsOf = (pairs: readonly Pair[], side: 'old' | 'now') =>
  Object.assign({ rank: f.integer({ default: 0 }) }, ...pairs.map((pair) => pair[side]))
const dated = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const of = (fields: Record<string, Field>, versions: object | undefined) =>
  service({
    name: 'things',
    ...(versions && { versions }),
    resources: { things: { prefix: 'thg', fields, access: 'public' } },
  } as never) as unknown as Service & { change: (version: string, resource: string, change: object) => Service }

/** The old declaration with one version, and the new one with two. */
export function versions(): readonly [old: Service, now: Service] {
  const all = Object.values(versioned)
  const { tags: _, csv, first, last, gone, pin: __, a: ___, labels: ____, ...kept } = fieldsOf(all, 'old')
  const { price, note, count, place } = kept
  const by = (name: string) => versioned[name] as Pair
  const retyped = ['a decimal with more digits', 'a longer text', 'a number that may be null'].map(by)
  const makers = [
    ...retyped,
    by('a list made from a text'),
    by('a field composed of two'),
    by('an object that says more'),
  ]
  const now = of(fieldsOf(all, 'now'), dated).change('v2', 'things', {
    about: 'Most of it is otherwise.',
    renamed: { tags: 'words', pin: 'code', a: 'b', labels: 'metadata' },
    removed: { csv, first, last, gone },
    added: ['parts', 'full', 'fresh', 'a'],
    retyped: { price, note, count, place },
    mapped: { side: { left: 'right', right: 'left' } },
    shown: { power: { idle: 'off' } },
    request: (old: Values) => Object.assign({}, ...makers.map(({ up }) => up(old))),
    response: (is: Values) => Object.assign({}, ...makers.map(({ down }) => down(is))),
  })
  return [of(fieldsOf(all, 'old'), { v1: dated.v1 }), now]
}

export const unversioned = (): readonly [old: Service, now: Service] => {
  const all = Object.values(plain)
  return [of(fieldsOf(all, 'old'), undefined), of(fieldsOf(all, 'now'), undefined)]
}

export const picked = (values: Values, fields: Readonly<Record<string, Field>>): Values =>
  Object.fromEntries(Object.keys(fields).flatMap((name) => (Object.hasOwn(values, name) ? [[name, values[name]]] : [])))

export interface Sides {
  readonly place: Place
  readonly old: Node
  readonly now: Node
  readonly end: () => Promise<void>
}

export async function sides(t: TestContext, place: Place, before: Service, after: Service): Promise<Sides> {
  const old = nodeOn(place, before)
  t.after(old.close)
  await old.ask('GET', '/things')
  await alive(place)
  assert.deepEqual((await applied(place, after)).waitsFor, ['old'])
  const now = nodeOn(place, after)
  t.after(now.close)
  const end = async () => {
    await place.rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(place, after, ['things.gone', 'things.place.zip'])).left, [])
  }
  return { place, old, now, end }
}
