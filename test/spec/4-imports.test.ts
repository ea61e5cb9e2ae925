/** R238: imports create an item of each line, in transactions of bounded size. */
// long because: one service, and one part for each property of imports
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { f, service, sum } from 'bylaw'
import fc from 'fast-check'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  events: true,
  settings: { limits: { body: 2000 } },
  resources: {
    customers: {
      prefix: 'cus',
      fields: { name: f.text({ max: 40 }), spent: f.decimal({ scale: 2, derived: sum('orders', 'total') }) },
      access: 'public',
    },
    orders: {
      prefix: 'ord',
      fields: {
        customerId: f.ref('customers', { optional: true, filter: true }),
        number: f.integer({ optional: true, unique: true, filter: 'range' }),
        note: f.text({ max: 1000, default: '', search: true }),
        total: f.decimal({ scale: 2, default: '0.00' }),
        size: f.object(
          { width: f.integer({ optional: true }), height: f.integer({ optional: true }) },
          { optional: true },
        ),
        tags: f.list(f.text({ max: 20 })),
        labels: f.metadata({ optional: true }),
        gift: f.boolean({ optional: true }),
      },
      states: { field: 'status', initial: 'draft', transitions: { placements: { from: ['draft'], to: 'placed' } } },
      imports: true,
      exports: true,
      history: { read: 'public' },
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: 'orders',
      fields: { text: f.text({ max: 40 }) },
      imports: true,
      exports: true,
      access: 'public',
    },
    plains: { prefix: 'pla', fields: { name: f.text({ max: 10 }) }, access: 'public' },
  },
})
const [ndjson, csv] = ['application/x-ndjson', 'text/csv']
const keyed = (key: string) => ({ 'idempotency-key': key })

const send = (door: Door, body: string | Uint8Array, more: object = {}, path = '/orders/imports', type = ndjson) =>
  door.send('POST', path, { body, headers: { 'content-type': type, ...more } })
const linesOf = (items: readonly object[]) => items.map((one) => `${JSON.stringify(one)}\n`).join('')
const count = async (door: Door, query = '') =>
  (await door.send('GET', `/orders?page_size=1${query}`)).json.pagination.totalRecords

doors('imports', shop, (door) => {
  spec('R238', 'content that is shorter than declared is no whole import', async () => {
    if (door.name !== 'fetch') return // node:http itself ends a request whose content is not as long as declared
    const body = linesOf([{ note: 'cut' }])
    const { status, json } = await send(door, body, { 'content-length': String(body.length + 20) })
    assert.deepEqual([status, json.type], [400, 'malformed-request'])
    assert.match(json.message, /not \d+ as declared/)
  })

  spec('R238', 'each line creates an item, and lines that are refused are reported by their number', async () => {
    const answer = await send(
      door,
      [
        '{"number":1,"note":"a"}',
        '',
        '{"number":1,"note":"again"}',
        '{"number":"x","note":5}',
        'no JSON',
        '{"number":2,"number":3}',
        '  ',
        '{"customerId":"cus_00000000000000000000000000"}',
        '[]',
        '{"status":"placed"}',
        '{"number":2}',
      ].join('\n'),
    )
    assert.equal(answer.status, 200, answer.text)
    const { errors, ...counts } = answer.json
    assert.deepEqual(counts, { created: 2, existing: 0, failed: 7 })
    assert.deepEqual(
      errors.map(({ line, type }: Record<string, unknown>) => [line, type]),
      [
        [3, 'already-exists'],
        [4, 'validation-failed'],
        [5, 'malformed-json'],
        [6, 'duplicate-json-key'],
        [8, 'validation-failed'],
        [9, 'validation-failed'],
        [10, 'validation-failed'],
      ],
    )
    assert.deepEqual(
      errors[1].errors.map(({ pointer, in: place }: Record<string, unknown>) => [place, pointer]),
      [
        ['body', '/number'],
        ['body', '/note'],
      ],
    )
    assert.equal(errors[0].errors[0].pointer, '/number')
    assert.deepEqual(errors[0].types.slice(0, 2), ['already-exists', 'conflict'])
    assert.equal(await count(door), 2)
  })
  spec('R238', 'each item has all that a single creation gives it: events, history, totals, words', async () => {
    const customer = (await door.send('POST', '/customers', { json: { name: 'Ann' } })).json
    const rows = Array.from({ length: 30 }, (_, i) => ({ customerId: customer.id, total: '1.50', note: `zebra ${i}` }))
    const { json } = await send(door, linesOf(rows))
    assert.deepEqual(json, { created: 30, existing: 0, failed: 0, errors: [] })
    assert.equal((await door.send('GET', `/customers/${customer.id}`)).json.spent, '45.00')
    const found = await door.send('GET', '/orders?search=zebra&page_size=50')
    assert.equal(found.json.data.length, 30)
    const [one] = found.json.data
    assert.deepEqual([one.status, one.tags, one.size], ['draft', [], null])
    const history = await door.send('GET', `/orders/${one.id}/revisions`)
    assert.deepEqual(
      history.json.data.map(({ type }: Record<string, unknown>) => type),
      ['created'],
    )
    const events = await door.send('GET', `/events?item=${one.id}`)
    assert.deepEqual(
      events.json.data.map(({ type }: Record<string, unknown>) => type),
      ['order.created'],
    )
  })
  spec(
    'R238',
    'many lines, of which some are refused in each transaction, keep their order and their numbers',
    async () => {
      const before = await count(door)
      const rows = Array.from({ length: 1300 }, (_, i) => ({ number: i % 100 === 99 ? 1000 : 1001 + i }))
      const { json } = await send(door, linesOf(rows))
      assert.deepEqual([json.created, json.failed], [1288, 12])
      assert.deepEqual(
        json.errors.map(({ line }: Record<string, unknown>) => line),
        Array.from({ length: 12 }, (_, i) => 200 + i * 100),
      )
      assert.equal(await count(door), before + 1288)
    },
  )
  spec('R238', 'at most 50 errors are answered, and all are counted', async () => {
    const rows = Array.from({ length: 80 }, (_, i) => (i === 70 ? {} : { gift: 'perhaps' }))
    const { json } = await send(door, linesOf(rows))
    assert.deepEqual([json.created, json.failed, json.errors.length], [1, 79, 50])
  })
  spec('R238', 'content without an item that can be created is refused', async () => {
    const wrong = await send(door, '{"number":1}\n{"gift":7}\n', keyed('all-wrong'))
    assert.deepEqual([wrong.status, wrong.json.type, wrong.json.failed], [400, 'validation-failed', 2])
    assert.deepEqual(
      wrong.json.errors.map(({ line, type }: Record<string, unknown>) => [line, type]),
      [
        [1, 'already-exists'],
        [2, 'validation-failed'],
      ],
    )
    for (const [text, type] of [
      ['', ndjson],
      ['\n \n', ndjson],
      ['note,number\r\n', csv],
      ['', csv],
    ] as const) {
      const empty = await send(door, text, {}, '/orders/imports', type)
      assert.deepEqual([empty.status, empty.json.type], [400, 'body-required'], JSON.stringify(text))
    }
    assert.equal((await send(door, '{}', keyed('all-wrong'))).status, 200)
  })
  spec('R238 R178', 'a line that is too long is an error of that line, however long it is', async () => {
    const { status, json } = await send(door, `{}\n{"note":"${'x'.repeat(300_000)}"}\n{}`)
    assert.deepEqual([status, json.created, json.failed], [200, 2, 1])
    assert.deepEqual([json.errors[0].line, json.errors[0].type], [2, 'content-too-large'])
    const big = linesOf(Array.from({ length: 100 }, () => ({ note: 'y'.repeat(900) })))
    assert.equal((await send(door, big)).json.created, 100)
  })
  spec('R238', 'a key in a line counts it as existing if it was created before', async () => {
    const rows = [
      { note: 'k', idempotencyKey: 'row-1' },
      { idempotencyKey: 'row-2' },
      { note: 'k', idempotencyKey: 'row-1' },
    ]
    assert.deepEqual((await send(door, linesOf(rows))).json, { created: 2, existing: 1, failed: 0, errors: [] })
    const again = await send(door, linesOf([...rows, { note: 'other', idempotencyKey: 'row-2' }]))
    assert.deepEqual([again.json.created, again.json.existing, again.json.failed], [0, 3, 1])
    assert.deepEqual([again.json.errors[0].line, again.json.errors[0].type], [4, 'idempotency-key-payload-mismatch'])
    const single = await door.send('POST', '/orders', { json: { note: 'k' }, headers: keyed('row-1') })
    assert.deepEqual([single.status, single.json.type], [409, 'idempotency-key-reused'])
  })
  spec('R238', 'a repeat with the same key gets the same report, and other content is refused', async () => {
    const before = await count(door)
    const text = linesOf(Array.from({ length: 600 }, (_, i) => ({ number: i === 3 ? 1 : 5000 + i })))
    const first = await send(door, text, keyed('whole'))
    assert.deepEqual([first.json.created, first.json.failed], [599, 1])
    const again = await send(door, text, keyed('whole'))
    assert.deepEqual([again.status, again.json], [200, first.json])
    assert.equal(again.headers['idempotency-replayed'], 'true')
    for (const other of [`${text}{}\n`, text.replace('5007', '9999999'), '{}\n', text.slice(0, text.length / 2)]) {
      const refused = await send(door, other, keyed('whole'))
      assert.deepEqual([refused.status, refused.json.type], [422, 'idempotency-key-payload-mismatch'])
    }
    const typed = await send(door, text, keyed('whole'), '/orders/imports', csv)
    assert.equal(typed.status, 422)
    assert.equal(await count(door), before + 599)
    const open = () => send(door, 'note\na\nb\n"open\n', keyed('open'), '/orders/imports', csv)
    const { json } = await open()
    assert.deepEqual([json.created, json.failed, json.errors.length, json.errors[0].line], [2, 1, 1, 4])
    assert.deepEqual((await open()).json, json)
  })
  spec('R43 R45 R238', 'a cell of CSV holds no value that a body cannot', async () => {
    const text = [
      'number,note,tags,labels',
      '9501,"a\u0000b",,',
      '9502,,"[""\\ud800""]",',
      '9503,,,"{""a"":""1"",""a"":""2""}"',
      '9504,,,"{""a"":""\\u0000""}"',
      `9505,,"${'['.repeat(40)}${']'.repeat(40)}",`,
      '9506,,"[""\\u00e9""]","{""a"":""1""}"',
    ].join('\n')
    const { status, json } = await send(door, text, {}, '/orders/imports', csv)
    assert.equal(status, 200, JSON.stringify(json))
    assert.deepEqual(
      json.errors.map(({ line, type, pointer }: Record<string, unknown>) => [line, type, pointer]),
      [
        [2, 'invalid-encoding', '/note'],
        [3, 'invalid-encoding', '/tags/0'],
        [4, 'duplicate-json-key', '/labels/a'],
        [5, 'invalid-encoding', '/labels/a'],
        [6, 'malformed-json', undefined],
      ],
    )
    assert.equal(json.created, 1)
  })

  spec('R238', 'CSV has its columns by name, nested ones with dots, in any order', async () => {
    const text = [
      '\uFEFFsize.width,number,note,tags,gift,total,size.height,idempotencyKey',
      `3,7001,"a ""b"",\n'c'","[""x"",""y""]",true,9.5,,csv-1`,
      '',
      ",7002,'=1+1,,false,,,",
      "4,7003,''=1,[],,'-1,5,",
      'x,7004,,,,,,',
      '1,7005',
      '1,7006,a"b,,,,,',
      '1,7007,"a"b,,,,,',
      ',7008,"",,,,,',
    ].join('\r\n')
    const { json } = await send(door, text, {}, '/orders/imports', csv)
    assert.deepEqual([json.created, json.failed], [4, 4], JSON.stringify(json))
    assert.deepEqual(
      json.errors.map(({ line, type }: Record<string, unknown>) => [line, type]),
      [
        [7, 'validation-failed'],
        [8, 'malformed-request'],
        [9, 'malformed-request'],
        [10, 'malformed-request'],
      ],
    )
    assert.equal(json.errors[0].errors[0].pointer, '/size/width')
    const { data } = (await door.send('GET', '/orders?number[gte]=7001&number[lte]=7008')).json
    const shown = data.map(({ number, note, size, tags, gift, total }: Record<string, unknown>) => ({
      ...{ number, note, size, tags, gift, total },
    }))
    assert.deepEqual(shown, [
      {
        number: 7001,
        note: `a "b",\n'c'`,
        size: { width: 3, height: null },
        tags: ['x', 'y'],
        gift: true,
        total: '9.50',
      },
      { number: 7002, note: '=1+1', size: null, tags: [], gift: false, total: '0.00' },
      { number: 7003, note: "'=1", size: { width: 4, height: 5 }, tags: [], gift: null, total: '-1.00' },
      { number: 7008, note: '', size: null, tags: [], gift: null, total: '0.00' },
    ])
    assert.equal((await send(door, text, {}, '/orders/imports', csv)).json.existing, 1)
  })
  spec('R238', 'mistakes in the names of columns refuse the whole import', async () => {
    const { status, json } = await send(door, 'note,nte,note,,size\r\na,b,c,d,e\r\n', {}, '/orders/imports', csv)
    assert.deepEqual([status, json.type, json.errors.length], [400, 'validation-failed', 4])
    assert.match(json.errors[0].message, /no column "nte".*Did you mean note\?/)
    assert.match(json.errors[3].message, /no column "size"/)
  })
  spec('R238', 'an export can be imported: ids and times are new, all other values are the same', async () => {
    const texts = ['=x', "'=x", '', 'a,b', 'c\r\nd', '-5', "'-5", '"', ' x ', 'é🙂']
    const rows = texts.map((note, i) => ({ note, number: 8000 + i, tags: [note.slice(0, 9)], size: { width: i } }))
    await send(door, linesOf(rows))
    const query = '/orders?number[gte]=8000&number[lte]=8099&sort=number'.replace('&sort=number', '')
    for (const accept of [ndjson, csv]) {
      const exported = await door.send('GET', query, { headers: { accept } })
      const moved = exported.text.replaceAll(/\b80(\d\d)\b/g, accept === csv ? '81$1' : '82$1')
      const { status, json } = await send(door, moved, {}, '/orders/imports', accept)
      assert.deepEqual([status, json.created, json.failed], [200, texts.length, 0], JSON.stringify(json.errors))
    }
    for (const hundred of [80, 81, 82]) {
      const { data } = (await door.send('GET', `/orders?number[gte]=${hundred}00&number[lte]=${hundred}99`)).json
      assert.deepEqual(
        data.map(({ note, tags, size }: Record<string, unknown>) => ({ note, tags, size })),
        rows.map(({ note, tags, size: { width } }) => ({ note, tags, size: { width, height: null } })),
      )
    }
    const [{ id }] = (await door.send('GET', '/orders?number=8000')).json.data
    await door.send('POST', `/orders/${id}/placements`)
    const placed = await door.send('GET', '/orders?number=8000', { headers: { accept: ndjson } })
    const refused = await send(door, placed.text)
    assert.equal(refused.json.errors[0].errors[0].pointer, '/status')
  })
  spec('R238', 'every text survives an export as CSV and its import', async () => {
    const character = fc.oneof(
      fc.constantFrom(...'\'=+-@\t\r\n",; 0.1a\uFEFF'),
      fc.string({ unit: 'grapheme', maxLength: 1 }),
    )
    const notes = fc.sample(fc.string({ unit: character, maxLength: 8 }), 100)
    const rows = notes.map((note, i) => ({ note, number: 9000 + i }))
    assert.equal((await send(door, linesOf(rows))).json.created, notes.length)
    const exported = await door.send('GET', '/orders?number[gte]=9000&number[lte]=9500&fields=number,note', {
      headers: { accept: csv },
    })
    const moved = exported.text.replaceAll(/\b9(?=\d\d\d,)/g, '19')
    const { json } = await send(door, moved, {}, '/orders/imports', csv)
    assert.deepEqual([json.created, json.failed], [notes.length, 0], JSON.stringify(json))
    const shown = await door.send('GET', '/orders?number[gte]=19000&number[lte]=19500&limit=100')
    const read = new Map(
      shown.json.data.map((one: { number: number; note: string }) => [one.number - 10_000, one.note]),
    )
    assert.deepEqual(
      rows.map(({ number }) => read.get(number)),
      notes,
    )
  })
  spec('R238', 'below an owner, which must exist and is that of each line', async () => {
    const order = (await door.send('POST', '/orders', { json: {} })).json
    const other = (await door.send('POST', '/orders', { json: {} })).json
    const path = `/orders/${order.id}/lines/imports`
    const { json } = await send(
      door,
      linesOf([{ text: 'a' }, { text: 'b', orderId: order.id }, { text: 'c', orderId: other.id }]),
      {},
      path,
    )
    assert.deepEqual([json.created, json.failed], [2, 1])
    assert.equal(json.errors[0].errors[0].pointer, '/orderId')
    const exported = await door.send('GET', `/orders/${order.id}/lines`, { headers: { accept: csv } })
    assert.equal((await send(door, exported.text, {}, path, csv)).json.created, 2)
    const lost = await send(door, '{"text":"a"}', {}, '/orders/ord_00000000000000000000000000/lines/imports')
    assert.deepEqual([lost.status, lost.json.type], [404, 'resource-not-found'])
    assert.equal((await send(door, '{"text":"a"}', {}, '/lines/imports')).status, 405)
  })
  spec('R238', 'content may be coded, and is refused if its coding is broken', async () => {
    const text = linesOf(Array.from({ length: 700 }, () => ({ note: 'coded' })))
    const coded = { 'content-encoding': 'gzip' }
    assert.equal((await send(door, gzipSync(text), coded)).json.created, 700)
    const broken = await send(door, gzipSync(text).subarray(0, 40), coded)
    assert.deepEqual([broken.status, broken.json.type], [400, 'malformed-request'])
    assert.equal((await send(door, 'plain', coded)).status, 400)
  })
  spec('R238', 'other media types, dry runs and resources without imports are refused', async () => {
    const before = await count(door)
    for (const [status, path, type] of [
      [415, '/orders/imports', 'application/json'],
      [400, '/orders/imports?dryRun=true', ndjson],
      [404, '/plains/imports', ndjson],
      [415, '/orders/imports', 'text/csv; charset=latin1'],
    ] as const)
      assert.equal((await send(door, '{"name":"a"}', {}, path, type)).status, status === 404 ? 405 : status, path)
    assert.equal((await door.send('GET', '/orders/imports')).status, 405)
    assert.equal(await count(door), before)
  })
})
