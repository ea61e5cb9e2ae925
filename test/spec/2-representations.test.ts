/** Part 2 of the contract: the common form of all answers. */
import assert from 'node:assert/strict'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'
import { created } from '../help/verdict.ts'

let count = 0
const ann = () => ({ name: 'Ann', email: `ann${++count}@example.com`, country: 'IT' })
const members = 'id name email country address note tags metadata createdAt updatedAt'.split(' ')

/** One answer of each kind that has content. */
async function answers(door: Door): Promise<readonly Answer[]> {
  const customer = await created(door, '/customers', ann())
  const path = customer.headers.location as string
  const gone = (await created(door, '/customers', ann())).headers.location as string
  await door.send('DELETE', gone)
  const all = [
    customer,
    await door.send('GET', path),
    await door.send('PUT', path, { json: customer.json }),
    await door.send('PATCH', path, { json: { note: 'ä' } }),
    await door.send('GET', '/customers'),
    await door.send('GET', '/customers?name=nobody'),
    await door.send('POST', '/customers', { json: {} }),
    await door.send('POST', '/customers', { body: '[]', headers: { 'content-type': 'application/json' } }),
    await door.send('GET', '/nope'),
    await door.send('GET', '/customers/nope'),
    await door.send('GET', gone),
    await door.send('DELETE', '/customers'),
    await door.send('GET', '/customers?x=1'),
    await door.send('GET', '/customers', { headers: { accept: 'text/html' } }),
    await door.send('POST', '/customers', { json: { ...ann(), email: customer.json.email } }),
    await door.send('PUT', path, { json: ann(), headers: { 'if-match': '"x"' } }),
    await door.send('POST', '/customers', { body: '{}', headers: { 'content-type': 'text/plain' } }),
  ]
  const statuses = [201, 200, 200, 200, 200, 200, 400, 400, 404, 404, 410, 405, 400, 406, 409, 412, 415]
  assert.deepEqual(
    all.map(({ status }) => status),
    statuses,
  )
  return all
}

doors('representations', shop, (door) => {
  spec('R42', 'every readable field is present, null where it has no value', async () => {
    const { json, headers } = await created(door, '/customers', ann())
    assert.deepEqual(Object.keys(json), members)
    assert.deepEqual([json.address, json.note, json.tags, json.metadata], [null, null, [], {}])
    const path = headers.location as string
    const cleared = await door.send('PUT', path, { json: { ...ann(), note: 'x' } })
    assert.deepEqual(Object.keys(cleared.json), members)
    assert.deepEqual(Object.keys((await door.send('PATCH', path, { json: { note: null } })).json), members)
    for (const one of (await door.send('GET', '/customers')).json.data) assert.deepEqual(Object.keys(one), members)
  })

  spec(
    'R29',
    'content is application/json without charset, in UTF-8 without byte order mark, with nosniff',
    async () => {
      for (const { headers, text, status } of await answers(door)) {
        assert.equal(headers['content-type'], 'application/json', String(status))
        assert.equal(headers['x-content-type-options'], 'nosniff')
        assert.notEqual(text.charCodeAt(0), 0xfeff)
        assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
      }
      const { text } = await created(door, '/customers', { ...ann(), note: 'ä😀\u2028' })
      assert.ok(text.includes('ä😀\u2028'))
    },
  )

  spec('R34 R149', 'the top level of every answer with content is an object', async () => {
    for (const { text, status } of await answers(door)) {
      assert.ok(text.startsWith('{') && text.endsWith('}'), String(status))
      assert.equal(
        Object.keys(JSON.parse(text))[0],
        status < 400 ? (text.startsWith('{"data"') ? 'data' : 'id') : 'message',
      )
    }
  })

  spec('R34', 'a single resource has no envelope, a list has one', async () => {
    const { json, headers } = await created(door, '/customers', ann())
    assert.equal((await door.send('GET', headers.location as string)).json.id, json.id)
    const list = await door.send('GET', '/customers?sort=name')
    assert.ok(Array.isArray(list.json.data))
    assert.ok(list.json.data.every((one: { id: unknown }) => typeof one.id === 'string'))
  })

  spec('R35', 'identifiers are strings everywhere', async () => {
    const customer = await created(door, '/customers', ann())
    const order = await created(door, '/orders', {
      customerId: customer.json.id,
      currency: 'EUR',
      serial: '9007199254740993',
    })
    const line = await created(door, `${order.headers.location}/order-lines`, {
      description: 'a',
      quantity: 1,
      unitPrice: '1',
    })
    const house = await created(door, '/warehouses', { name: 'a' })
    const slot = await created(door, `${house.headers.location}/slots`, { number: '7', capacity: 1 })
    const ids = [
      customer.json.id,
      order.json.id,
      order.json.customerId,
      line.json.orderId,
      slot.json.id,
      slot.json.warehouseId,
    ]
    assert.ok(ids.every((id) => typeof id === 'string'))
    assert.deepEqual([order.json.customerId, line.json.orderId, slot.json.id], [customer.json.id, order.json.id, '7'])
    assert.equal(order.json.serial, '9007199254740993')
    for (const customerId of [5, true, { id: customer.json.id }, [customer.json.id]]) {
      const { status, json } = await door.send('POST', '/orders', { json: { customerId, currency: 'EUR' } })
      assert.deepEqual([status, json.cause.type, json.cause.pointer], [400, 'invalid-type', '/customerId'])
    }
  })

  spec('R38', 'date-times are answered in UTC with three fraction digits', async () => {
    const { json } = await created(door, '/customers', ann())
    for (const time of [json.createdAt, json.updatedAt]) {
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000)
    }
  })

  spec('R49', 'addresses in headers are absolute paths, for any host', async () => {
    const customer = await created(door, '/customers', ann())
    const order = await created(door, '/orders', { customerId: customer.json.id, currency: 'EUR' })
    const sent = { json: { description: 'a', quantity: 1, unitPrice: '1' }, headers: { host: 'api.example.com' } }
    const line = await door.send('POST', `${order.headers.location}/order-lines`, sent)
    assert.equal(line.headers.location, `/order-lines/${line.json.id}`)
    assert.equal(line.headers['content-location'], line.headers.location)
    const put = await door.send('PUT', line.headers.location as string, { json: line.json })
    assert.equal(put.headers['content-location'], line.headers.location)
    const links = (await door.send('GET', '/customers?page_size=1')).headers.link as string
    for (const [, url] of links.matchAll(/<([^>]*)>/g)) assert.match(url as string, /^\/customers\?/)
  })

  spec('R51', 'Range is ignored', async () => {
    const path = (await created(door, '/customers', ann())).headers.location as string
    for (const target of ['/customers', path]) {
      const whole = await door.send('GET', target)
      for (const range of ['bytes=0-9', 'bytes=99999-', 'bytes=-1', 'items=0-1', 'nonsense'])
        for (const more of [{}, { 'if-range': '"x"' }, { 'if-range': whole.headers.etag as string }]) {
          const { status, text, headers } = await door.send('GET', target, { headers: { range, ...more } })
          assert.deepEqual([status, text], [200, whole.text])
          assert.deepEqual([headers['content-range'], headers['accept-ranges']], [undefined, undefined])
        }
    }
  })
})

doors(
  'content in pieces',
  shop,
  (door) => {
    spec('R45', 'a character cut in two by chunks is whole again', async () => {
      const body = Buffer.from('{"name":"ä😀"}')
      const pieces = [...body].map((byte) =>
        Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]),
      )
      const head =
        'PUT /warehouses/whs_01h455vb4pex5vsknk084sn02q HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n'
      const answer = await door.raw(Buffer.concat([Buffer.from(head), ...pieces, Buffer.from('0\r\n\r\n')]))
      assert.match(answer, /^HTTP\/1\.1 201 /)
      assert.ok(Buffer.from(answer, 'latin1').toString().includes('"name":"ä😀"'))
    })
  },
  { socketOnly: true },
)
