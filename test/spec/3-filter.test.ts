/** Part 3 of the contract, filtering: equality, bounds, absence, in the type of each field. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { type Door, doors, spec } from '../help/door.ts'
import { asked, listed, listService, made, refused, sentence, stocked, values } from '../help/list-service.ts'

const place = (city: string, lat: string, floor: number | null = null) => ({ place: { city, geo: { lat }, floor } })
const items = [
  {
    name: 'Ann',
    price: '10.50',
    stock: 3,
    serial: '9007199254740993',
    madeOn: '2026-01-31',
    active: true,
    ...place('Rome', '41.9', 2),
  },
  { name: 'bob', price: '9.99', stock: 0, serial: '-9223372036854775808', colour: 'blue', ...place('Paris', '-48.85') },
  {
    name: 'Cy',
    price: '-0.01',
    mass: '99999999999999999999.9999999999',
    shownAt: '2026-01-01T00:00:00.001Z',
    title: 'ÉTÉ',
  },
  { name: '', price: '0', mass: '-99999999999999999999.9999999999', shownAt: '2026-01-01T00:00:00Z', title: 'été' },
  {
    name: 'null',
    mass: '0.0000000001',
    serial: '9007199254740992',
    order: 7,
    limit: '5',
    version: 'v1',
    code: 'in:(x)',
  },
  {
    name: 'Ann',
    country: 'IT',
    currency: 'EUR',
    email: 'ann@example.com',
    site: 'https://example.com/a?b=c',
    madeOn: '2026-02-01',
  },
  { name: 'é', patience: 'P3DT4H', season: '2026-01-01T00:00:00Z/P1M', serial: '9223372036854775807', code: 'x' },
]

function filters(door: Door) {
  let maker = ''
  let ids: string[] = []
  before(async () => {
    maker = (await made(door, '/makers', { name: 'M' })).id
    ids = await stocked(door, '/products', [...items, { name: 'made', makerId: maker }])
  })
  /** The numbers of the items that a query finds. */
  const found = async (query: Record<string, string>) =>
    values(await listed(door, asked('/products', query)), 'id').map((id) => ids.indexOf(id as string))
  const table = async (rows: readonly [query: Record<string, string>, found: number[]][]) => {
    for (const [query, expected] of rows) assert.deepEqual(await found(query), expected, JSON.stringify(query))
  }
  const equality: [query: Record<string, string>, found: number[]][] = [
    [{ name: 'Ann' }, [0, 5]],
    [{ name: 'ann' }, []],
    [{ name: '' }, [3]],
    [{ name: 'é' }, [6]],
    [{ name: 'e\u0301' }, []],
    [{ price: '10.5' }, [0]],
    [{ price: '10.50' }, [0]],
    [{ price: '-0.01' }, [2]],
    [{ price: '-0' }, [3]],
    [{ mass: '99999999999999999999.9999999999' }, [2]],
    [{ serial: '9007199254740993' }, [0]],
    [{ serial: '9007199254740992' }, [4]],
    [{ stock: '0' }, [1]],
    [{ active: 'true' }, [0]],
    [{ colour: 'blue' }, [1]],
    [{ madeOn: '2026-01-31' }, [0]],
    [{ shownAt: '2026-01-01T00:00:00Z' }, [3]],
    [{ shownAt: '2026-01-01T00:00:00.0010Z' }, [2]],
    [{ country: 'IT' }, [5]],
    [{ currency: 'EUR' }, [5]],
    [{ email: 'ann@example.com' }, [5]],
    [{ site: 'https://example.com/a?b=c' }, [5]],
    [{ patience: 'P3DT4H' }, [6]],
    [{ season: '2026-01-01T00:00:00.000Z/P1M' }, [6]],
    [{ title: 'Été' }, [2, 3]],
    [{ title: 'e\u0301TE\u0301' }, [2, 3]],
    [{ code: 'x' }, [6]],
  ]

  spec('R61', 'equality is in the type of the field, for every kind that can be filtered by', () => table(equality))

  spec('R61 R63', '[eq] means the same', () =>
    table(
      equality.map(([query, expected]) => [
        Object.fromEntries(Object.entries(query).map(([name, value]) => [`${name}[eq]`, value])),
        expected,
      ]),
    ),
  )

  spec('R61', 'identifiers and references are filtered by too', async () => {
    assert.deepEqual(await found({ id: ids[2] as string }), [2])
    assert.deepEqual(await found({ makerId: maker }), [7])
    assert.deepEqual(await found({ makerId: 'mak_00000000000000000000000000' }), [])
  })

  spec('R61 R53', 'all filters have to hold, also several on one field, in any order', () =>
    table([
      [{ name: 'Ann', 'price[gte]': '10', 'price[lte]': '20' }, [0]],
      [{ 'price[lte]': '20', 'price[gte]': '10', name: 'Ann' }, [0]],
      [{ name: 'Ann', price: '9.99' }, []],
      [{ price: '10.5', 'price[lte]': '10.49' }, []],
      [{ 'price[gte]': '0', 'price[lt]': '10.5', 'price[ne]': '0' }, [1]],
    ]),
  )

  spec('R62', 'bounds are inclusive on numbers, dates, date-times and texts', () =>
    table([
      [{ 'price[gte]': '9.99' }, [0, 1]],
      [{ 'price[lte]': '-0.01' }, [2]],
      [{ 'mass[gte]': '0.0000000001' }, [2, 4]],
      [{ 'mass[lte]': '0' }, [3]],
      [{ 'serial[gte]': '9007199254740993' }, [0, 6]],
      [{ 'serial[lte]': '-9223372036854775808' }, [1]],
      [{ 'stock[gte]': '0', 'stock[lte]': '3' }, [0, 1]],
      [{ 'madeOn[lte]': '2026-01-31' }, [0]],
      [{ 'madeOn[gte]': '2026-01-31' }, [0, 5]],
      [{ 'shownAt[gte]': '2026-01-01T00:00:00Z' }, [2, 3]],
      [{ 'shownAt[lte]': '2026-01-01T00:00:00Z' }, [3]],
      [{ 'name[gte]': 'bob' }, [1, 4, 6, 7]],
      [{ 'name[lte]': 'Ann' }, [0, 3, 5]],
      [{ 'title[gte]': 'ÉTÉ' }, [2, 3]],
      [{ 'place.geo.lat[gte]': '10' }, [0]],
    ]),
  )

  spec('R62', 'bounds that exclude everything give an empty list', () =>
    table([
      [{ 'price[gte]': '20', 'price[lte]': '10' }, []],
      [{ 'price[gte]': '1000000000000000' }, []],
      [{ 'name[gte]': '\u{10ffff}' }, []],
    ]),
  )

  spec('R62 R71', 'kinds without an order have no bounds', async () => {
    for (const query of [
      'active[gte]=true',
      'colour[gte]=red',
      'country[lte]=IT',
      'makerId[gte]=x',
      'code[gte]=a',
      'patience[lte]=P1D',
      'season[gte]=a',
      'id[gte]=prd_1',
    ])
      assert.deepEqual(await refused(door, `/products?${query}`), [`unsupported-operator ${query.split('=')[0]}`])
  })

  spec('R63', '[gt], [lt] and [ne] work where declared, and are not part of a range', async () => {
    await table([
      [{ 'price[gt]': '9.99' }, [0]],
      [{ 'price[lt]': '0' }, [2]],
      [{ 'serial[gt]': '9007199254740992' }, [0, 6]],
      [{ 'name[gt]': 'Ann', 'name[lt]': 'made' }, [1, 2]],
      [{ 'name[ne]': 'Ann' }, [1, 2, 3, 4, 6, 7]],
      [{ 'active[ne]': 'false' }, [0]],
      [{ 'colour[ne]': 'red' }, [1]],
    ])
    for (const name of ['stock[gt]', 'stock[lt]', 'stock[ne]', 'madeOn[gt]'])
      assert.deepEqual(await refused(door, asked('/products', { [name]: '1' })), [`unsupported-operator ${name}`])
  })

  spec('R63', '[eq] reads in:( literally, and null is a text', () =>
    table([
      [{ 'code[eq]': 'in:(x)' }, [4]],
      [{ code: 'in:(x)' }, [6]],
      [{ name: 'null' }, [4]],
      [{ 'code[eq]': 'null' }, []],
    ]),
  )

  spec('R63', '[null] tests for absence on every field that can be filtered by', async () => {
    await table([
      [{ 'price[null]': 'true' }, [4, 5, 6, 7]],
      [{ 'price[null]': 'false' }, [0, 1, 2, 3]],
      [{ 'title[null]': 'false' }, [2, 3]],
      [{ 'name[null]': 'true' }, []],
      [{ 'place.floor[null]': 'false' }, [0]],
      [{ 'place.city[null]': 'false' }, [0, 1]],
      [{ 'makerId[null]': 'false' }, [7]],
      [{ 'id[null]': 'true' }, []],
    ])
    for (const text of ['TRUE', '1', '', 'yes', 'null'])
      assert.deepEqual(await refused(door, `/products?price[null]=${text}`), ['invalid-parameter-value price[null]'])
    assert.equal(await sentence(door, '/products?price[null]=1'), 'price[null] must be true or false.')
  })

  spec('R64', 'a row without a value matches no comparison, not even [ne]', () =>
    table([
      [{ 'price[lte]': '100' }, [0, 1, 2, 3]],
      [{ 'price[gte]': '-100' }, [0, 1, 2, 3]],
      [{ 'price[ne]': '0' }, [0, 1, 2]],
      [{ 'serial[ne]': '1' }, [0, 1, 4, 6]],
      [{ 'serial[lt]': '0' }, [1]],
    ]),
  )

  spec('R55', 'a field that is named like a list parameter is filtered with its operator', async () => {
    await table([
      [{ 'order[eq]': '7' }, [4]],
      [{ 'order[gte]': '7' }, [4]],
      [{ 'limit[eq]': '5' }, [4]],
      [{ 'version[eq]': 'v1' }, [4]],
    ])
    assert.deepEqual(await refused(door, '/products?order=7'), [
      'invalid-parameter-value order',
      'invalid-parameter-value order',
    ])
    assert.equal((await listed(door, '/products?limit=5')).json.pagination.limit, 5)
    assert.deepEqual(await refused(door, '/products?sort[eq]=7'), ['unsupported-filter sort[eq]'])
  })

  spec('R73', 'nested fields are addressed with dots', async () => {
    await table([
      [{ 'place.city': 'Rome' }, [0]],
      [{ 'place.city[like]': 'R%' }, [0]],
      [{ 'place.geo.lat[lte]': '10' }, [1]],
      [{ 'place.floor': 'in:(1,2)' }, [0]],
      [{ 'place.city': 'Rome', 'place.geo.lat': '41.900' }, [0]],
    ])
    for (const [query, type] of [
      ['place=x', 'unsupported-filter place'],
      ['place.geo=x', 'unsupported-filter place.geo'],
      ['place.zip=x', 'unknown-parameter place.zip'],
      ['city=x', 'unknown-parameter city'],
    ])
      assert.deepEqual(await refused(door, `/products?${query}`), [type])
  })
}

doors('filters', listService, filters)
