/** Part 4 of the contract, methods: changing items by JSON Patch (RFC 6902). */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const type = 'application/json-patch+json'
const fields = { name: f.text({ max: 50 }), note: f.text({ optional: true }) }

const office = service({
  name: 'office',
  settings: { patch: { jsonPatch: true }, body: { maxKeys: 100 }, limits: { body: 5000 } },
  resources: {
    desks: {
      prefix: 'dsk',
      fields: {
        ...fields,
        level: f.integer({ default: 3 }),
        tags: f.list(f.text()),
        shifts: f.list(f.object({ day: f.integer(), room: f.text({ default: 'A' }) }), { optional: true }),
        metadata: f.metadata(),
        address: f.object({ city: f.text(), zip: f.text({ optional: true }) }, { optional: true }),
        price: f.decimal({ scale: 2, default: '1.00' }),
        currency: f.currency({ immutable: true }),
        rating: f.integer({ readOnly: true, default: 5 }),
      },
      access: 'public',
    },
    drawers: { parent: 'desks', key: 'number', fields: { number: f.integer(), ...fields }, access: 'public' },
    orders: {
      prefix: 'ord',
      fields,
      access: 'public',
      states: { field: 'status', initial: 'new', transitions: { payments: { from: ['new'], to: 'paid' } } },
    },
  },
})

async function made(door: Door, collection: string, json: object): Promise<string> {
  const answer = await door.send('POST', collection, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.headers.location as string
}

const desk = (door: Door, json: object = {}) => made(door, '/desks', { name: 'A', currency: 'USD', ...json })

async function patch(door: Door, path: string, json: unknown, status = 200, headers: object = {}): Promise<Answer> {
  const answer = await door.send('PATCH', path, { json, headers: { 'content-type': type, ...headers } })
  assert.equal(answer.status, status, `${JSON.stringify(json)} ${answer.text}`)
  return answer
}

const wrongs = ({ json }: Answer): string[] =>
  json.errors.map(({ type, pointer }: { type: string; pointer: string }) => `${type} ${pointer}`)

const add = (path: string, value: unknown) => ({ op: 'add', path, value })
const replace = (path: string, value: unknown) => ({ op: 'replace', path, value })
const remove = (path: string) => ({ op: 'remove', path })
const test = (path: string, value: unknown) => ({ op: 'test', path, value })

doors('JSON Patch', office, (door) => {
  spec('R118', 'operations are applied in order, and the answer is the whole resource with its tag', async () => {
    const path = await desk(door, { note: 'x', tags: ['a', 'b'], address: { city: 'Rome', zip: '1' } })
    const before = (await door.send('GET', path)).json
    const answer = await patch(door, path, [
      test('/note', 'x'),
      replace('/note', 'y'),
      test('/note', 'y'),
      add('/tags/1', 'c'),
      remove('/tags/0'),
      add('/tags/-', 'd'),
      remove('/address/zip'),
      add('/metadata/k~1e~0y', 'v'),
      { op: 'copy', from: '/note', path: '/metadata/was' },
      { op: 'move', from: '/tags/0', path: '/name' },
      { ...replace('/level', 4.0), comment: 'other members are ignored' },
    ])
    const expected = {
      ...{ note: 'y', tags: ['b', 'd'], name: 'c', level: 4, address: { city: 'Rome', zip: null } },
      metadata: { 'k/e~y': 'v', was: 'y' },
    }
    assert.deepEqual(answer.json, { ...before, ...expected, updatedAt: answer.json.updatedAt })
    const read = await door.send('GET', path)
    assert.deepEqual([read.text, read.headers.etag], [answer.text, answer.headers.etag])
  })

  spec('R118', 'a failed test or a missing path is a conflict, and nothing is changed', async () => {
    const path = await desk(door, { tags: ['a'] })
    const before = await door.send('GET', path)
    for (const operation of [
      test('/name', 'B'),
      test('/note', ''),
      test('/level', '3'),
      test('/price', 1),
      test('/tags', ['a', 'b']),
      test('/nome', null),
      test('', {}),
      replace('/nome', 1),
      remove('/metadata/k'),
      remove('/tags/1'),
      add('/tags/2', 'b'),
      add('/address/city', 'Rome'),
      add('/name/first', 'A'),
      { op: 'move', from: '/nome', path: '/note' },
      { op: 'copy', from: '/tags/-', path: '/note' },
    ]) {
      const { json } = await patch(door, path, [replace('/note', 'y'), operation, replace('/name', 'C')], 409)
      assert.deepEqual(json.types, ['patch-conflict', 'conflict', 'client-error', 'error'])
      assert.deepEqual([json.cause.pointer, json.cause.type], ['/1', 'patch-conflict'], JSON.stringify(operation))
    }
    const after = await door.send('GET', path)
    assert.deepEqual([after.text, after.headers.etag], [before.text, before.headers.etag])
    await patch(door, path, [test('', before.json), test('/price', '1.00'), test('/note', null)])
  })

  spec('R118 R220', 'an operation can test the state, and writes it never', async () => {
    const path = await made(door, '/orders', { name: 'A' })
    const answer = await patch(door, path, [test('/status', 'new'), replace('/status', 'paid'), replace('/note', 'x')])
    assert.deepEqual([answer.json.status, answer.json.note], ['new', 'x'])
    await patch(door, path, [test('/_links/payments', `${path}/payments`), remove('/_links')])
    assert.equal((await door.send('POST', `${path}/payments`)).status, 200)
    assert.deepEqual(wrongs(await patch(door, path, [test('/status', 'new')], 409)), ['patch-conflict /0'])
    await patch(door, path, [test('/_links/payments', `${path}/payments`)], 409)
  })

  spec('R118', 'a malformed patch is refused with all its mistakes', async () => {
    const path = await desk(door, { tags: ['a'] })
    const refused = async (json: unknown) => wrongs(await patch(door, path, json, 400))
    assert.deepEqual(await refused({ op: 'remove', path: '/note' }), ['invalid-type '])
    assert.deepEqual(await refused([{ op: 'put' }, 'x', add('note', 1), { op: 'add', path: '/note' }]), [
      ...['invalid-value /0/op', 'invalid-type /1', 'invalid-format /2/path', 'field-required /3/value'],
    ])
    assert.deepEqual(await refused([{ op: 'move', from: '/address', path: '/address/city' }]), [
      'invalid-value /0/path',
    ])
    assert.deepEqual(await refused([test('/name', 'A'), replace('/tags/00', 'b')]), ['invalid-format /1/path'])
    assert.deepEqual(await refused(Array.from({ length: 101 }, () => test('/name', 'A'))), ['too-many-items '])
    const raw = async (body: string) =>
      (await door.send('PATCH', path, { body, headers: { 'content-type': type } })).json.type
    assert.equal(await raw('[{"op":"remove","path":"/note","path":"/name"}]'), 'duplicate-json-key')
    assert.equal(await raw('[{"op":"remove"'), 'malformed-json')
    assert.equal(await raw('[{"op":"add","path":"/level","value":9007199254740993}]'), 'validation-failed')
    assert.equal(await raw('[{"op":"add","path":"/note","value":"\\ud800"}]'), 'invalid-encoding')
    assert.equal(await raw(''), 'body-required')
  })

  spec('R118 R47 R113', 'the result is checked like any change: nothing is changed if a field is wrong', async () => {
    const path = await desk(door, { address: { city: 'Rome' }, metadata: { a: '1' } })
    const before = (await door.send('GET', path)).text
    const refused = async (...operations: object[]) => wrongs(await patch(door, path, operations, 400))
    assert.deepEqual(await refused(replace('/note', 'y'), add('/nome', 1), replace('/level', 'x')), [
      ...['invalid-type /level', 'unknown-field /nome'],
    ])
    for (const name of ['__proto__', 'constructor', 'toString'])
      assert.deepEqual(await refused(add(`/${name}`, { admin: true })), [`unknown-field /${name}`])
    assert.deepEqual(await refused(remove('/name'), remove('/currency')), [
      ...['field-required /name', 'field-required /currency'],
    ])
    assert.deepEqual(await refused(replace('/tags', null)), ['field-required /tags'])
    assert.deepEqual(await refused(remove('/address/city')), ['field-required /address/city'])
    assert.deepEqual(await refused(replace('/address', { zip: '1' })), ['field-required /address/city'])
    assert.deepEqual(await refused(add('/metadata/n', 1)), ['invalid-type /metadata/n'])
    assert.deepEqual(await refused(replace('/currency', 'EUR')), ['immutable-field /currency'])
    const secret = await patch(door, path, [add('/access_token', 'x')], 400)
    assert.equal(secret.json.type, 'credentials-in-url')
    assert.equal((await door.send('GET', path)).text, before)
    const odd = await patch(door, path, [replace('/currency', 'USD'), add('/metadata/__proto__', 'x')])
    assert.deepEqual(Object.entries(odd.json.metadata).sort(), [
      ['__proto__', 'x'],
      ['a', '1'],
    ])
  })

  spec('R118', 'a field that is removed gets its default or null, and values are replaced as a whole', async () => {
    const path = await desk(door, {
      ...{ note: 'x', level: 7, tags: ['a'], metadata: { a: '1', b: '2' }, price: '5.00' },
      ...{ shifts: [{ day: 1, room: 'B' }], address: { city: 'Rome', zip: '1' } },
    })
    const some = await patch(door, path, [
      replace('/metadata', { c: '3' }),
      replace('/address', { city: 'Bonn' }),
      remove('/shifts/0/room'),
    ])
    assert.deepEqual(some.json.metadata, { c: '3' })
    assert.deepEqual(some.json.address, { city: 'Bonn', zip: null })
    assert.deepEqual(some.json.shifts, [{ day: 1, room: 'A' }])
    const names = ['note', 'level', 'tags', 'metadata', 'price', 'shifts', 'address']
    const { json } = await patch(
      door,
      path,
      names.map((name) => remove(`/${name}`)),
    )
    assert.deepEqual(
      names.map((name) => json[name]),
      [null, 3, [], {}, '1.00', null, null],
    )
  })

  spec('R118 R48', 'managed fields are ignored; id, key and parent must agree', async () => {
    const path = await desk(door)
    const { json: own } = await door.send('GET', path)
    const kept = await patch(door, path, [
      ...[replace('/createdAt', 'x'), remove('/updatedAt'), replace('/rating', 1), remove('/id'), add('/_links', 5)],
    ])
    assert.deepEqual(kept.json, own)
    assert.deepEqual(wrongs(await patch(door, path, [replace('/id', 'dsk_x')], 400)), ['read-only-field /id'])
    assert.equal((await door.send('POST', `${path}/drawers`, { json: { number: 1, name: 'D' } })).status, 201)
    const drawer = `${path}/drawers/1`
    for (const [field, value] of [
      ['number', 2],
      ['deskId', 'dsk_00000000000000000000000000'],
    ])
      assert.deepEqual(wrongs(await patch(door, drawer, [replace(`/${field}`, value)], 400)), [
        `read-only-field /${field}`,
      ])
    const moved = await patch(door, drawer, [replace('/number', 1), remove('/deskId'), replace('/note', 'z')])
    assert.deepEqual([moved.json.number, moved.json.deskId, moved.json.note], [1, own.id, 'z'])
  })

  spec('R118', 'an empty path is the whole item, and what it leaves out is removed', async () => {
    const path = await desk(door, { note: 'x', level: 7 })
    const { json: before } = await door.send('GET', path)
    const { json } = await patch(door, path, [replace('', { name: 'B', currency: 'USD' })])
    assert.deepEqual(json, { ...before, name: 'B', note: null, level: 3, updatedAt: json.updatedAt })
    for (const value of [null, [], 'x'])
      assert.deepEqual(wrongs(await patch(door, path, [replace('', value)], 400)), ['invalid-type '])
    assert.deepEqual(wrongs(await patch(door, path, [remove('')], 400)), ['invalid-value /0/path'])
  })

  spec('R118 R112', 'a patch that changes nothing changes neither tag nor time', async () => {
    const path = await desk(door, { tags: ['a'], note: 'x' })
    const before = await door.send('GET', path)
    for (const operations of [
      [],
      [test('/note', 'x')],
      [replace('/note', 'x'), replace('/price', '1.0')],
      [add('/tags/-', 'b'), remove('/tags/1')],
      [{ op: 'move', from: '/note', path: '/name' }, replace('', before.json)],
    ]) {
      const answer = await patch(door, path, operations)
      assert.deepEqual([answer.text, answer.headers.etag], [before.text, before.headers.etag])
    }
  })

  spec('R118 R124 R120', 'preconditions and preferences count as for any PATCH', async () => {
    const path = await desk(door)
    const etag = (await door.send('GET', path)).headers.etag as string
    await patch(door, path, [test('/name', 'B')], 412, { 'if-match': '"old"' })
    await patch(door, path, { op: 'add' }, 412, { 'if-match': '"old"' })
    const short = await patch(door, path, [add('/note', 'x')], 204, { 'if-match': etag, prefer: 'return=minimal' })
    assert.equal(short.text, '')
    await patch(door, '/desks/dsk_00000000000000000000000000', [test('/name', 'B')], 404)
    assert.equal((await door.send('DELETE', path)).status, 204)
    await patch(door, path, [test('/name', 'B')], 410)
  })

  spec('R118', 'of parallel patches none is lost, and a test lets one of them through', async () => {
    const path = await desk(door)
    const marks = Array.from({ length: 20 }, (_, i) => `t${i}`)
    await Promise.all(marks.map((mark) => patch(door, path, [add('/tags/-', mark)])))
    const { json } = await door.send('GET', path)
    assert.deepEqual(json.tags.toSorted(), marks.toSorted())
    const once = marks.map((mark) =>
      door.send('PATCH', path, { json: [test('/note', null), add('/note', mark)], headers: { 'content-type': type } }),
    )
    const statuses = (await Promise.all(once)).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, ...marks.slice(1).map(() => 409)])
  })

  spec('R118', 'limits bound the number of operations and the size of their result', async () => {
    const path = await desk(door, { note: 'x'.repeat(1000), tags: ['a'] })
    const double = Array.from({ length: 50 }, () => ({ op: 'copy', from: '/tags', path: '/tags/-' }))
    assert.match(wrongs(await patch(door, path, double, 400)).join(), /^too-long \/\d+$/)
    const copies = Array.from({ length: 8 }, () => ({ op: 'copy', from: '/note', path: '/tags/-' }))
    assert.match(wrongs(await patch(door, path, copies, 400)).join(), /^too-long \/4$/)
    await patch(door, path, copies.slice(0, 4))
    assert.deepEqual(wrongs(await patch(door, path, copies.slice(0, 1), 400)), ['too-long '])
    await patch(door, path, [remove('/tags/0')])
    const large = { 'content-type': type, 'content-encoding': 'identity' }
    const answer = await door.send('PATCH', path, { json: [add('/note', 'x'.repeat(5000))], headers: large })
    assert.equal(answer.status, 413)
  })
})
