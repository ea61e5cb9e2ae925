/** Part 3 of the contract: lists below an owner. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { doors, spec } from '../help/door.ts'
import { listed, listService, made, refused, stocked, values } from '../help/list-service.ts'

doors('children', listService, (door) => {
  let [table, chair, gone]: string[] = []
  let [left, right]: string[] = []
  let parts: string[] = []
  before(async () => {
    ;[table, chair, gone] = await stocked(door, '/products', [{ name: 'table' }, { name: 'chair' }, { name: 'gone' }])
    parts = await stocked(door, `/products/${table}/parts`, [
      { label: 'leg', weight: 2 },
      { label: 'top' },
      { label: 'bolt', weight: 2 },
      { label: 'nut', weight: 1 },
    ])
    await stocked(door, `/products/${chair}/parts`, [{ label: 'leg', weight: 9 }])
    await door.send('DELETE', `/products/${gone}`)
    ;[left, right] = await stocked(door, '/shelves', [{ name: 'left' }, { name: 'right' }])
    await stocked(
      door,
      `/shelves/${left}/slots`,
      [10, 9, 2, 100].map((number) => ({ number, depth: number % 2 })),
    )
    await stocked(door, `/shelves/${right}/slots`, [{ number: 9, depth: 5 }])
  })

  spec('R5 R4', 'the list below a parent has its children only, the flat list those of all parents', async () => {
    const below = await listed(door, `/products/${table}/parts`)
    assert.deepEqual(values(below, 'id'), parts)
    assert.ok(values(below, 'productId').every((id) => id === table))
    assert.equal(below.json.pagination.totalRecords, 4)
    assert.equal((await listed(door, '/parts')).json.pagination.totalRecords, 5)
    assert.deepEqual(values(await listed(door, `/parts?productId=${chair}`), 'weight'), [9])
    assert.deepEqual((await listed(door, `/parts?productId=in:(${chair},${table})`)).json.pagination.totalRecords, 5)
    assert.equal((await door.send('POST', '/parts', { json: { label: 'x' } })).status, 405)
  })

  spec('R5', 'it is answered as its owner would be: missing, deleted, or no identifier at all', async () => {
    const missing = '/products/prd_00000000000000000000000000/parts'
    for (const [path, status, type] of [
      [missing, 404, 'resource-not-found'],
      [`${missing}?limit=1`, 404, 'resource-not-found'],
      ['/products/x/parts', 404, 'resource-not-found'],
      [`/products/${left}/parts`, 404, 'resource-not-found'],
      [`/products/${gone}/parts`, 410, 'resource-deleted'],
      [`/products/${gone}/parts?label=x`, 410, 'resource-deleted'],
      ['/shelves/shf_00000000000000000000000000/slots', 404, 'resource-not-found'],
      [`/shelves/${table}/slots`, 404, 'resource-not-found'],
      [`/slots`, 404, 'route-not-found'],
    ] as const) {
      const { status: got, json } = await door.send('GET', path)
      assert.deepEqual([got, json.type], [status, type], path)
    }
  })

  spec('R1', 'wrong parameters are reported before a missing parent', async () => {
    assert.deepEqual(await refused(door, '/products/prd_00000000000000000000000000/parts?foo=1'), [
      'unknown-parameter foo',
    ])
    assert.deepEqual(await refused(door, `/products/${gone}/parts?limit=0`), ['invalid-parameter-value limit'])
  })

  spec('R53', 'children are filtered, sorted and paginated like any list', async () => {
    const labels = async (query: string) => values(await listed(door, `/products/${table}/parts?${query}`), 'label')
    assert.deepEqual(await labels('sort=label'), ['bolt', 'leg', 'nut', 'top'])
    assert.deepEqual(await labels('sort=weight&order=desc'), ['bolt', 'leg', 'nut', 'top'])
    assert.deepEqual(await labels('custom_sort=heaviest'), ['bolt', 'leg', 'nut', 'top'])
    assert.deepEqual(await labels('custom_sort=heaviest&order=desc'), ['nut', 'leg', 'bolt', 'top'])
    assert.deepEqual(await labels('label=in:(leg,nut)&page_size=1&page=2'), ['nut'])
    assert.deepEqual(await labels(`productId=${chair}`), [])
    assert.deepEqual(await labels(`productId=${table}&limit=1`), ['leg'])
  })

  spec('R72', 'the field of the owner is an identifier of an owner', async () => {
    for (const id of ['x', left, parts[0]])
      assert.deepEqual(await refused(door, `/parts?productId=${id}`), ['invalid-parameter-value productId'])
    assert.deepEqual((await listed(door, '/parts?productId=prd_00000000000000000000000000')).json.data, [])
  })

  spec(
    'R4 R59',
    'children with a composite key are listed below their owner, by their own key and by other fields',
    async () => {
      const path = `/shelves/${left}/slots`
      const numbers = async (query: string) => values(await listed(door, `${path}?${query}`), 'number')
      assert.deepEqual(await numbers(''), [2, 9, 10, 100])
      assert.deepEqual(values(await listed(door, path), 'id'), ['2', '9', '10', '100'])
      assert.deepEqual(await numbers('sort=number&order=desc'), [100, 10, 9, 2])
      assert.deepEqual(await numbers('sort=depth'), [10, 100, 2, 9])
      assert.deepEqual(await numbers('custom_sort=deepest'), [9, 2, 10, 100])
      assert.deepEqual(await numbers('custom_sort=deepest&order=desc'), [100, 10, 2, 9])
      assert.deepEqual(await numbers('number[gte]=9&number[lte]=10'), [9, 10])
      assert.deepEqual(await numbers('id=9'), [9])
      assert.deepEqual(await numbers('id=in:(9,100)'), [9, 100])
      assert.deepEqual(await numbers(`shelfId=${left}&depth=1`), [9])
      assert.deepEqual(await numbers(`shelfId=${right}`), [])
      assert.deepEqual(await numbers('shelfId[null]=false'), [2, 9, 10, 100])
      assert.equal((await listed(door, `/shelves/${right}/slots`)).json.pagination.totalRecords, 1)
      for (const query of ['id=x', 'id=09', `shelfId=${table}`, 'number=x'])
        assert.equal((await refused(door, `${path}?${query}`)).length, 1, query)
    },
  )

  spec('R84', 'cursors below a parent stay below it', async () => {
    const seen: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const answer = await listed(door, `/shelves/${left}/slots?sort=depth&cursor=${cursor}&limit=1`)
      seen.push(...values(answer, 'number'))
      cursor = answer.json.pagination.nextCursor
    }
    assert.deepEqual(seen, [10, 100, 2, 9])
  })

  spec('R82', 'a cursor below one parent is refused below another, and in the flat list', async () => {
    const { nextCursor } = (await listed(door, `/products/${table}/parts?cursor=&limit=1`)).json.pagination
    for (const path of [`/products/${chair}/parts`, '/parts', '/products'])
      assert.deepEqual(await refused(door, `${path}?cursor=${nextCursor}`), ['invalid-cursor cursor'], path)
    const escaped = `/%70roducts/${table}/parts?cursor=${nextCursor}`
    assert.equal((await listed(door, escaped)).json.data.length, 3)
  })

  spec('R54', 'children are deleted with the parent that lists them', async () => {
    const { id } = await made(door, '/products', { name: 'lamp' })
    const path = `/products/${id}/parts`
    assert.deepEqual((await listed(door, path)).json.pagination.totalRecords, 0)
    const part = await made(door, path, { label: 'bulb' })
    assert.deepEqual(values(await listed(door, path), 'id'), [part.id])
    await door.send('DELETE', `/parts/${part.id}`)
    assert.deepEqual((await listed(door, path)).json.data, [])
    await door.send('DELETE', `/products/${id}`)
    assert.equal((await door.send('GET', path)).status, 410)
  })
})
