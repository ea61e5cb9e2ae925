/** Part 2 of the contract: lists, objects and metadata, their defaults, and all mistakes in them at once. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { created, wrong } from '../help/verdict.ts'

const parcel = {
  label: f.text({ max: 5 }),
  quantity: f.integer({ min: 1 }),
  notes: f.list(f.text({ max: 3 }), { max: 2 }),
}

const depots = service({
  name: 'depots',
  resources: {
    baskets: {
      prefix: 'bsk',
      fields: {
        title: f.text(),
        home: f.object({
          city: f.text({ min: 1 }),
          zip: f.text({ optional: true }),
          spot: f.object({ floor: f.integer({ default: 0 }), room: f.text({ optional: true }) }, { optional: true }),
        }),
        office: f.object(
          { city: f.text(), fee: f.decimal({ scale: 2, default: '1' }) },
          { optional: true, ownMeaning: 'x' },
        ),
        parcels: f.list(f.object(parcel), { max: 3 }),
        tags: f.list(f.text({ max: 4 }), { min: 1, max: 4, default: ['new'] }),
        grid: f.list(f.list(f.integer())),
        extras: f.list(f.boolean(), { optional: true }),
        sizes: f.list(f.integer(), { min: 1 }),
        metadata: f.metadata(),
        labels: f.metadata({ optional: true, ownMeaning: 'x' }),
      },
      access: 'public',
    },
    kits: {
      prefix: 'kit',
      fields: {
        text: f.text({ default: 'x' }),
        maybe: f.text({ default: 'y', optional: true }),
        count: f.integer({ default: 5 }),
        serial: f.bigint({ default: '5' }),
        price: f.decimal({ scale: 3, default: '5' }),
        open: f.boolean({ default: false }),
        moment: f.timestamp({ default: '2026-01-01T00:00:00Z' }),
        day: f.date({ default: '2026-01-01' }),
        stay: f.interval({ default: '2026-01-01T00:00:00Z/P1M' }),
        level: f.enum(['low', 'high'], { default: 'low' }),
        words: f.list(f.text(), { default: ['a', 'b'] }),
        place: f.object({ city: f.text(), floor: f.integer({ default: 0 }) }, { default: { city: 'Rome' } }),
        metadata: f.metadata({ default: { b: '2', a: '1' } }),
      },
      access: 'public',
    },
  },
})

const basket = { title: 'a', home: { city: 'Rome' }, sizes: [1] }

doors('structures', depots, (door) => {
  spec('R42', 'nested members are present too, null or their default where nothing is given', async () => {
    const { json } = await created(door, '/baskets', {
      ...basket,
      home: { spot: {}, city: 'Rome' },
      office: { city: 'Bari' },
    })
    assert.equal(JSON.stringify(json.home), '{"city":"Rome","zip":null,"spot":{"floor":0,"room":null}}')
    assert.deepEqual(json.office, { city: 'Bari', fee: '1.00' })
    const { id, createdAt, updatedAt, ...rest } = (await created(door, '/baskets', basket)).json
    assert.equal(typeof id + typeof createdAt, 'stringstring')
    assert.equal(createdAt, updatedAt)
    assert.deepEqual(rest, {
      ...{
        title: 'a',
        home: { city: 'Rome', zip: null, spot: null },
        office: null,
        parcels: [],
        tags: ['new'],
        grid: [],
      },
      ...{ extras: null, sizes: [1], metadata: {}, labels: null },
    })
  })

  spec('R42 R44', 'defaults come back in the one form of their field', async () => {
    const { id: _, createdAt: __, updatedAt: ___, ...rest } = (await created(door, '/kits', {})).json
    assert.deepEqual(rest, {
      ...{ text: 'x', maybe: 'y', count: 5, serial: '5', price: '5.000', open: false, day: '2026-01-01', level: 'low' },
      ...{ moment: '2026-01-01T00:00:00.000Z', stay: '2026-01-01T00:00:00.000Z/P1M', words: ['a', 'b'] },
      ...{ place: { city: 'Rome', floor: 0 }, metadata: { a: '1', b: '2' } },
    })
  })

  spec('R42', 'null replaces a default only if the field is optional', async () => {
    assert.equal((await created(door, '/kits', { maybe: null })).json.maybe, null)
    const json = { text: null, words: null, place: { city: null, floor: null }, metadata: null }
    const expected = ['/text', '/words', '/place/city', '/place/floor', '/metadata'].map((at) => `field-required ${at}`)
    assert.deepEqual(wrong(await door.send('POST', '/kits', { json })), expected)
  })

  spec('R154 R155', 'a violation inside objects and lists has its whole pointer', async () => {
    const rows: [given: object, expected: string[]][] = [
      [{ home: {} }, ['field-required /home/city']],
      [{ home: { city: '' } }, ['too-short /home/city']],
      [
        { home: { city: 'x', spot: { floor: 'a', rom: 1 } } },
        ['invalid-type /home/spot/floor', 'unknown-field /home/spot/rom'],
      ],
      [{ home: [] }, ['invalid-type /home']],
      [{ home: 'Rome' }, ['invalid-type /home']],
      [{ home: null }, ['field-required /home']],
      [{ office: {} }, ['field-required /office/city']],
      [{ parcels: [{ label: 'a', quantity: 0 }] }, ['out-of-range /parcels/0/quantity']],
      [
        { parcels: [{ label: 'a', quantity: 1 }, { label: 'toolong' }] },
        ['field-required /parcels/1/quantity', 'too-long /parcels/1/label'],
      ],
      [{ parcels: [{ label: 'a', quantity: 1, notes: ['ok', 'long'] }] }, ['too-long /parcels/0/notes/1']],
      [{ parcels: [{ label: 'a', quantity: 1, notes: ['a', 'b', 'c'] }] }, ['too-many-items /parcels/0/notes']],
      [{ parcels: [null, 1, []] }, ['field-required /parcels/0', 'invalid-type /parcels/1', 'invalid-type /parcels/2']],
      [{ parcels: [{}, {}, {}, {}] }, ['too-many-items /parcels']],
      [{ parcels: {} }, ['invalid-type /parcels']],
      [{ parcels: { 0: { label: 'a', quantity: 1 } } }, ['invalid-type /parcels']],
      [{ tags: [] }, ['too-short /tags']],
      [{ sizes: [] }, ['too-short /sizes']],
      [{ sizes: undefined }, ['field-required /sizes']],
      [{ tags: ['a', 5, 'toolong'] }, ['invalid-type /tags/1', 'too-long /tags/2']],
      [{ grid: [[1], [2, 'a']] }, ['invalid-type /grid/1/1']],
      [{ grid: [1] }, ['invalid-type /grid/0']],
      [{ extras: [null] }, ['field-required /extras/0']],
    ]
    for (const [given, expected] of rows)
      assert.deepEqual(wrong(await door.send('POST', '/baskets', { json: { ...basket, ...given } })), expected)
  })

  spec('R155', 'pointers are escaped, in objects, lists and metadata', async () => {
    const rows: [given: object, pointer: string][] = [
      [{ 'a/b': 1 }, '/a~1b'],
      [{ 'a~b': 1 }, '/a~0b'],
      [{ '~1': 1 }, '/~01'],
      [{ '': 1 }, '/'],
      [{ 'ä "\\': 1 }, '/ä "\\'],
      [{ home: { city: 'x', 'a/~b': 1 } }, '/home/a~1~0b'],
      [{ parcels: [{ label: 'a', quantity: 1, '/': 1 }] }, '/parcels/0/~1'],
    ]
    for (const [given, pointer] of rows)
      assert.deepEqual(wrong(await door.send('POST', '/baskets', { json: { ...basket, ...given } })), [
        `unknown-field ${pointer}`,
      ])
    const metadata = { 'a/b': 1, 'c~d': null }
    const expected = ['invalid-type /metadata/a~1b', 'invalid-type /metadata/c~0d']
    assert.deepEqual(wrong(await door.send('POST', '/baskets', { json: { ...basket, metadata } })), expected)
  })

  spec('R154', 'missing fields are reported first, then violations in the order of the document', async () => {
    const json = { tags: 1, zebra: 1, parcels: [{ extra: 1, label: 5 }], grid: 'x', apple: 1 }
    assert.deepEqual(wrong(await door.send('POST', '/baskets', { json })), [
      'field-required /title',
      'field-required /home',
      'field-required /sizes',
      'invalid-type /tags',
      'unknown-field /zebra',
      'field-required /parcels/0/quantity',
      'unknown-field /parcels/0/extra',
      'invalid-type /parcels/0/label',
      'invalid-type /grid',
      'unknown-field /apple',
    ])
  })

  spec('R154', 'mistakes of a patch too are in the order of the document, for any stored item', async () => {
    const { headers } = await created(door, '/baskets', basket)
    const json = { metadata: { b: 1, a: 2 }, home: { spot: 5, zip: 6, city: 7, more: 8 }, title: 9 }
    assert.deepEqual(wrong(await door.send('PATCH', headers.location as string, { json })), [
      ...['invalid-type /metadata/b', 'invalid-type /metadata/a', 'invalid-type /home/spot', 'invalid-type /home/zip'],
      ...['invalid-type /home/city', 'unknown-field /home/more', 'invalid-type /title'],
    ])
  })

  spec('R154', 'at most 50 violations are listed, with their total', async () => {
    const json = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`x${i}`, i]))
    const answer = await door.send('POST', '/baskets', { json: { ...basket, ...json } })
    assert.equal(answer.json.message, '60 fields are invalid.')
    assert.deepEqual(
      wrong(answer),
      Array.from({ length: 50 }, (_, i) => `unknown-field /x${i}`),
    )
    const one = await door.send('POST', '/baskets', { json: { home: { city: 'x' }, sizes: [1] } })
    assert.equal(one.json.message, '1 field is invalid.')
    assert.deepEqual(wrong(one), ['field-required /title'])
  })

  spec('R41', 'metadata has text values within its limits and is answered in one order', async () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, '']))
    const rows: [metadata: unknown, expected: string[]][] = [
      [{ n: 1 }, ['invalid-type /metadata/n']],
      [{ a: true, b: null, c: [], d: {} }, ['a', 'b', 'c', 'd'].map((key) => `invalid-type /metadata/${key}`)],
      [{ '': 'x' }, ['too-short /metadata/']],
      [{ ['k'.repeat(41)]: '' }, [`too-long /metadata/${'k'.repeat(41)}`]],
      [{ k: 'v'.repeat(501) }, ['too-long /metadata/k']],
      [keys(51), ['too-many-items /metadata']],
      [[], ['invalid-type /metadata']],
      ['a', ['invalid-type /metadata']],
    ]
    for (const [metadata, expected] of rows)
      assert.deepEqual(wrong(await door.send('POST', '/baskets', { json: { ...basket, metadata } })), expected)
    const good = [{}, keys(50), { ['😀'.repeat(40)]: '😀'.repeat(500) }, { 'a/b c.d': '' }]
    for (const metadata of good)
      assert.deepEqual((await created(door, '/baskets', { ...basket, metadata })).json.metadata, metadata)
    const { json } = await created(door, '/baskets', { ...basket, metadata: { b: '1', a: '2' } })
    assert.equal(JSON.stringify(json.metadata), '{"a":"2","b":"1"}')
  })

  spec('R46', 'keys with a meaning in JavaScript are ordinary keys of metadata and unknown elsewhere', async () => {
    const body = `{"title":"a","sizes":[1],"home":{"city":"x"},"metadata":{"__proto__":"p","constructor":"c","toString":"t"}}`
    const headers = { 'content-type': 'application/json' }
    const { status, json, headers: answered } = await door.send('POST', '/baskets', { body, headers })
    assert.equal(status, 201)
    assert.deepEqual(Object.entries(json.metadata), [
      ['__proto__', 'p'],
      ['constructor', 'c'],
      ['toString', 't'],
    ])
    const path = answered.location as string
    assert.deepEqual((await door.send('GET', path)).json, json)
    const patch = { body: '{"metadata":{"__proto__":null,"constructor":"d"}}', headers }
    assert.deepEqual(Object.entries((await door.send('PATCH', path, patch)).json.metadata), [
      ['constructor', 'd'],
      ['toString', 't'],
    ])
    const nested =
      '{"title":"a","sizes":[1],"home":{"city":"x","__proto__":{"zip":"1"},"constructor":1},"toString":1,"hasOwnProperty":1}'
    assert.deepEqual(wrong(await door.send('POST', '/baskets', { body: nested, headers })), [
      ...['/home/__proto__', '/home/constructor', '/toString', '/hasOwnProperty'].map((at) => `unknown-field ${at}`),
    ])
    assert.equal(({} as { zip?: string }).zip, undefined)
  })

  spec('R44', 'numbers that would lose precision are refused also deep inside, and in unknown fields', async () => {
    const headers = { 'content-type': 'application/json' }
    for (const [body, pointer] of [
      ['{"parcels":[{"quantity":1},{"quantity":9007199254740993}]}', '/parcels/1/quantity'],
      ['{"grid":[[0],[1,1e999]]}', '/grid/1/1'],
      ['{"a/b":{"c":12345678901234567890}}', '/a~1b/c'],
    ])
      assert.deepEqual(wrong(await door.send('POST', '/baskets', { body: body as string, headers })), [
        `out-of-range ${pointer}`,
      ])
  })
})

const narrow = service({
  name: 'narrow',
  settings: { metadata: { keys: 2, keyLength: 3, valueLength: 4 } },
  resources: { jars: { prefix: 'jar', fields: { metadata: f.metadata() }, access: 'public' } },
})

doors('limits of metadata', narrow, (door) => {
  spec('R41', 'the limits of metadata are settings, and hold for the result of a patch', async () => {
    const { headers } = await created(door, '/jars', { metadata: { abc: 'abcd' } })
    const rows: [metadata: object, expected: string][] = [
      [{ abcd: '' }, 'too-long /metadata/abcd'],
      [{ a: 'abcde' }, 'too-long /metadata/a'],
      [{ a: '', b: '' }, 'too-many-items /metadata'],
    ]
    for (const [metadata, expected] of rows)
      assert.deepEqual(wrong(await door.send('PATCH', headers.location as string, { json: { metadata } })), [expected])
    const swapped = await door.send('PATCH', headers.location as string, {
      json: { metadata: { a: '', b: '', abc: null } },
    })
    assert.deepEqual(swapped.json.metadata, { a: '', b: '' })
  })
})
