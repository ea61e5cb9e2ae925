/** Part 3 of the contract, filtering: sets of values. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { type Door, doors, spec } from '../help/door.ts'
import { asked, listed, listService, refused, sentence, stocked, values } from '../help/list-service.ts'

const names = [
  'paid',
  'shipped',
  'lost',
  '',
  'Paris, TX',
  'a (b)',
  'Rome',
  'say "hi"',
  'a\\b',
  ' x ',
  'in:(paid)',
  'null',
]

doors('sets', listService, (door: Door) => {
  let ids: string[] = []
  before(async () => {
    const numbers = [1, 2, 3, 10].map((stock) => ({
      name: `n${stock}`,
      stock,
      price: `${stock}.5`,
      serial: `900719925474099${stock % 10}`,
      active: stock === 1,
      madeOn: `2026-01-0${stock % 10 || 9}`,
    }))
    ids = await stocked(door, '/products', [...names.map((name) => ({ name, title: name })), ...numbers])
  })
  const found = async (field: string, set: string) =>
    values(await listed(door, asked('/products', { [field]: set })), 'name')

  spec('R65', 'a set matches rows whose value is one of its members', async () => {
    assert.deepEqual(await found('name', 'in:(paid,shipped)'), ['paid', 'shipped'])
    assert.deepEqual(await found('name', 'in:(shipped,paid,nobody)'), ['paid', 'shipped'])
    assert.deepEqual(await found('name', 'in:(nobody)'), [])
  })

  spec('R65', 'each member is read in the type of the field', async () => {
    assert.deepEqual(await found('stock', 'in:(1, 10)'), ['n1', 'n10'])
    assert.deepEqual(await found('price', 'in:(1.50,10.5,99)'), ['n1', 'n10'])
    assert.deepEqual(await found('serial', 'in:(9007199254740993)'), ['n3'])
    assert.deepEqual(await found('active', 'in:(true)'), ['n1'])
    assert.deepEqual(await found('madeOn', 'in:(2026-01-02,2026-01-03)'), ['n2', 'n3'])
    assert.deepEqual(await found('title', 'in:(ROME,PAID)'), ['paid', 'Rome'])
    assert.deepEqual(await found('id', `in:(${ids[0]},${ids[1]})`), ['paid', 'shipped'])
    assert.deepEqual(await found('active', 'in:(true,false)'), [...names, 'n1', 'n2', 'n3', 'n10'])
  })

  spec('R65', 'pages of a set follow each other in the order of the list, both ways, each row once', async () => {
    const set = 'in:(paid,Rome,shipped,paid,null,lost)'
    for (const order of [{}, { sort: 'name' }, { sort: 'name', order: 'desc' }, { sort: 'createdAt', order: 'desc' }]) {
      const whole = await found('name', set)
      const all = values(await listed(door, asked('/products', { name: set, ...order })), 'name')
      assert.deepEqual(all.toSorted(), whole.toSorted())
      const shown: unknown[] = []
      for (let cursor: string | null = '', pages = 0; cursor !== null; pages++) {
        assert.ok(pages < 9)
        const page = await listed(door, asked('/products', { name: set, ...order, limit: '2', cursor }))
        const { hasMore, nextCursor }: { hasMore: boolean; nextCursor: string } = page.json.pagination
        shown.push(...values(page, 'name'))
        cursor = hasMore ? nextCursor : null
      }
      assert.deepEqual(shown, all)
      const second = await listed(door, asked('/products', { name: set, ...order, limit: '2', offset: '2' }))
      assert.deepEqual(values(second, 'name'), all.slice(2, 4))
    }
  })

  spec('R65', 'a member of another type is refused, by its number', async () => {
    assert.deepEqual(await refused(door, '/products?stock=in:(1,2,x)'), ['invalid-parameter-value stock'])
    assert.match(
      await sentence(door, '/products?stock=in:(1,2,x)'),
      /^Member 3 of the set .*stock must be a whole number/,
    )
    assert.match(await sentence(door, '/products?stock=in:(1,1,x)'), /^Member 3 /)
    for (const query of [
      'active=in:(1)',
      'colour=in:(red,pink)',
      'makerId=in:(mak_1)',
      'price=in:("")',
      'madeOn=in:(2026-02-30)',
      'id=in:(x)',
    ])
      assert.deepEqual(
        await refused(door, `/products?${query}`),
        [`invalid-parameter-value ${query.split('=')[0]}`],
        query,
      )
  })

  spec('R66', 'a value is decoded before the set is read', async () => {
    const plain = await listed(door, '/products?name=in:(paid,shipped)')
    const encoded = await listed(door, '/products?name=in%3A%28paid%2Cshipped%29')
    assert.deepEqual(encoded.json, plain.json)
    assert.deepEqual(values(await listed(door, '/products?name=in:(%22Paris%2C+TX%22)'), 'name'), ['Paris, TX'])
  })

  spec('R67', 'members with special characters are quoted; spaces around members are ignored', async () => {
    assert.deepEqual(await found('name', 'in:("Paris, TX", "a (b)", Rome)'), ['Paris, TX', 'a (b)', 'Rome'])
    assert.deepEqual(await found('name', 'in:("say \\"hi\\"")'), ['say "hi"'])
    assert.deepEqual(await found('name', 'in:("a\\\\b")'), ['a\\b'])
    assert.deepEqual(await found('name', 'in:(  paid  ,  "lost"  )'), ['paid', 'lost'])
    assert.deepEqual(await found('name', 'in:(" x ")'), [' x '])
    assert.deepEqual(await found('name', 'in:( x )'), [])
    assert.deepEqual(await found('name', 'in:("in:(paid)")'), ['in:(paid)'])
    assert.deepEqual(await found('name', 'in:(null)'), ['null'])
  })

  spec('R68', 'an empty set matches nothing, and "" the empty text', async () => {
    assert.deepEqual(await found('name', 'in:()'), [])
    assert.deepEqual(await found('name', 'in:(  )'), [])
    assert.deepEqual(await found('stock', 'in:()'), [])
    assert.deepEqual(await found('name', 'in:("")'), [''])
    assert.deepEqual((await listed(door, '/products?name=in:()')).json.pagination.totalRecords, 0)
  })

  spec('R68', 'a malformed set is refused', async () => {
    for (const set of [
      'in:(a,,b)',
      'in:(a',
      'in:(a)b',
      'in:(,a)',
      'in:(a,)',
      'in:(',
      'in:(")',
      'in:("a)',
      'in:(a"b)',
      'in:(a(b)',
      'in:(a))',
      'in:(a\\b)',
      'in:("a"b)',
    ])
      assert.deepEqual(await refused(door, asked('/products', { name: set })), ['invalid-parameter-value name'], set)
    assert.equal((await listed(door, '/products?name=in:a')).json.data.length, 0)
    assert.equal((await listed(door, '/products?name=IN:(paid)')).json.data.length, 0)
  })

  spec('R68', 'a set has at most 100 members; a repeated one matches once', async () => {
    const members = (count: number) =>
      `in:(${['paid', ...Array.from({ length: count - 1 }, (_, i) => `m${i}`)].join(',')})`
    assert.deepEqual(await found('name', members(100)), ['paid'])
    assert.deepEqual(await refused(door, asked('/products', { name: members(101) })), ['invalid-parameter-value name'])
    assert.match(await sentence(door, asked('/products', { name: members(101) })), /at most 100 members/)
    assert.deepEqual(await found('name', 'in:(paid,paid)'), ['paid'])
    assert.deepEqual(await found('price', 'in:(1.5,1.50)'), ['n1'])
  })

  spec('R61', 'a set and other filters have to hold together', async () => {
    const { json } = await listed(door, '/products?stock=in:(1,2,3)&stock[gte]=2&name[ne]=n3')
    assert.deepEqual(
      json.data.map(({ name }: { name: string }) => name),
      ['n2'],
    )
  })
})
