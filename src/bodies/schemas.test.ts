/** Schemas: a schema accepts the same values as the check that it describes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { fieldTermsOf } from '../contract/terms.ts'
import { f } from '../fields/field.ts'
import type { SchemaUse } from '../fields/kind.ts'
import { type Declaration, type Service, service } from '../service.ts'
import type { DeclaredSettings } from '../settings.ts'
import { openComponents } from './components.ts'
import { fieldSchema } from './schemas.ts'

const fields = {
  text: f.text({ min: 1, max: 3 }),
  code: f.text({ pattern: '^[A-Z]+$' }),
  email: f.email(),
  url: f.url(),
  integer: f.integer({ min: -1, max: 9 }),
  bigint: f.bigint(),
  decimal: f.decimal({ precision: 4, scale: 2 }),
  whole: f.decimal({ precision: 3, scale: 0 }),
  small: f.decimal({ precision: 2, scale: 2 }),
  boolean: f.boolean(),
  timestamp: f.timestamp(),
  date: f.date(),
  duration: f.duration(),
  interval: f.interval(),
  enum: f.enum(['a', 'b']),
  maybe: f.enum(['a', 'b'], { optional: true }),
  country: f.country({ optional: true }),
  currency: f.currency(),
  ref: f.ref('things'),
  list: f.list(f.integer(), { min: 1, max: 2 }),
  object: f.object({ a: f.text(), b: f.text({ optional: true }) }),
  metadata: f.metadata(),
}

const made = (settings: DeclaredSettings = {}): Service =>
  service({
    name: 'all',
    resources: { things: { prefix: 'thi', fields, access: 'public' } },
    settings,
  } as unknown as Declaration) as unknown as Service

function judges({ resources, settings }: Service, way: SchemaUse) {
  const parts = openComponents()
  const things = resources.get('things')
  assert.ok(things)
  const terms = fieldTermsOf(things, resources)
  const context = {
    kinds: things.rules.kinds,
    settings,
    components: parts,
    resources,
    termsOf: () => terms,
    storedTermsOf: () => terms,
  }
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  return (name: string) => {
    const schema = fieldSchema(terms[name] as never, way, context)
    const fits = ajv.compile({ ...schema, components: parts.all() })
    const check = things.byName.get(name)?.check
    return {
      schema: (value: unknown) => fits(value) as boolean,
      check: (value: unknown) => {
        const faults: never[] = []
        const read = check?.(value, '', faults)
        return faults.length === 0 ? { read } : null
      },
    }
  }
}

const id = 'thi_01h455vb4pex5vsknk084sn02q'
const table: Readonly<Record<keyof typeof fields, readonly unknown[]>> = {
  text: ['', 'a', '😀😀😀', 'abcd', 1, null],
  code: ['A', 'a', ''],
  email: [
    'ann@example.com',
    'ann@example',
    'a b@example.com',
    `${'a'.repeat(65)}@example.com`,
    `${'a'.repeat(64)}@example.com`,
  ],
  url: ['https://example.com/a', 'HTTP://example.com', 'ftp://example.com', 'https://a b', 'example.com'],
  integer: [-2, -1, 0, 9, 10, 1.5, '1', null, true],
  bigint: ['0', '-1', '01', '+1', '9223372036854775807', 1, '1.0'],
  decimal: ['0', '0.5', '10.50', '-99.99', '100', '1.234', '01', '.5', '1.', 1.5],
  whole: ['0', '999', '1000', '1.0'],
  small: ['0', '0.12', '0.123', '1.00'],
  boolean: [true, false, 'true', 0],
  timestamp: [
    '2026-01-31T09:30:00Z',
    '2026-01-31T09:30:00.123456789Z',
    '2026-02-30T00:00:00Z',
    '2026-01-31T09:30:00+02:00',
    '2026-01-31',
    1,
  ],
  date: ['2026-01-31', '2026-02-30', '2026-1-1', '2026-01-31T00:00:00Z'],
  duration: ['P1D', 'PT1.5S', 'P', 'PT', 'P1W', 'P1Y2M3DT4H5M6S', 'P1.5DT1H', 'P1WT1H', 'PT1.5H', '1D', 'P1.5D1M'],
  interval: [
    '2026-01-01/2026-01-02',
    '2026-01-01T00:00:00Z/P1M',
    'P1D/2026-01-01',
    'P1D/P1D',
    '2026-01-01',
    '2026-01-01/PT1.5H1M',
  ],
  enum: ['a', 'c', null],
  maybe: ['b', 'c', null],
  country: ['IT', 'it', 'XX', null],
  currency: ['EUR', 'eur', null],
  ref: [id, 'cus_01h455vb4pex5vsknk084sn02q', `${id}x`, 'thi_81h455vb4pex5vsknk084sn02q', 5],
  list: [[], [1], [1, 2], [1, 2, 3], ['a'], 1],
  object: [{}, { a: 'x' }, { a: 'x', b: null }, { a: null }, { a: 'x', c: 1 }, []],
  metadata: [{}, { a: 'b' }, { a: 1 }, { '': 'a' }, { [`k${'k'.repeat(40)}`]: 'a' }, { a: 'b'.repeat(501) }, []],
}

test('a value fits the request schema exactly if it passes the check', () => {
  const judge = judges(made(), 'sent')
  for (const [name, values] of Object.entries(table)) {
    const { schema, check } = judge(name)
    for (const value of values)
      assert.equal(schema(value), check(value) !== null, `${name}: ${JSON.stringify(value)?.slice(0, 60)}`)
  }
})

test('the answer for a value fits the response schema', () => {
  const service = made()
  const [sent, answered] = [judges(service, 'sent'), judges(service, 'answered')]
  for (const [name, values] of Object.entries(table))
    for (const value of values) {
      const passed = sent(name).check(value)
      if (passed) assert.ok(answered(name).schema(passed.read), `${name}: ${JSON.stringify(passed.read)}`)
    }
  assert.ok(!answered('timestamp').schema('2026-01-31T09:30:00Z'), 'answers have milliseconds')
  assert.ok(!answered('decimal').schema('10'), 'answers have all digits')
})

test('offsets are described where they are accepted', () => {
  const judge = judges(made({ dates: { acceptOffsets: true } }), 'sent')
  for (const [name, value] of [
    ['timestamp', '2026-01-31T09:30:00+02:00'],
    ['interval', '2026-01-31T09:30:00+02:00/P1D'],
  ] as const)
    assert.ok(judge(name).schema(value) && judge(name).check(value))
})

test('a patch may leave out required members, and removes keys with null', () => {
  const judge = judges(made(), 'patched')
  assert.ok(judge('object').schema({ b: 'x' }))
  assert.ok(!judge('object').schema({ c: 'x' }))
  assert.ok(judge('metadata').schema({ a: null }))
  assert.ok(!judge('enum').schema(null))
})

test('bounds do not apply to filters', () => {
  const judge = judges(made(), 'asked')
  assert.ok(judge('text').schema('abcdef'))
  assert.ok(judge('integer').schema(100))
  assert.ok(!judge('enum').schema('c'))
})
