/** Part 3 of the contract: lists by QUERY. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const resources = {
  orders: {
    prefix: 'ord',
    fields: { status: f.enum(['paid', 'lost'], { filter: true }), price: f.integer({ sort: true, filter: 'range' }) },
    access: 'public',
  },
  lines: { prefix: 'lin', parent: 'orders', fields: { count: f.integer({ sort: true }) }, access: 'public' },
} as const
const form = { 'content-type': 'application/x-www-form-urlencoded' }

doors('QUERY', service({ name: 'shop', settings: { methods: { query: true } }, resources }), (door) => {
  spec('R15', 'QUERY answers like GET with the same parameters, with the links of GET', async () => {
    for (const price of [3, 1, 2]) await door.send('POST', '/orders', { json: { status: 'paid', price } })
    await door.send('POST', '/orders', { json: { status: 'lost', price: 9 } })
    const body = 'status=paid&sort=price&page_size=2&price[gte]=1'
    const get = await door.send('GET', `/orders?${body}`)
    const query = await door.send('QUERY', '/orders', { body, headers: form })
    assert.equal(query.status, 200)
    assert.deepEqual(query.json, get.json)
    assert.deepEqual(
      query.json.data.map((one: { price: number }) => one.price),
      [1, 2],
    )
    assert.equal(query.headers.link, get.headers.link)
    assert.equal((await door.send('QUERY', '/orders', { body: '', headers: form })).json.data.length, 4)
  })

  spec('R15', 'the content is a form and holds all parameters', async () => {
    const bare = await door.send('QUERY', '/orders', { body: Buffer.from('status=paid') })
    assert.equal(bare.status, 400)
    const sql = await door.send('QUERY', '/orders', {
      body: 'SELECT 1',
      headers: { 'content-type': 'application/sql' },
    })
    assert.deepEqual([sql.status, sql.headers['accept-query']], [415, 'application/x-www-form-urlencoded'])
    const both = await door.send('QUERY', '/orders?status=paid', { body: 'limit=5', headers: form })
    assert.deepEqual([both.status, both.json.type], [400, 'invalid-query'])
    const wrong = await door.send('QUERY', '/orders', { body: 'stauts=paid&limit=0', headers: form })
    assert.equal(wrong.status, 400)
    assert.deepEqual(
      wrong.json.errors.map(({ name }: { name: string }) => name),
      ['stauts', 'limit'],
    )
  })

  spec('R15', 'parameters may be in the URL or in the content of a QUERY, but not in both', async () => {
    const inUrl = await door.send('QUERY', '/orders?status=lost', { body: '', headers: form })
    assert.deepEqual([inUrl.status, inUrl.json.data.length], [200, 1])
    for (const [path, body] of [
      ['/orders?status=lost', 'status=lost'],
      ['/orders?limit=1', 'sort=price'],
      ['/orders?x', 'sort=price'],
    ] as const)
      assert.equal((await door.send('QUERY', path, { body, headers: form })).status, 400, path)
    assert.equal((await door.send('QUERY', '/orders?&', { body: 'status=lost', headers: form })).json.data.length, 1)
    const malformed = await door.send('QUERY', '/orders', { body: 'status=%FF', headers: form })
    assert.deepEqual([malformed.status, malformed.json.type], [400, 'invalid-url-encoding'])
  })

  spec('R15 R83', 'cursors of GET work with QUERY, and the other way round', async () => {
    const { nextCursor } = (await door.send('GET', '/orders?cursor=&limit=1&sort=price')).json.pagination
    const body = `sort=price&limit=1&cursor=${nextCursor}`
    const next = await door.send('QUERY', '/orders', { body, headers: form })
    assert.deepEqual(next.json, (await door.send('GET', `/orders?${body}`)).json)
  })

  spec(
    'R15 R139',
    'conditions hold as for GET: an unchanged result is 304, another state than the named one 412',
    async () => {
      const query = (body: string, headers: Record<string, string> = {}) =>
        door.send('QUERY', '/orders', { body, headers: { ...form, ...headers } })
      const { etag = '' } = (await query('status=paid')).headers
      for (const listed of [etag, `W/${etag}`, '*', `"x", ${etag}`]) {
        const same = await query('status=paid', { 'if-none-match': listed })
        assert.deepEqual([same.status, same.text, same.headers.etag], [304, '', etag], listed)
      }
      assert.equal((await query('status=lost', { 'if-none-match': etag })).status, 200)
      assert.equal((await query('status=paid', { 'if-none-match': 'no tag' })).status, 200)
      assert.equal((await query('status=paid', { 'if-match': etag })).status, 200)
      const other = await query('status=lost', { 'if-match': etag })
      assert.deepEqual([other.status, other.json.type], [412, 'precondition-failed'])
      assert.equal((await query('stauts=paid', { 'if-match': '"x"' })).status, 400)
    },
  )

  spec('R15 R154', 'a content full of mistakes is refused at once and in short', async () => {
    const body = Array.from({ length: 100_000 }, (_, i) => `x${i}`).join('&')
    const { status, json, text } = await door.send('QUERY', '/orders', { body, headers: form })
    assert.deepEqual([status, json.message, json.errors.length], [400, '100000 parameters are invalid.', 50])
    assert.ok(text.length < 50_000)
    for (const long of ['z'.repeat(900_000), `sort=${'z'.repeat(900_000)}`, `status[${'z'.repeat(900_000)}]=1`]) {
      const answer = await door.send('QUERY', '/orders', { body: long, headers: form })
      assert.equal(answer.status, 400)
      assert.ok(answer.text.length < 5000, String(answer.text.length))
    }
  })

  spec('R15 R11 R5', 'it is offered with every list, those below owners too', async () => {
    const options = await door.send('OPTIONS', '/orders')
    assert.equal(options.headers.allow, 'GET, HEAD, OPTIONS, QUERY, POST')
    assert.equal(options.headers['accept-query'], 'application/x-www-form-urlencoded')
    const missing = await door.send('QUERY', '/orders/ord_00000000000000000000000000/lines', {
      body: '',
      headers: form,
    })
    assert.equal(missing.status, 404)
    const { json } = await door.send('POST', '/orders', { json: { status: 'paid', price: 1 } })
    await door.send('POST', `/orders/${json.id}/lines`, { json: { count: 1 } })
    const lines = await door.send('QUERY', `/orders/${json.id}/lines`, { body: 'sort=count', headers: form })
    assert.equal(lines.json.data.length, 1)
  })
})

doors('no QUERY', service({ name: 'shop', resources }), (door) => {
  spec('R15', 'without the setting QUERY is not offered', async () => {
    const refused = await door.send('QUERY', '/orders', { body: 'status=paid', headers: form })
    assert.deepEqual([refused.status, refused.headers.allow], [405, 'GET, HEAD, OPTIONS, POST'])
  })
})
