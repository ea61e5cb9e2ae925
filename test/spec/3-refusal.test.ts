/** Part 3 of the contract, filtering: refusals with their type, their place and the allowed values. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { asked, listed, listService, refused, sentence } from '../help/list-service.ts'

doors('refusals of lists', listService, (door) => {
  spec('R71', 'an operator that the field does not have is refused, naming those it has', async () => {
    for (const name of [
      'price[like]',
      'price[foo]',
      'price[in]',
      'price[]',
      'price[GTE]',
      'price[__proto__]',
      'code[like]',
      'active[gte]',
      'place.city[gte]',
    ])
      assert.deepEqual(await refused(door, asked('/products', { [name]: '1' })), [`unsupported-operator ${name}`])
    assert.equal(
      await sentence(door, '/products?price[like]=1'),
      'price has no filter [like]. Allowed: price, price[eq], price[null], price[gte], price[lte], price[gt], price[lt], price[ne].',
    )
  })

  spec('R71', 'a field that is not declared filterable is refused, naming those that are', async () => {
    for (const name of ['secret', 'secret[gte]', 'secret[null]', 'tags', 'metadata', 'metadata[eq]', 'sort[eq]'])
      assert.deepEqual(await refused(door, asked('/products', { [name]: '1' })), [`unsupported-filter ${name}`])
    assert.match(
      await sentence(door, '/products?secret=1'),
      /^secret cannot be filtered by\. Filterable: id, name, title, code, price, /,
    )
  })

  spec('R71 R55', 'fields named like parameters can be filtered with an operator', async () => {
    assert.match(await sentence(door, '/products?limit[gte]=1'), /Allowed: limit\[eq\], limit\[null\]\.$/)
    assert.match(await sentence(door, '/products?secret=1'), / order\[eq\], limit\[eq\], version\[eq\], /)
    assert.match(await sentence(door, '/products?nothing=1'), / order\[eq\], limit\[eq\], version\[eq\], /)
  })

  spec('R22', 'an unknown parameter is refused, naming it and the accepted ones', async () => {
    for (const name of [
      'stauts',
      'Name',
      'metadata.a',
      'tags.0',
      'price[gte',
      'price]',
      '[gte]',
      'price[gte][lte]',
      'by_name',
      '__proto__',
      'constructor',
      '',
      'sort ',
      'data',
      'or',
      '_method',
    ])
      assert.deepEqual(await refused(door, asked('/products', { [name]: 'x' })), [`unknown-parameter ${name}`])
    assert.match(
      await sentence(door, '/products?nmae=x'),
      /^nmae is not a parameter here\. Did you mean name\? Accepted: id, name, .*, order\[eq\], .*, sort, order, nulls, page, page_size, limit, offset, cursor, custom_sort, fields\.$/,
    )
  })

  spec('R25', 'names are case-sensitive and keep the spelling of section 3', async () => {
    for (const name of ['Limit', 'pageSize', 'customSort', 'page-size', 'Sort', 'PRICE[gte]'])
      assert.deepEqual(await refused(door, asked('/products', { [name]: '5' })), [`unknown-parameter ${name}`])
  })

  spec('R23', 'a repeated parameter is refused, also when the values agree or one is encoded', async () => {
    for (const query of [
      'name=a&name=b',
      'limit=5&limit=5',
      'price[gte]=1&price%5Bgte%5D=1',
      'page=1&page=1',
      'x=1&x=1',
    ])
      assert.ok(
        (await refused(door, `/products?${query}`)).some((one) => one.startsWith('repeated-parameter')),
        query,
      )
    assert.deepEqual(await refused(door, '/products?limit=5&limit=x'), ['repeated-parameter limit'])
  })

  spec('R72', 'a value that is not of the type of the field is refused', async () => {
    const table: Record<string, string[]> = {
      'price[gte]': ['abc', '', '1e3', '1.005', '+1', '01', '.5', '1.', '1,5', ' 1', '0x1', 'NaN', '99999999999999999'],
      price: ['', 'null', '10 ', '1_000'],
      mass: ['1.00000000001', '1e1'],
      serial: ['9223372036854775808', '1.0', '', 'x', '-', '+1', '1n'],
      stock: ['1.0', '1e1', '', '007', '9007199254740993', '9'.repeat(400), 'one', '٣', '--1'],
      active: ['1', 'TRUE', 'True', '', 'yes', 'false '],
      colour: ['RED', '', 'pink', 'red '],
      madeOn: ['2026-02-30', 'yesterday', '2026-1-1', '', '2026-01-01T00:00:00Z'],
      createdAt: [
        'yesterday',
        '2026-01-01',
        '2026-02-30T00:00:00Z',
        '2026-01-01T00:00:00',
        '1763629440',
        '2026-01-01T24:00:00Z',
        '2026-01-01t00:00:00z',
      ],
      country: ['it', 'XX', ''],
      currency: ['eur', ''],
      email: ['x', ''],
      site: ['example.com', ''],
      patience: ['P', '86400', ''],
      season: ['P1M', '2026-01-01'],
      makerId: ['prd_00000000000000000000000000', 'mak_1', '', 'x'],
      id: ['mak_00000000000000000000000000', '', 'PRD_00000000000000000000000000'],
      'place.geo.lat': ['north', '1.0000001'],
    }
    for (const [name, texts] of Object.entries(table)) {
      for (const text of texts)
        assert.deepEqual(
          await refused(door, asked('/products', { [name]: text })),
          [`invalid-parameter-value ${name}`],
          `${name}=${text}`,
        )
    }
    assert.deepEqual(await refused(door, '/products?name=%00'), ['invalid-parameter-value name'])
    assert.deepEqual(await refused(door, '/products?name[gte]=a%00'), ['invalid-parameter-value name[gte]'])
    assert.deepEqual(await refused(door, '/products?name[like]=a%00'), ['invalid-parameter-value name[like]'])
  })

  spec('R72 R156', 'the message names the allowed values', async () => {
    const table: [query: string, says: RegExp][] = [
      ['price[gte]=abc', /^price must be a decimal number/],
      ['stock=1.5', /^stock must be a whole number/],
      ['active=1', /^active must be true or false\.$/],
      ['colour=pink', /^colour must be one of red, green or blue\.$/],
      ['makerId=x', /^makerId must be the id of one of makers\.$/],
      ['id=x', /^id must be the id of one of products\.$/],
      ['place.geo.lat=x', /^place\.geo\.lat must be a decimal number/],
    ]
    for (const [query, says] of table) assert.match(await sentence(door, `/products?${query}`), says)
  })

  spec('R72', 'a well-formed value that nothing has gives an empty list, the empty text too', async () => {
    for (const query of [
      'name=',
      'name=nobody',
      'makerId=mak_00000000000000000000000000',
      'stock=-5',
      'price=-1',
      'email=nobody@example.com',
      'colour=green',
    ])
      assert.deepEqual((await listed(door, `/products?${query}`)).json.data, [], query)
  })

  spec('R73', 'more than 20 filters are refused', async () => {
    const names = [
      'id',
      'name',
      'title',
      'code',
      'price',
      'mass',
      'serial',
      'stock',
      'active',
      'colour',
      'madeOn',
      'shownAt',
      'country',
      'currency',
      'email',
      'site',
      'patience',
      'season',
      'makerId',
      'createdAt',
      'updatedAt',
    ]
    const query = (count: number) =>
      asked('/products', Object.fromEntries(names.slice(0, count).map((name) => [`${name}[null]`, 'true'])))
    assert.deepEqual((await listed(door, query(20))).json.data, [])
    assert.deepEqual(await refused(door, query(21)), ['unsupported-filter updatedAt[null]'])
    assert.match(await sentence(door, query(21)), /21 filters are given; at most 20/)
  })

  spec('R154', 'all violations are reported at once, in the order of the parameters', async () => {
    const query =
      'limit=0&price[gte]=abc&foo=1&sort=secret&order=DESC&nulls=middle&colour=pink&page=2&secret=1&name[foo]=1&foo=2'
    assert.deepEqual(await refused(door, `/products?${query}`), [
      'invalid-parameter-value limit',
      'invalid-parameter-value price[gte]',
      'unknown-parameter foo',
      'repeated-parameter foo',
      'unsupported-sort sort',
      'invalid-parameter-value order',
      'invalid-parameter-value nulls',
      'invalid-parameter-value colour',
      'pagination-conflict page',
      'unsupported-filter secret',
      'unsupported-operator name[foo]',
    ])
    const { json } = await door.send('GET', `/products?${query}`)
    assert.equal(json.message, '11 parameters are invalid.')
    assert.equal((await door.send('GET', '/products?foo=1')).json.message, '1 parameter is invalid.')
  })

  spec('R154', 'at most 50 of them are listed', async () => {
    const { json } = await door.send(
      'GET',
      asked('/products', Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`x${i}`, '1']))),
    )
    assert.equal(json.errors.length, 50)
    assert.equal(json.message, '60 parameters are invalid.')
  })

  spec('R20', 'malformed escapes are refused, saying how a percent sign is written', async () => {
    for (const query of [
      'name=%FF',
      'name=%',
      'name[like]=%foo%',
      '%zz=1',
      'name=%C3%28',
      'cursor=%E0%80',
      'limit=%ED%A0%80',
    ]) {
      const { status, json } = await door.send('GET', `/products?${query}`)
      assert.deepEqual([status, json.type], [400, 'invalid-url-encoding'], query)
      assert.match(json.message, /%25/)
    }
    await listed(door, '/products?name[like]=%25foo%25')
  })
})

const lenient = service({
  name: 'lenient',
  resources: {
    notes: { fields: { text: f.text({ filter: true }), kind: f.text({ optional: true }) }, access: 'public' },
  },
  settings: { query: { unknown: 'ignore' }, list: { maxFilters: 1 } },
})

doors('unknown parameters that may pass', lenient, (door) => {
  spec('R22', 'with query.unknown: ignore they are ignored, and known ones are still checked', async () => {
    for (const query of ['foo=1', 'foo[gte]=1', 'utm_source=x&text=a', 'a=1&b=2&c=3&text=a'])
      await listed(door, `/notes?${query}`)
    assert.deepEqual(await refused(door, '/notes?kind=a&foo=1'), ['unsupported-filter kind'])
    assert.deepEqual(await refused(door, '/notes?text[foo]=a'), ['unsupported-operator text[foo]'])
    assert.deepEqual(await refused(door, '/notes?foo=1&foo=1'), ['repeated-parameter foo'])
    assert.deepEqual(await refused(door, '/notes?limit=x&foo=1'), ['invalid-parameter-value limit'])
  })

  spec('R73', 'the number of filters is a setting', async () => {
    assert.deepEqual(await refused(door, '/notes?text=a&text[null]=true'), ['unsupported-filter text[null]'])
  })
})

const tolerant = service({
  name: 'tolerant',
  resources: { notes: { fields: { text: f.text({ filter: true }) }, access: 'public' } },
  settings: { query: { ignored: ['_', 'utm_source', 'text'] } },
})

doors('parameters that are declared to be ignored', tolerant, (door) => {
  spec('R22', 'with query.ignored these names are ignored, and others are refused', async () => {
    await door.send('POST', '/notes', { json: { text: 'a' } })
    assert.equal((await listed(door, '/notes?_=1&utm_source=x')).json.data.length, 1)
    assert.equal((await listed(door, '/notes?text=b')).json.data.length, 0)
    assert.deepEqual(await refused(door, '/notes?utm_medium=x&_=1'), ['unknown-parameter utm_medium'])
  })

  spec('R22 R83', 'they do not bind a cursor', async () => {
    await door.send('POST', '/notes', { json: { text: 'b' } })
    const { nextCursor } = (await listed(door, '/notes?cursor=&limit=1&_=1')).json.pagination
    assert.equal((await listed(door, `/notes?cursor=${nextCursor}&_=2`)).json.data.length, 1)
  })
})
