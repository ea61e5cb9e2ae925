/** Part 3 of the contract, sorting. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { asked, listed, listService, refused, sentence, stocked, values } from '../help/list-service.ts'

const items = [
  {
    name: 'b',
    price: '10.00',
    stock: 1,
    madeOn: '2026-01-02',
    mass: '99999999999999999999.9999999999',
    serial: '9007199254740993',
    active: true,
    colour: 'green',
    title: 'Zoe',
    place: { city: 'Rome', geo: { lat: '1' } },
  },
  {
    name: 'a',
    price: '9.50',
    stock: 1,
    madeOn: '2026-01-01',
    mass: '-99999999999999999999.9999999999',
    serial: '9007199254740992',
    title: 'anna',
  },
  {
    name: 'Z',
    price: '-1.00',
    stock: 2,
    mass: '0.0000000001',
    serial: '-9223372036854775808',
    colour: 'blue',
    title: 'ÉTÉ',
  },
  {
    name: '～',
    price: '100.00',
    madeOn: '2026-01-01',
    serial: '9223372036854775807',
    place: { city: 'Paris', geo: { lat: '-1' } },
  },
  { name: '😀', stock: 0, madeOn: '2026-01-01', mass: '-0.5', title: 'été' },
  { name: '', price: '9.50', stock: 0, active: true, shownAt: '2026-01-01T00:00:00Z' },
]

doors('sorting', listService, (door) => {
  before(() => stocked(door, '/products', items))
  const names = async (query: Record<string, string>) => values(await listed(door, asked('/products', query)), 'name')
  const table = async (rows: readonly [query: string, names: string[]][]) => {
    for (const [query, expected] of rows)
      assert.deepEqual(await names(Object.fromEntries(new URLSearchParams(query))), expected, query)
  }

  spec('R56 R60', 'texts are sorted by code point, ascending by default', () =>
    table([
      ['sort=name', ['', 'Z', 'a', 'b', '～', '😀']],
      ['sort=name&order=asc', ['', 'Z', 'a', 'b', '～', '😀']],
      ['sort=name&order=desc', ['😀', '～', 'b', 'a', 'Z', '']],
    ]),
  )

  spec(
    'R56 R59',
    'every kind is sorted in its own order, equal values by identifier in the direction of the sort',
    () =>
      table([
        ['sort=price', ['Z', 'a', '', 'b', '～', '😀']],
        ['sort=price&order=desc', ['～', 'b', '', 'a', 'Z', '😀']],
        ['sort=mass', ['a', '😀', 'Z', 'b', '～', '']],
        ['sort=serial', ['Z', 'a', 'b', '～', '😀', '']],
        ['sort=serial&order=desc', ['～', 'b', 'a', 'Z', '', '😀']],
        ['sort=stock', ['😀', '', 'b', 'a', 'Z', '～']],
        ['sort=stock&order=desc', ['Z', 'a', 'b', '', '😀', '～']],
        ['sort=active', ['a', 'Z', '～', '😀', 'b', '']],
        ['sort=colour', ['Z', 'b', 'a', '～', '😀', '']],
        ['sort=madeOn', ['a', '～', '😀', 'b', 'Z', '']],
        ['sort=shownAt', ['', 'b', 'a', 'Z', '～', '😀']],
        ['sort=createdAt&order=desc', ['', '😀', '～', 'Z', 'a', 'b']],
        ['sort=place.city', ['～', 'b', 'a', 'Z', '😀', '']],
        ['sort=place.geo.lat&order=desc', ['b', '～', '', '😀', 'Z', 'a']],
      ]),
  )

  spec('R60', 'a folded field is sorted by its folded form', () =>
    table([
      ['sort=title', ['a', 'b', 'Z', '😀', '～', '']],
      ['sort=title&order=desc', ['😀', 'Z', 'b', 'a', '', '～']],
    ]),
  )

  spec('R57', 'rows without a value come last in both directions, or where nulls puts them', () =>
    table([
      ['sort=price&nulls=first', ['😀', 'Z', 'a', '', 'b', '～']],
      ['sort=price&order=desc&nulls=first', ['😀', '～', 'b', '', 'a', 'Z']],
      ['sort=price&order=desc&nulls=last', ['～', 'b', '', 'a', 'Z', '😀']],
      ['sort=madeOn&nulls=first&order=desc', ['', 'Z', 'b', '😀', '～', 'a']],
      ['sort=name&nulls=first', ['', 'Z', 'a', 'b', '～', '😀']],
    ]),
  )

  spec('R58', 'custom_sort names a declared criterion, which order: desc reverses as a whole', () =>
    table([
      ['custom_sort=popularity', ['Z', 'a', 'b', '', '😀', '～']],
      ['custom_sort=popularity&order=asc', ['Z', 'a', 'b', '', '😀', '～']],
      ['custom_sort=popularity&order=desc', ['😀', '', 'b', 'a', 'Z', '～']],
      ['custom_sort=freshness', ['～', 'a', '😀', 'b', '', 'Z']],
      ['custom_sort=freshness&order=desc', ['b', 'a', '～', '😀', 'Z', '']],
      ['custom_sort=newest', ['', '😀', '～', 'Z', 'a', 'b']],
    ]),
  )

  spec('R59', 'without a sort the order is that of creation, with any filters', () =>
    table([
      ['', ['b', 'a', 'Z', '～', '😀', '']],
      ['price[null]=false', ['b', 'a', 'Z', '～', '']],
      ['stock=in:(0,1)', ['b', 'a', '😀', '']],
    ]),
  )

  spec('R53', 'the list is filtered, then sorted, then paginated, in any order of the parameters', async () => {
    const parameters = ['page=1', 'page_size=1', 'sort=price', 'stock=1']
    for (let i = 0; i < parameters.length; i++) {
      const turned = [...parameters.slice(i), ...parameters.slice(0, i)]
      const { json } = await listed(door, `/products?${turned.join('&')}`)
      assert.deepEqual(
        json.data.map(({ name }: { name: string }) => name),
        ['a'],
      )
      assert.equal(json.pagination.totalRecords, 2)
    }
  })

  spec('R56', 'a field that is not sortable is refused, with the sortable ones', async () => {
    for (const sort of [
      'secret',
      'name,price',
      '-price',
      '',
      'Name',
      'code',
      'tags',
      'popularity',
      'place',
      'id',
      'price asc',
      '__proto__',
    ])
      assert.deepEqual(await refused(door, asked('/products', { sort })), ['unsupported-sort sort'], sort)
    assert.equal(
      await sentence(door, '/products?sort=secret'),
      '`secret` cannot be sorted by. Sortable: name, title, price, mass, serial, stock, active, colour, madeOn, shownAt, place.city, place.geo.lat, sort, createdAt, updatedAt.',
    )
    for (const order of ['DESC', '', 'up', 'descending'])
      assert.deepEqual(await refused(door, `/products?sort=price&order=${order}`), ['invalid-parameter-value order'])
    assert.equal(await sentence(door, '/products?sort=price&order=DESC'), 'order must be asc or desc.')
  })

  spec('R55', 'a field that is named sort can be sorted by', async () => {
    assert.equal((await listed(door, '/products?sort=sort')).json.data.length, items.length)
  })

  spec('R57', 'nulls that are neither first nor last are refused', async () => {
    for (const nulls of ['middle', '', 'LAST'])
      assert.deepEqual(await refused(door, `/products?sort=price&nulls=${nulls}`), ['invalid-parameter-value nulls'])
  })

  spec('R58', 'unknown criteria, two sorts, and order or nulls without a sort are refused', async () => {
    for (const criterion of ['x', '', 'name', 'Popularity']) {
      assert.deepEqual(await refused(door, asked('/products', { custom_sort: criterion })), [
        'unsupported-sort custom_sort',
      ])
      assert.match(
        await sentence(door, asked('/products', { custom_sort: criterion })),
        /Criteria: popularity, freshness, newest\.$/,
      )
    }
    assert.deepEqual(await refused(door, '/products?custom_sort=popularity&sort=price'), [
      'unsupported-sort custom_sort',
    ])
    assert.deepEqual(await refused(door, '/products?order=desc'), ['invalid-parameter-value order'])
    assert.deepEqual(await refused(door, '/products?nulls=first'), ['invalid-parameter-value nulls'])
    assert.deepEqual(await refused(door, '/products?custom_sort=popularity&nulls=first'), [
      'invalid-parameter-value nulls',
    ])
    assert.match(await sentence(door, '/makers?custom_sort=x'), /There are none here; use sort\.$/)
  })
})

const fields = { name: f.text({ sort: true }), rank: f.integer({ optional: true, sort: true }) }
const rows = [{ name: 'a', rank: 2 }, { name: 'b' }, { name: 'c', rank: 1 }, { name: 'd' }]

for (const [nullsDefault, up, down] of [
  ['first', ['b', 'd', 'c', 'a'], ['d', 'b', 'a', 'c']],
  ['sql', ['c', 'a', 'b', 'd'], ['d', 'b', 'a', 'c']],
] as const) {
  const placed = service({
    name: 'placed',
    resources: { rows: { fields, sorts: { ranks: ['-rank'] }, order: ['rank', 'name'], access: 'public' } },
    settings: { list: { nullsDefault } },
  })
  doors(`nulls ${nullsDefault}`, placed, (door) => {
    before(() => stocked(door, '/rows', rows))
    spec('R57', `list.nullsDefault: ${nullsDefault} places rows without a value by default`, async () => {
      const names = async (query: string) => values(await listed(door, `/rows?${query}`), 'name')
      assert.deepEqual(await names('sort=rank'), up)
      assert.deepEqual(await names('sort=rank&order=desc'), down)
      assert.deepEqual(await names('sort=rank&nulls=last'), ['c', 'a', 'b', 'd'])
      assert.deepEqual(await names('custom_sort=ranks'), down)
      assert.deepEqual(await names('custom_sort=ranks&order=desc'), up)
      assert.deepEqual(await names(''), up)
    })
  })
}

const ordered = service({
  name: 'ordered',
  resources: {
    posts: {
      fields: { ...fields, plain: f.text() },
      order: ['-rank', 'plain'],
      sorts: { plainest: ['plain', '-id'] },
      access: 'public',
    },
  },
})

doors('a declared order', ordered, (door) => {
  before(() =>
    stocked(
      door,
      '/posts',
      rows.map((row, i) => ({ ...row, plain: 'yxwv'[i] })),
    ),
  )
  spec('R59', 'it applies by default, and may name fields that are not sortable', async () => {
    assert.deepEqual(values(await listed(door, '/posts'), 'name'), ['a', 'c', 'd', 'b'])
    assert.deepEqual(values(await listed(door, '/posts?custom_sort=plainest'), 'name'), ['d', 'c', 'b', 'a'])
    assert.deepEqual(await refused(door, '/posts?sort=plain'), ['unsupported-sort sort'])
    assert.deepEqual(await refused(door, '/posts?order=desc'), ['invalid-parameter-value order'])
  })
})
