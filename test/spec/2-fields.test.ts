/** Part 2 of the contract: for every kind of field the accepted values, their form in answers, and the refused values. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { created, wrong } from '../help/verdict.ts'

const optional = true

const samples = service({
  name: 'samples',
  resources: {
    samples: {
      prefix: 'smp',
      fields: {
        text: f.text({ optional }),
        word: f.text({ optional, min: 2, max: 4 }),
        code: f.text({ optional, pattern: '^[A-Z]{2}-\\p{L}$' }),
        email: f.email({ optional }),
        site: f.url({ optional }),
        quantity: f.integer({ optional }),
        stars: f.integer({ optional, min: 1, max: 5 }),
        serial: f.bigint({ optional }),
        small: f.bigint({ optional, min: '-10', max: '10' }),
        price: f.decimal({ optional, scale: 2 }),
        rate: f.decimal({ optional, precision: 5, scale: 4, min: '0', max: '1' }),
        whole: f.decimal({ optional, precision: 30, scale: 0 }),
        paid: f.boolean({ optional }),
        seenAt: f.timestamp({ optional }),
        startsAt: f.timestamp({ optional, min: '2026-01-01T00:00:00Z' }),
        day: f.date({ optional }),
        workDay: f.date({ optional, min: '2026-01-01', max: '2026-12-31' }),
        patience: f.duration({ optional }),
        stay: f.interval({ optional }),
        level: f.enum(['low', 'high'], { optional }),
        parentSampleId: f.ref('samples', { optional }),
        homeland: f.country({ optional, ownMeaning: 'where it was taken' }),
        money: f.currency({ optional }),
      },
      access: 'public',
    },
  },
})

type Rows = Readonly<Record<string, readonly unknown[]>>

/** Values that are answered as they were sent. */
const kept: Rows = {
  text: [
    '',
    'a',
    ' a ',
    'ä😀e\u0301\u200d',
    '<script>',
    '"\\/\b\f\n\r\t',
    '\u2028\uffff',
    'x'.repeat(10_000),
    '😀'.repeat(10_000),
  ],
  word: ['ab', 'abcd', '😀😀', '😀😀😀😀'],
  code: ['AB-c', 'AB-é', 'AB-𝒳'],
  email: ['ann@example.com', 'a.b+c@x-y.example.org'],
  site: ['https://example.com', 'http://example.com:8080/a%20b?c=d#e'],
  quantity: [0, -1, 9007199254740991, -9007199254740991],
  stars: [1, 5],
  serial: ['0', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'],
  small: ['-10', '10'],
  price: ['0.00', '-0.01', '9999999999999999.99', '-9999999999999999.99'],
  rate: ['0.0000', '1.0000', '0.1234'],
  whole: ['123456789012345678901234567890'],
  paid: [true, false],
  seenAt: [
    '2026-11-20T09:04:00.000Z',
    '0000-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
    '2024-02-29T12:00:00.001Z',
  ],
  startsAt: ['2026-01-01T00:00:00.000Z'],
  day: ['2026-11-20', '2024-02-29', '2000-02-29', '0000-02-29', '9999-12-31'],
  workDay: ['2026-01-01', '2026-12-31'],
  patience: ['P3DT4H', 'P1Y2M10DT2H30M', 'PT0.5S', 'P2W', 'PT0S'],
  stay: ['2026-01-01T00:00:00.000Z/P1M', 'P1M/2026-01-01T00:00:00.000Z', '2026-01-01/2026-02-01'],
  level: ['low', 'high'],
  homeland: ['IT', 'DE', 'US'],
  money: ['EUR', 'USD', 'JPY'],
}

/** Values that are answered in the canonical form of their field. */
const written: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  serial: { '-0': '0' },
  price: { 10: '10.00', '10.5': '10.50', '-0': '0.00', '-3': '-3.00' },
  rate: { 1: '1.0000', '0.5': '0.5000' },
  seenAt: {
    '2026-11-20T09:04:00Z': '2026-11-20T09:04:00.000Z',
    '2026-11-20T09:04:00.1Z': '2026-11-20T09:04:00.100Z',
    '2026-11-20T09:04:00.123456Z': '2026-11-20T09:04:00.123Z',
    '2026-11-20T09:04:00.999999999Z': '2026-11-20T09:04:00.999Z',
  },
  stay: { '2026-01-01T00:00:00Z/2026-01-02T00:00:00Z': '2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z' },
}

/** Values that are refused, by field and type. */
const refused: Readonly<Record<string, Rows>> = {
  text: { 'invalid-type': [1, true, [], {}, ['a']], 'too-long': ['x'.repeat(10_001), '😀'.repeat(10_001)] },
  word: { 'too-short': ['', 'a', '😀'], 'too-long': ['abcde', 'e\u0301e\u0301e'] },
  code: { 'invalid-format': ['', 'AB-cd', 'ab-c', 'AB-c\n', ' AB-c'] },
  email: {
    'invalid-format': ['ann', 'ann@localhost', 'a b@example.com', 'ann@example.com, bob@example.com'],
    'invalid-type': [5],
  },
  site: {
    'invalid-format': ['example.com', '/a', 'javascript:alert(1)', 'ftp://example.com', 'https://'],
    'invalid-type': [{}],
  },
  quantity: { 'invalid-type': ['1', 1.5, true, '', [1], 0.1], 'out-of-range': [9007199254740992, 1e300, -1e20] },
  stars: { 'out-of-range': [0, 6, -1] },
  serial: {
    'invalid-type': [5, true],
    'invalid-format': ['', '1.0', '01', '1e3', ' 1'],
    'out-of-range': ['9223372036854775808', '-9223372036854775809'],
  },
  small: { 'out-of-range': ['11', '-11', '100'] },
  price: {
    'invalid-type': [10, 10.5],
    'invalid-format': ['', '.5', '5.', '1e2', '1,5', '+1', '01'],
    'out-of-range': ['1.005', '1.000', '10000000000000000'],
  },
  rate: { 'out-of-range': ['1.0001', '-0.0001', '10', '0.12345'] },
  whole: { 'out-of-range': ['1234567890123456789012345678901', '1.0'] },
  paid: { 'invalid-type': ['true', 0, 1, 'yes', []] },
  seenAt: {
    'invalid-format': [
      '2026-02-30T00:00:00Z',
      '2026-11-20T24:00:00Z',
      '2026-11-20T09:04:60Z',
      '2026-11-20 09:04:00Z',
      '2026-11-20T09:04:00z',
      '2026-11-20t09:04:00Z',
      '2026-11-20T09:04:00+03:00',
      '2026-11-20T09:04:00Z[Europe/Paris]',
      '1763629440',
      1763629440,
      '2026-11-20',
      '2026-11-20T09:04Z',
      '',
      '2026-11-20T09:04:00.1234567890Z',
      'x'.repeat(100_000),
    ],
  },
  startsAt: { 'out-of-range': ['2025-12-31T23:59:59.999Z', '0000-01-01T00:00:00Z'] },
  day: {
    'invalid-format': [
      '2026-02-29',
      '1900-02-29',
      '2026-13-01',
      '2026-1-1',
      '20260101',
      '2026-01-01T00:00:00Z',
      '',
      20260101,
    ],
  },
  workDay: { 'out-of-range': ['2025-12-31', '2027-01-01'] },
  patience: { 'invalid-format': [86400, 'P', 'PT', '1D', 'P1D2M', 'P1.5DT1H', '-P1D', ''] },
  stay: { 'invalid-format': ['2026-01-01', 'P1M/P1M', '2026-02-01/2026-01-01', '2026-01-01/', 5, '2026-02-30/P1M'] },
  level: { 'invalid-value': ['LOW', '', 'middle', 'toString', '__proto__'], 'invalid-type': [1] },
  parentSampleId: {
    'invalid-type': [5, {}],
    'invalid-format': ['', 'smp_1', 'cus_01h455vb4pex5vsknk084sn02q', 'smp_8zzzzzzzzzzzzzzzzzzzzzzzzz'],
    'invalid-value': ['smp_01h455vb4pex5vsknk084sn02q'],
  },
  homeland: { 'invalid-value': ['it', 'ITA', 'XX', 'Italy', ''], 'invalid-type': [39] },
  money: { 'invalid-value': ['eur', 'EURO', 'ZZZ', ''], 'invalid-type': [978] },
}

doors('fields', samples, (door) => {
  spec('R38 R40 R44', 'values in their one form come back as they were sent', async () => {
    for (const [name, values] of Object.entries(kept))
      for (const value of values) {
        const { json, headers } = await created(door, '/samples', { [name]: value })
        assert.deepEqual(json[name], value)
        assert.deepEqual((await door.send('GET', headers.location as string)).json[name], value)
      }
  })

  spec('R38 R39 R44', 'other values come back in the one form of their field', async () => {
    for (const [name, values] of Object.entries(written))
      for (const [given, becomes] of Object.entries(values))
        assert.equal((await created(door, '/samples', { [name]: given })).json[name], becomes)
  })

  spec(
    'R35 R39 R40 R44',
    'an invalid value is refused with pointer and type, on POST, PUT and PATCH alike',
    async () => {
      const path = (await created(door, '/samples', { text: 'stays' })).headers.location as string
      for (const [name, types] of Object.entries(refused))
        for (const [type, values] of Object.entries(types))
          for (const value of values) {
            const json = { [name]: value }
            const expected = [`${type} /${name}`]
            const shown = JSON.stringify(json).slice(0, 100)
            assert.deepEqual(wrong(await door.send('POST', '/samples', { json })), expected, shown)
            assert.deepEqual(wrong(await door.send('PUT', path, { json })), expected, shown)
            assert.deepEqual(wrong(await door.send('PATCH', path, { json })), expected, shown)
          }
      assert.equal((await door.send('GET', path)).json.text, 'stays')
    },
  )

  spec('R44', 'a whole number may be written with zeros after the point or as a power of ten', async () => {
    const rows = { '1.0': 1, '1e2': 100, '-0': 0, '0.0': 0, '1.50e1': 15, '1E+2': 100, '500e-2': 5 }
    for (const [text, becomes] of Object.entries(rows)) {
      const sent = { body: `{"quantity":${text}}`, headers: { 'content-type': 'application/json' } }
      const { status, text: answered } = await door.send('POST', '/samples', sent)
      assert.equal(status, 201)
      assert.match(answered, new RegExp(`"quantity":${becomes},`))
    }
  })

  spec('R44', 'a number that would lose precision or overflow is refused at its place', async () => {
    for (const text of ['9007199254740993', '1e400', '-1e400', '1e-400', '0.12345678901234567890', '1e99999']) {
      const sent = { body: `{"text":"a","quantity":${text}}`, headers: { 'content-type': 'application/json' } }
      assert.deepEqual(wrong(await door.send('POST', '/samples', sent)), ['out-of-range /quantity'], text)
    }
  })

  spec('R42', 'null is a value of every optional field', async () => {
    const names = Object.keys(kept)
    const { json } = await created(door, '/samples', Object.fromEntries(names.map((name) => [name, null])))
    for (const name of names) assert.equal(json[name], null)
  })
})

const abroad = service({
  name: 'abroad',
  settings: { dates: { acceptOffsets: true } },
  resources: {
    trips: {
      prefix: 'tri',
      fields: { at: f.timestamp({ optional, max: '2026-12-31T23:59:59Z' }), stay: f.interval({ optional }) },
      access: 'public',
    },
  },
})

doors('offsets', abroad, (door) => {
  spec('R39', 'with dates.acceptOffsets a numeric offset is turned into UTC, in intervals too', async () => {
    const rows: [name: string, given: string, becomes: string][] = [
      ['at', '2026-11-20T12:04:00+03:00', '2026-11-20T09:04:00.000Z'],
      ['at', '2026-01-01T00:30:00.1239+01:00', '2025-12-31T23:30:00.123Z'],
      ['at', '2026-11-20T09:04:00Z', '2026-11-20T09:04:00.000Z'],
      ['stay', '2026-11-20T12:04:00+03:00/PT1H', '2026-11-20T09:04:00.000Z/PT1H'],
    ]
    for (const [name, given, becomes] of rows)
      assert.equal((await created(door, '/trips', { [name]: given })).json[name], becomes)
    for (const at of [
      '2026-11-20T12:04:00+24:00',
      '2026-11-20T12:04:00+0300',
      '0000-01-01T00:00:00+00:01',
      '2026-11-20T12:04:00+03:00[x]',
    ])
      assert.deepEqual(wrong(await door.send('POST', '/trips', { json: { at } })), ['invalid-format /at'])
    const late = { at: '2026-12-31T23:30:00-01:00' }
    assert.deepEqual(wrong(await door.send('POST', '/trips', { json: late })), ['out-of-range /at'])
  })
})
