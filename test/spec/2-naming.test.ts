/** Part 2 of the contract: the names that the service adds follow one setting, those of the conventions never change. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { created, wrong } from '../help/verdict.ts'

const snake = service({
  name: 'snake',
  settings: { naming: 'snake' },
  resources: {
    'sales-orders': {
      prefix: 'sal',
      fields: {
        first_name: f.text({ filter: true, sort: true }),
        ship_to: f.object({ zip_code: f.text({ optional: true }) }, { optional: true }),
        paid_at: f.timestamp({ optional: true }),
      },
      access: 'public',
    },
    'order-lines': {
      prefix: 'lin',
      parent: 'sales-orders',
      fields: { unit_price: f.decimal({ scale: 2 }) },
      access: 'public',
    },
    'shelf-boards': {
      parent: 'sales-orders',
      key: 'board_number',
      fields: { board_number: f.text({ max: 9 }), width: f.integer() },
      access: 'public',
    },
  },
})

const camel = service({
  name: 'camel',
  resources: {
    'sales-orders': { prefix: 'sal', fields: { firstName: f.text() }, access: 'public' },
    people: { prefix: 'per', fields: { name: f.text() }, access: 'public' },
    'order-lines': {
      prefix: 'lin',
      parent: 'sales-orders',
      fields: { note: f.text({ optional: true }) },
      access: 'public',
    },
    pets: { prefix: 'pet', parent: 'people', fields: { name: f.text() }, access: 'public' },
  },
})

doors('snake_case', snake, (door) => {
  spec('R41a', 'the service names its own fields in snake_case where that is set', async () => {
    const { json, headers } = await created(door, '/sales-orders', { first_name: 'Ann', ship_to: {} })
    assert.deepEqual(Object.keys(json), ['id', 'first_name', 'ship_to', 'paid_at', 'created_at', 'updated_at'])
    assert.deepEqual(json.ship_to, { zip_code: null })
    const line = await created(door, `${headers.location}/order-lines`, { unit_price: '1' })
    assert.deepEqual(Object.keys(line.json), ['id', 'sales_order_id', 'unit_price', 'created_at', 'updated_at'])
    assert.equal(line.json.sales_order_id, json.id)
    const board = await created(door, `${headers.location}/shelf-boards`, { board_number: 'a', width: 1 })
    assert.deepEqual(Object.keys(board.json), [
      'id',
      'sales_order_id',
      'board_number',
      'width',
      'created_at',
      'updated_at',
    ])
  })

  spec('R41a R48', 'reading, replacing and changing know the same names', async () => {
    const { json, headers } = await created(door, '/sales-orders', { first_name: 'Ann' })
    const path = headers.location as string
    const replaced = await door.send('PUT', path, { json })
    assert.deepEqual([replaced.status, replaced.headers.etag], [200, headers.etag])
    const changed = await door.send('PATCH', path, { json: { first_name: 'Bob', created_at: 'x', updated_at: 5 } })
    assert.equal(changed.json.first_name, 'Bob')
    assert.equal(changed.json.created_at, json.created_at)
    assert.ok(changed.json.updated_at >= json.updated_at)
    assert.deepEqual((await door.send('GET', path)).json, changed.json)
  })

  spec('R41a', 'names in the other case are unknown, and managed fields are read-only', async () => {
    const answer = await door.send('POST', '/sales-orders', {
      json: { first_name: 'a', firstName: 'b', createdAt: 'x', created_at: 'x' },
    })
    assert.deepEqual(wrong(answer), [
      'unknown-field /firstName',
      'unknown-field /createdAt',
      'read-only-field /created_at',
    ])
    assert.equal(answer.json.errors[0].message, 'firstName is not a field here. Did you mean first_name?')
  })

  spec('R41a', 'page information follows the setting, the names of the conventions do not', async () => {
    await created(door, '/sales-orders', { first_name: 'Ann' })
    const { json } = await door.send('GET', '/sales-orders?page=1&page_size=1')
    assert.equal(json.data.length, 1)
    for (const name of ['current_page', 'page_size', 'total_pages', 'total_records', 'has_more'])
      assert.ok(Object.hasOwn(json.pagination, name), name)
    assert.ok(!Object.keys(json.pagination).some((name) => /[A-Z]/.test(name)))
    const { json: refused } = await door.send('GET', '/sales-orders/nope')
    assert.deepEqual(Object.keys(refused), ['message', 'type', 'types'])
    assert.equal((await door.send('GET', '/sales-orders?sort=first_name&order=desc&first_name=Ann')).status, 200)
  })
})

doors('camelCase', camel, (door) => {
  spec(
    'R41a',
    'the service names its own fields in camelCase by default, the parent’s id by its singular',
    async () => {
      const order = await created(door, '/sales-orders', { firstName: 'Ann' })
      assert.deepEqual(Object.keys(order.json), ['id', 'firstName', 'createdAt', 'updatedAt'])
      const line = await created(door, `${order.headers.location}/order-lines`, {})
      assert.deepEqual(Object.keys(line.json), ['id', 'salesOrderId', 'note', 'createdAt', 'updatedAt'])
      const person = await created(door, '/people', { name: 'Ann' })
      const pet = await created(door, `${person.headers.location}/pets`, { name: 'Rex' })
      assert.equal(pet.json.personId, person.json.id)
      const { json } = await door.send('GET', '/sales-orders')
      assert.ok(
        ['currentPage', 'pageSize', 'totalPages', 'totalRecords', 'hasMore'].every((name) =>
          Object.hasOwn(json.pagination, name),
        ),
      )
    },
  )
})

const failing = service({
  name: 'failing',
  settings: { naming: 'snake' },
  resources: { notes: { prefix: 'not', fields: { first_word: f.text() }, access: 'public' } },
  tiers: { anonymous: { hourly: 1 } },
}).handlers({
  notes: {
    create() {
      throw new Error('The handler fails.')
    },
  },
})

doors('errors in snake_case', failing, (door) => {
  spec('R41a R157 R182', 'the further members of errors follow the setting, in both forms', async () => {
    const failed = await door.send('POST', '/notes', { json: { first_word: 'a' } })
    assert.equal(failed.status, 500)
    assert.deepEqual(Object.keys(failed.json), ['message', 'request_id', 'type', 'types'])
    assert.equal(failed.json.request_id, failed.headers['request-id'])
    const refused = await door.send('GET', '/notes')
    assert.deepEqual([refused.status, refused.json.violated_policies], [429, ['hourly']])
    assert.ok(!Object.hasOwn(refused.json, 'violatedPolicies'))
    const problem = await door.send('GET', '/notes', { headers: { accept: 'application/problem+json' } })
    assert.deepEqual(problem.json['violated-policies'], ['hourly']) // the name in the registry of problem types
    assert.ok(!Object.hasOwn(problem.json, 'violated_policies'))
  })
})
