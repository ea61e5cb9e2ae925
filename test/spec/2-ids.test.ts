/** Part 2 of the contract: identifiers made by the service, by clients and by a generator, and keys. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'
import { created, wrong } from '../help/verdict.ts'

let made = 0
const odd = ['', 'a/b', 'x'.repeat(200)]
let oddly = 0

const api = service({
  name: 'house',
  resources: {
    orders: { prefix: 'ord', fields: { note: f.text({ optional: true }) }, access: 'public' },
    'order-lines': { parent: 'orders', fields: { note: f.text({ optional: true }) }, access: 'public' },
    documents: {
      prefix: 'doc',
      fields: { title: f.text({ optional: true }), likeId: f.ref('documents', { optional: true }) },
      access: 'public',
      settings: { resource: { id: 'client' } },
    },
    tickets: {
      prefix: 'tic',
      fields: { title: f.text({ optional: true }) },
      access: 'public',
      settings: { resource: { id: () => String(++made) } },
    },
    gadgets: {
      prefix: 'gad',
      fields: { title: f.text({ optional: true }) },
      access: 'public',
      settings: { resource: { id: () => odd[oddly++ % odd.length] as string } },
    },
  },
})

const missing = async (door: Door, path: string): Promise<void> => {
  const { status, json } = await door.send('GET', path)
  assert.deepEqual([status, json.type], [404, 'resource-not-found'], path)
}

doors('identifiers', api, (door) => {
  spec('R36', 'a generated identifier is the prefix and a UUIDv7 in 26 small characters of base 32', async () => {
    const { json, headers } = await created(door, '/orders', {})
    assert.match(json.id, /^ord_0[0-7][0-9a-hjkmnp-tv-z]{24}$/)
    assert.equal(headers.location, `/orders/${json.id}`)
    const line = await created(door, `/orders/${json.id}/order-lines`, {})
    assert.match(line.json.id, /^order_line_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
    const digits = [...json.id.slice(4)].map((digit) => BigInt(alphabet.indexOf(digit as string)))
    const hex = digits
      .reduce((sum, digit) => sum * 32n + digit, 0n)
      .toString(16)
      .padStart(32, '0')
    assert.ok(Math.abs(Number.parseInt(hex.slice(0, 12), 16) - Date.parse(json.createdAt)) < 5000)
    assert.match(hex, /^.{12}7.{3}[89ab]/)
  })

  spec('R36 R59', 'identifiers are in the order of creation and never repeat', async () => {
    const ids: string[] = []
    for (let i = 0; i < 200; i++) ids.push((await created(door, '/orders', {})).json.id)
    assert.deepEqual(ids.toSorted(), ids)
    const parallel = await Promise.all(Array.from({ length: 50 }, () => created(door, '/orders', {})))
    assert.equal(new Set([...ids, ...parallel.map(({ json }) => json.id)]).size, 250)
  })

  spec('R36 R9', 'identifiers are compared exactly, and an impossible one is not found', async () => {
    const { json } = await created(door, '/orders', {})
    const suffix = json.id.slice(4)
    const wrongs = [
      json.id.toUpperCase(),
      `ord_${suffix.toUpperCase()}`,
      `Ord_${suffix}`,
      suffix,
      `cus_${suffix}`,
      `ord_${suffix}0`,
    ]
    const more = [
      `ord_${suffix.slice(1)}`,
      `ord_8${suffix.slice(1)}`,
      'ord_zzzzzzzzzzzzzzzzzzzzzzzzzz',
      'ord_',
      'ord',
      '1',
      `%20${json.id}`,
    ]
    const last = [
      `${json.id}%20`,
      `${json.id}%00`,
      `${json.id}%0a`,
      `${json.id}.json`,
      `ord%5f%5f${suffix}`,
      'x'.repeat(3000),
      `${json.id}%2F`,
    ]
    for (const text of [...wrongs, ...more, ...last]) await missing(door, `/orders/${text}`)
    assert.equal((await door.send('GET', `/orders/ord%5F${suffix}`)).json.id, json.id)
  })

  spec('R36', 'a generated identifier is never used again', async () => {
    const { headers, json } = await created(door, '/orders', {})
    const path = headers.location as string
    assert.equal((await door.send('DELETE', path)).status, 204)
    assert.equal((await door.send('PUT', path, { json: {} })).status, 410)
    assert.notEqual((await created(door, '/orders', {})).json.id, json.id)
  })

  spec('R91', 'clients choose identifiers if the resource says so; otherwise the service makes them', async () => {
    const { json, headers } = await created(door, '/documents', { id: 'doc_Read-me_1', title: 'a' })
    assert.deepEqual([json.id, headers.location], ['doc_Read-me_1', '/documents/doc_Read-me_1'])
    assert.deepEqual((await door.send('GET', '/documents/doc_Read-me_1')).json, json)
    assert.match((await created(door, '/documents', {})).json.id, /^doc_[0-9a-z]{26}$/)
    const taken = await door.send('POST', '/documents', { json: { id: 'doc_Read-me_1' } })
    assert.deepEqual([taken.status, taken.json.type, taken.json.errors[0].pointer], [409, 'already-exists', '/id'])
    assert.equal((await door.send('DELETE', '/documents/doc_Read-me_1')).status, 204)
    const gone = await door.send('POST', '/documents', { json: { id: 'doc_Read-me_1' } })
    assert.deepEqual([gone.status, gone.json.type], [410, 'resource-deleted'])
  })

  spec('R91 R35', 'a chosen identifier has the prefix and is a short text that is safe in addresses', async () => {
    const broken = [
      '',
      'a',
      'doc_',
      'cus_1',
      'DOC_1',
      'doc_a b',
      'doc_a/b',
      'doc_ä',
      'doc_%41',
      'doc_.',
      `doc_${'x'.repeat(101)}`,
      'doc_1\n',
    ]
    for (const id of broken)
      assert.deepEqual(wrong(await door.send('POST', '/documents', { json: { id } })), ['invalid-format /id'], id)
    for (const id of [5, null, {}, ['doc_1'], true])
      assert.deepEqual(wrong(await door.send('POST', '/documents', { json: { id } })), ['invalid-type /id'])
    assert.equal((await created(door, '/documents', { id: `doc_${'x'.repeat(100)}` })).json.id.length, 104)
    for (const id of ['doc_', 'cus_1', 'doc_a%20b', 'doc_a%2Fb', 'DOC_1']) {
      await missing(door, `/documents/${id}`)
      assert.equal((await door.send('PUT', `/documents/${id}`, { json: {} })).status, 404)
    }
    const put = await door.send('PUT', '/documents/doc_x', { json: { title: 'x' } })
    assert.deepEqual([put.status, put.json.id, put.headers.location], [201, 'doc_x', '/documents/doc_x'])
    assert.equal((await created(door, '/documents', { likeId: 'doc_x' })).json.likeId, 'doc_x')
    assert.deepEqual(wrong(await door.send('POST', '/documents', { json: { likeId: 'doc_nope' } })), [
      'invalid-value /likeId',
    ])
    assert.deepEqual(wrong(await door.send('POST', '/documents', { json: { likeId: 'doc_a b' } })), [
      'invalid-format /likeId',
    ])
  })

  spec('R36', 'a generator makes the part after the prefix', async () => {
    const first = await created(door, '/tickets', {})
    const second = await created(door, '/tickets', {})
    assert.equal(first.json.id, `tic_${made - 1}`)
    assert.equal(second.headers.location, `/tickets/tic_${made}`)
    assert.deepEqual((await door.send('GET', `/tickets/tic_${made}`)).json, second.json)
    assert.deepEqual(wrong(await door.send('POST', '/tickets', { json: { id: 'tic_900' } })), ['read-only-field /id'])
  })

  spec(
    'R36 R157',
    'a generator whose id does not fit into a URL is a failure of the service, and nothing is created',
    async () => {
      for (const _ of odd) {
        const { status, json } = await door.send('POST', '/gadgets', { json: {} })
        assert.deepEqual([status, json.type], [500, 'internal-error'])
      }
      assert.deepEqual((await door.send('GET', '/gadgets')).json.data, [])
    },
  )
})
