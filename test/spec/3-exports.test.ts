/** R238: exports of lists, as lines of JSON and as CSV. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        status: f.enum(['draft', 'paid'], { default: 'draft', filter: true }),
        number: f.integer({ filter: 'range', sort: true, optional: true }),
        note: f.text({ optional: true, search: true }),
        total: f.decimal({ scale: 2, optional: true }),
        size: f.object({ width: f.integer(), height: f.integer({ optional: true }) }, { optional: true }),
        tags: f.list(f.text(), { default: [] }),
      },
      exports: true,
      embed: true,
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: 'orders',
      fields: { text: f.text() },
      exports: true,
      access: 'public',
    },
    plains: { prefix: 'pla', fields: { text: f.text() }, access: 'public' },
  },
  settings: { list: { or: true, fields: true } },
})

const [lines, csv] = [{ accept: 'application/x-ndjson' }, { accept: 'text/csv' }]

const post = async (door: Door, json: object, path = '/orders') => {
  const answer = await door.send('POST', path, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}

const itemsOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

doors('exports', shop, (door) => {
  spec('R238', 'all items that match are lines of JSON, as in the list', async () => {
    const none = await door.send('GET', '/orders', { headers: lines })
    assert.deepEqual([none.status, none.text], [200, ''])
    assert.equal(none.headers['content-type'], 'application/x-ndjson')
    const ids: string[] = []
    for (let number = 0; number < 250; number++)
      ids.push((await post(door, { number, status: number % 2 ? 'paid' : 'draft' })).id)
    const all = await door.send('GET', '/orders', { headers: lines })
    assert.deepEqual(
      itemsOf(all.text).map(({ id }) => id),
      ids,
    )
    const listed = await door.send('GET', '/orders?number=7')
    assert.deepEqual(itemsOf(all.text)[7], listed.json.data[0])
    assert.equal(all.headers['cache-control'], 'no-store')
    assert.match(all.headers.vary as string, /Accept(,|$)/)
    assert.equal(all.headers.etag, undefined)
    const some = await door.send(
      'GET',
      '/orders?or=(number[lte]=3;number[gte]=247)&status=paid&sort=number&order=desc&fields=number',
      { headers: lines },
    )
    assert.deepEqual(itemsOf(some.text), [...[249, 247, 3, 1].map((number) => ({ id: ids[number], number }))])
    const json = await door.send('GET', '/orders?limit=2')
    assert.equal(json.json.data.length, 2)
    const head = await door.send('HEAD', '/orders', { headers: lines })
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.equal(head.headers['content-type'], 'application/x-ndjson')
  })
  spec('R238', 'CSV has a line of names and one of each item', async () => {
    const one = await post(door, {
      ...{ number: -5, note: '=1+1', total: '-2.50', size: { width: 3 }, tags: ['a,b', '"c"'] },
    })
    const two = await post(door, { note: '' })
    const three = await post(door, { note: "'@me\n;" })
    const query = '?or=(number=-5;number[null]=true)&fields=note,number,size,tags,total'
    const all = await door.send('GET', `/orders${query}`, { headers: csv })
    assert.equal(all.headers['content-type'], 'text/csv; charset=utf-8')
    assert.equal(
      all.text,
      [
        'id,number,note,total,size.width,size.height,tags',
        `${one.id},-5,'=1+1,-2.50,3,,"[""a,b"",""\\""c\\""""]"`,
        `${two.id},,"",,,,[]`,
        `${three.id},,"''@me\n;",,,,[]`,
        '',
      ].join('\r\n'),
    )
    const whole = await door.send('GET', '/orders?number=-5', { headers: csv })
    assert.match(
      whole.text,
      /^id,status,number,note,total,size\.width,size\.height,tags,createdAt,updatedAt\r\n[^\r]*\r\n$/,
    )
    const part = await door.send('GET', '/orders?number=-5&fields=size.width', { headers: csv })
    assert.equal(part.text, `id,size.width\r\n${one.id},3\r\n`)
    const empty = await door.send('GET', '/orders?number=77777&fields=note', { headers: csv })
    assert.equal(empty.text, 'id,note\r\n')
  })
  spec('R238', 'the list below an owner, which must exist', async () => {
    const order = await post(door, {})
    const other = await post(door, {})
    await post(door, { text: 'x' }, `/orders/${other.id}/lines`)
    const line = await post(door, { text: 'y' }, `/orders/${order.id}/lines`)
    const found = await door.send('GET', `/orders/${order.id}/lines`, { headers: lines })
    assert.deepEqual(
      itemsOf(found.text).map(({ id }) => id),
      [line.id],
    )
    const lost = '/orders/ord_00000000000000000000000000/lines'
    for (const headers of [lines, csv]) {
      const missing = await door.send('GET', lost, { headers })
      assert.deepEqual([missing.status, missing.json?.type], [404, 'resource-not-found'])
    }
    assert.equal((await door.send('HEAD', lost, { headers: csv })).status, 404)
  })
  spec('R238', 'parameters of pages, and mistakes in others, are refused together', async () => {
    const found = await door.send('GET', '/orders?limit=2&page=x&cursor=&note=a&sort=note', { headers: lines })
    assert.equal(found.status, 400)
    assert.deepEqual(
      found.json.errors.map(({ type, name }: Record<string, string>) => [type, name]),
      [
        ['unsupported-pagination', 'limit'],
        ['unsupported-pagination', 'page'],
        ['unsupported-pagination', 'cursor'],
        ['unsupported-filter', 'note'],
        ['unsupported-sort', 'sort'],
      ],
    )
    assert.match(found.json.errors[0].message, /An export has all items and no pages\. Leave limit out\./)
  })
  spec(
    'R31',
    'without exports nothing else than JSON is available, and with them JSON unless asked otherwise',
    async () => {
      for (const headers of [lines, csv]) {
        const refused = await door.send('GET', '/plains', { headers })
        assert.deepEqual([refused.status, refused.json.type], [406, 'not-acceptable'])
      }
      for (const accept of ['*/*', 'application/*', 'application/json, text/csv;q=0.9', 'text/csv;q=0']) {
        const { headers, status } = await door.send('GET', '/orders?limit=1', { headers: { accept } })
        assert.deepEqual(
          [status === 406 ? accept : headers['content-type']],
          [status === 406 ? 'text/csv;q=0' : 'application/json'],
        )
      }
      const both = await door.send('GET', '/orders?number=77777&fields=note', {
        headers: { accept: 'application/x-ndjson;q=0.5, text/csv, */*;q=0.1' },
      })
      assert.equal(both.headers['content-type'], 'text/csv; charset=utf-8')
      const neither = await door.send('GET', '/orders', { headers: { accept: 'text/html' } })
      assert.equal(neither.status, 406)
      assert.match(neither.json.message, /application\/json or application\/x-ndjson or text\/csv/)
    },
  )
  spec('R235 R238', 'a search, in the order of its matches', async () => {
    const ids: string[] = []
    for (const note of ['ink', 'red ink', 'a red pen', 'pen, ink and red paper'])
      ids.push((await post(door, { note })).id)
    for (let i = 0; i < 120; i++) await post(door, { note: `${'word '.repeat(i)}ink` })
    for (const query of ['search=ink', 'search=red', 'search=ink&sort=number&order=desc', 'search=pen&fields=note']) {
      const listed = await door.send('GET', `/orders?${query}&page_size=100`)
      const all = itemsOf((await door.send('GET', `/orders?${query}`, { headers: lines })).text)
      assert.deepEqual(all.slice(0, 100), listed.json.data)
      assert.equal(all.length, listed.json.pagination.totalRecords ?? all.length)
      assert.equal(new Set(all.map(({ id }) => id)).size, all.length)
    }
  })
  spec('R238', 'nothing is embedded in exports', async () => {
    const refused = await door.send('GET', '/orders?embed=lines', { headers: lines })
    assert.deepEqual([refused.status, refused.json.errors[0].type], [400, 'unknown-parameter'])
  })
  spec('R238', 'exports are not answered with cached answers', async () => {
    for (let i = 0; i < 3; i++) {
      assert.equal((await door.send('GET', '/orders?status=paid')).headers['content-type'], 'application/json')
      const { headers } = await door.send('GET', '/orders?status=paid', { headers: csv })
      assert.match(headers['content-type'] as string, /^text\/csv/)
    }
  })
})
