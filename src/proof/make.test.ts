/** Made values fit their fields, whatever these require, and failing cases are shrunk. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { matchingText } from '../check/matching-text.ts'
import { type Field, f, type Service, service } from '../index.ts'
import { createDocument } from '../resources/document.ts'
import { replayedChance, seededChance, shrinkChoices } from './chance.ts'
import { makeBody, makeValue } from './make.ts'

const of = (fields: Record<string, Field>): Service =>
  service({ name: 'made', resources: { things: { prefix: 'thg', fields, access: 'public' } } } as never) as never

const kinds: Record<string, Field> = {
  text: f.text(),
  short: f.text({ min: 2, max: 3 }),
  code: f.text({ pattern: '^[A-Z]{2}-[0-9]{1,4}(x|yy)?$' }),
  email: f.email(),
  url: f.url(),
  count: f.integer(),
  rating: f.integer({ min: -2, max: 2 }),
  big: f.bigint(),
  bigger: f.bigint({ min: '10', max: '12' }),
  price: f.decimal({ scale: 2 }),
  whole: f.decimal({ scale: 0, precision: 4 }),
  rate: f.decimal({ scale: 4, min: '0.5', max: '1' }),
  done: f.boolean(),
  at: f.timestamp(),
  soon: f.timestamp({ min: '2026-01-01T00:00:00Z', max: '2026-01-02T00:00:00Z' }),
  day: f.date({ max: '1999-12-31' }),
  lasts: f.duration(),
  span: f.interval(),
  state: f.enum(['open', 'closed']),
  from: f.country(),
  money: f.currency(),
  note: f.text({ optional: true, max: 5 }),
  tags: f.list(f.text({ max: 4 }), { min: 1, max: 3 }),
  place: f.object({ city: f.text({ max: 9 }), zip: f.text({ optional: true, pattern: '^[0-9]{5}$' }) }),
  more: f.metadata(),
}

describe('values', () => {
  for (const [name, field] of Object.entries(kinds)) {
    test(`of ${name}`, () => {
      const resource = of({ [name]: field }).resources.get('things')
      const member = resource?.byName.get(name)
      assert.ok(resource && member)
      const seen = new Set<string>()
      for (let seed = 0; seed < 300; seed++) {
        const row: number[] = []
        const value = makeValue(member, resource.rules, { chance: seededChance(seed, row), idOf: () => undefined })
        assert.notEqual(value, undefined, `seed ${seed}`)
        seen.add(JSON.stringify(value))
        const twin = makeValue(member, resource.rules, { chance: replayedChance(row), idOf: () => undefined })
        assert.deepEqual(twin, value, 'the same choices make the same value')
      }
      assert.ok(seen.size > 1, 'there is more than one value')
    })
  }
})

test('bodies are used unchanged', () => {
  const resource = of(kinds).resources.get('things')
  assert.ok(resource)
  for (let seed = 0; seed < 200; seed++) {
    const body = makeBody(resource, { chance: seededChance(seed, []), idOf: () => undefined })
    assert.ok(body)
    createDocument(resource, body, { scopes: new Set(), blind: false, refuse: (field) => new Error(field) })
  }
})

test('an item that cannot be generated is undefined', () => {
  const resource = of({ odd: f.text({ pattern: '^(?=a)b$' }) }).resources.get('things')
  assert.equal(makeBody(resource as never, { chance: seededChance(1, []), idOf: () => undefined }), undefined)
})

describe('patterns', () => {
  const some = [
    '^[0-9]{1,4}$',
    'a|b|c',
    '^(?:ab?)+c*$',
    '^\\p{Lu}\\p{Ll}{2,}$',
    '^[^a-z]+$',
    '^\\d{3}-\\w+\\.(?:com|org)$',
    '^\\u{1F600}?x$',
    '^.{3}$',
    '^[\\]\\-a]{2}$',
    '',
  ]
  for (const pattern of some) {
    test(pattern, () => {
      const expression = new RegExp(pattern, 'u')
      for (let seed = 0; seed < 100; seed++) assert.match(matchingText(pattern, seededChance(seed, [])), expression)
    })
  }
})

test('a failing row is reduced as far as possible', async () => {
  const draws = (row: readonly number[]) => {
    const chance = replayedChance(row)
    return Array.from({ length: chance.below(20) }, () => chance.below(1000))
  }
  const fails = async (row: readonly number[]) => draws(row).some((value) => value >= 100)
  const row: number[] = []
  for (let seed = 1; ; seed++) {
    row.length = 0
    const chance = seededChance(seed, row)
    Array.from({ length: chance.below(20) }, () => chance.below(1000))
    if (await fails(row)) break
  }
  assert.deepEqual(draws(await shrinkChoices(row, fails)), [100])
})
