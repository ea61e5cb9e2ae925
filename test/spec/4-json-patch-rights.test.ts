/** Part 4 of the contract, methods: JSON Patch with rights, hidden values, older versions and idempotency keys. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, doors, spec } from '../help/door.ts'

const vault = service({
  name: 'vault',
  scopes: { see: 'See boxes', edit: 'Change boxes', pii: 'See personal data', seal: 'Set seals' },
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  settings: { patch: { jsonPatch: true }, idempotency: { methods: ['POST', 'PATCH'], mode: 'replay' } },
  resources: {
    boxes: {
      prefix: 'box',
      fields: {
        name: f.text({ max: 40 }),
        note: f.text({ optional: true }),
        lines: f.list(f.text()),
        pin: f.text({ writeOnly: true, optional: true }),
        level: f.integer({ writeOnly: true, optional: true }),
        ssn: f.text({ optional: true, read: 'pii' }),
        facts: f.metadata({ read: 'pii', ownMeaning: 'of a person' }),
        seal: f.text({ default: 'none', write: 'seal' }),
      },
      access: { read: 'see', write: 'edit' },
    },
  },
}).change('v2', 'boxes', {
  about: '`title` became `name`, the text its lines, and the grade a secret.',
  renamed: { title: 'name' },
  removed: { text: f.text({ default: '' }), grade: f.integer({ optional: true }) },
  added: ['lines', 'level'],
  request: ({ text, grade }) => ({ lines: text === '' ? [] : text.split('|'), level: grade }),
  response: ({ lines, level }) => ({ text: lines.join('|'), grade: level }),
})

/** The city and the tags of a box became those of its room. */
const house = service({
  name: 'house',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  settings: { patch: { jsonPatch: true } },
  resources: {
    rooms: { fields: { city: f.text(), labels: f.metadata() }, access: 'public' },
    boxes: { fields: { name: f.text(), roomId: f.ref('rooms', { optional: true }) }, access: 'public' },
  },
}).change('v2', 'boxes', {
  about: 'The city and the tags are those of the room.',
  moved: { town: { by: 'roomId', to: 'city' }, tags: { by: 'roomId', to: 'labels' } },
})

const holders = {
  keeper: { scopes: ['see', 'edit', 'pii', 'seal'] },
  clerk: { scopes: ['see', 'edit'] },
  blind: { scopes: ['edit'] },
  reader: { scopes: ['see'] },
}

const add = (path: string, value: unknown) => ({ op: 'add', path, value })
const replace = (path: string, value: unknown) => ({ op: 'replace', path, value })
const remove = (path: string) => ({ op: 'remove', path })
const test = (path: string, value: unknown) => ({ op: 'test', path, value })
const reported = ({ status, text }: Answer) => [status, text.replaceAll(/"requestId":"[^"]*"/g, '')]

doors(
  'what a JSON Patch can reach',
  vault,
  (door) => {
    const patch = (who: string, path: string, json: object, headers = {}): Promise<Answer> =>
      door.send('PATCH', path, {
        json,
        headers: { 'content-type': 'application/json-patch+json', ...door.as(who), ...headers },
      })
    const get = async (path: string) => (await door.send('GET', path, { headers: door.as('keeper') })).json
    const made = async (json: object = {}): Promise<string> => {
      const secrets = { pin: '1234', ssn: '567', facts: { a: '1' } }
      const sent = { json: { name: 'B', ...secrets, ...json }, headers: door.as('keeper') }
      const answer = await door.send('POST', '/v2/boxes', sent)
      assert.equal(answer.status, 201, answer.text)
      return answer.json.id
    }

    spec('R118 R169', 'values that the caller may not read are not part of the item', async () => {
      const [set, unset] = [await made(), await made({ pin: null, ssn: null, facts: {} })]
      for (const operation of [
        ...[test('/pin', '1234'), test('/pin', null), remove('/pin'), replace('/pin', 'x')],
        ...[test('/ssn', '567'), test('/ssn', null), remove('/ssn'), add('/facts/b', '2'), remove('/facts/a')],
        { op: 'copy', from: '/ssn', path: '/note' },
        { op: 'move', from: '/facts/a', path: '/note' },
      ]) {
        const [one, other] = [
          await patch('clerk', `/v2/boxes/${set}`, [operation]),
          await patch('clerk', `/v2/boxes/${unset}`, [operation]),
        ]
        assert.deepEqual([one.status, one.json.type], [409, 'patch-conflict'], JSON.stringify(operation))
        assert.deepEqual(reported(one), reported(other))
      }
      for (const field of ['pin', 'ssn', 'facts'])
        assert.equal((await patch('clerk', `/v1/boxes/${set}`, [test(`/${field}`, '567')])).status, 409)
      const seen = await patch('keeper', `/v2/boxes/${set}`, [test('/ssn', '567'), test('/facts/a', '1')])
      assert.equal(seen.status, 200, seen.text)
      assert.equal((await patch('keeper', `/v2/boxes/${set}`, [test('/pin', '1234')])).status, 409)
    })

    spec('R118 R169', 'a write-only value can be set, which counts as a change', async () => {
      const path = `/v2/boxes/${await made()}`
      const tag = async () => (await door.send('GET', path, { headers: door.as('clerk') })).headers.etag
      const early = await tag()
      const set = await patch('clerk', path, [add('/pin', '1234'), test('/pin', '1234')])
      assert.deepEqual([set.status, set.json.pin], [200, undefined], set.text)
      assert.notEqual(await tag(), early)
      for (const operation of [add('/ssn', '567'), add('/ssn', '890'), add('/facts', { a: '1' }), add('/facts', {})])
        assert.equal((await patch('clerk', path, [operation])).status, 403)
      const { updatedAt: _, ...before } = await get(path)
      const whole = await patch('clerk', path, [replace('', { name: 'C', seal: 'none' })])
      assert.deepEqual([whole.status, whole.json.name], [200, 'C'])
      const { updatedAt: __, ...after } = await get(path)
      assert.deepEqual(after, { ...before, name: 'C' }, 'what the caller does not see is kept')
    })

    spec('R118 R169', 'fields that need a scope to be written keep their value', async () => {
      const path = `/v2/boxes/${await made({ seal: 'wax' })}`
      for (const operation of [replace('/seal', 'lead'), remove('/seal'), add('/seal', null)])
        assert.equal((await patch('clerk', path, [operation])).status, 403, JSON.stringify(operation))
      const kept = await patch('clerk', path, [test('/seal', 'wax'), replace('/seal', 'wax'), replace('/note', 'x')])
      assert.deepEqual([kept.status, kept.json.seal], [200, 'wax'])
      assert.equal((await patch('keeper', path, [remove('/seal')])).json.seal, 'none')
      assert.equal((await patch('reader', path, [test('/name', 'B')])).status, 403)
    })

    spec('R118 R168 R169', 'for a caller who may not read the item, its stored values do not exist', async () => {
      const [id, other] = [await made(), await made({ name: 'other', note: 'x' })]
      for (const version of ['v1', 'v2']) {
        const name = version === 'v1' ? 'title' : 'name'
        for (const operation of [test(`/${name}`, 'B'), test('/note', null), remove('/note'), test('/id', id)]) {
          const both = [
            await patch('blind', `/${version}/boxes/${id}`, [operation]),
            await patch('blind', `/${version}/boxes/${other}`, [operation]),
          ]
          assert.equal(both[0]?.status, 409)
          assert.deepEqual(reported(both[0] as Answer), reported(both[1] as Answer))
        }
        const set = await patch('blind', `/${version}/boxes/${id}`, [test('', {}), add('/note', version)])
        assert.deepEqual([set.status, set.text], [204, ''])
        assert.equal((await get(`/v2/boxes/${id}`)).note, version)
      }
    })

    spec(
      'R118 R169',
      'a field of an older version that comes from such a value can be set, and never tested',
      async () => {
        const path = `/v1/boxes/${await made({ level: 5 })}`
        const tag = async () => (await door.send('GET', path, { headers: door.as('clerk') })).headers.etag
        assert.equal((await patch('clerk', path, [test('/grade', 5)])).status, 409)
        for (const value of [null, 5, 6]) {
          const before = await tag()
          const answer = await patch('clerk', path, [test('/grade', null), replace('/grade', value)])
          assert.deepEqual([answer.status, answer.json.grade], [200, null], answer.text)
          assert.notEqual(await tag(), before)
        }
      },
    )

    spec('R118 R194', 'in an older version a patch is in the terms of that version', async () => {
      const id = await made({ lines: ['a', 'b'] })
      const path = `/v1/boxes/${id}`
      assert.equal((await patch('clerk', path, [test('/name', 'B')])).status, 409)
      assert.equal((await patch('clerk', path, [test('/lines', ['a', 'b'])])).status, 409)
      const { json, status } = await patch('clerk', path, [
        ...[test('/title', 'B'), test('/text', 'a|b'), replace('/text', 'c|d'), replace('/title', 'C')],
      ])
      assert.deepEqual([status, json.title, json.text], [200, 'C', 'c|d'])
      const now = await get(`/v2/boxes/${id}`)
      assert.deepEqual([now.name, now.lines, now.ssn, now.facts], ['C', ['c', 'd'], '567', { a: '1' }])
      const wrong = await patch('clerk', path, [add('/title', 'x'.repeat(50)), add('/name', 'x')])
      assert.deepEqual(
        wrong.json.errors.map(({ pointer }: { pointer: string }) => pointer),
        ['/title', '/name'],
      )
      assert.equal((await patch('clerk', path, [remove('/text')])).json.text, '')
      assert.deepEqual((await get(`/v2/boxes/${id}`)).lines, [])
    })

    spec('R118 R108', 'a key in the header makes a repeat get the first answer', async () => {
      const path = `/v2/boxes/${await made()}`
      let count = 0
      const keyed = (key: string, ...operations: object[]) =>
        patch('clerk', path, operations, { 'idempotency-key': key })
      const key = () => `patch-${door.store}-${++count}`
      const one = key()
      const first = await keyed(one, test('/note', null), add('/note', 'x'))
      assert.deepEqual([first.status, first.json.note], [200, 'x'])
      const repeat = await keyed(one, { path: '/note', value: null, op: 'test', why: 'repeat' }, add('/note', 'x'))
      assert.deepEqual([repeat.status, repeat.text], [200, first.text], 'the test would fail now')
      assert.equal(repeat.headers['idempotency-replayed'], 'true')
      for (const other of [[add('/note', 'y')], [test('/note', null)], []])
        assert.equal((await keyed(one, ...other)).status, 422)
      const merge = { json: { note: 'x' }, headers: { ...door.as('clerk'), 'idempotency-key': one } }
      assert.equal((await door.send('PATCH', path, merge)).status, 422)
      const failed = key()
      assert.equal((await keyed(failed, test('/note', 'z'))).status, 409)
      assert.equal((await keyed(failed, test('/note', 'x'))).status, 200)
      const inside = await patch('clerk', path, [add('/idempotencyKey', 'k')])
      assert.deepEqual([inside.status, inside.json.errors[0].type], [400, 'unknown-field'])
    })

    spec('R118 R169', 'values for hidden fields are not compared with those of a repeat', async () => {
      const path = `/v2/boxes/${await made()}`
      for (const [n, operations] of [
        (value: string) => [add('/pin', value)],
        (value: string) => [add('/facts', { [value]: 'x' })],
        (value: string) => [add('/facts', {}), add(`/facts/${value}`, 'x')],
        (value: string) => [add('/note', value), { op: 'move', from: '/note', path: '/pin' }],
        (value: string) => [replace('', { name: 'B', ssn: value })],
      ].entries()) {
        const headers = { 'idempotency-key': `hidden-${door.store}-${n}` }
        assert.equal((await patch('keeper', path, operations('1'), headers)).status, 200)
        const [right, wrong] = [
          await patch('keeper', path, operations('1'), headers),
          await patch('keeper', path, operations('2'), headers),
        ]
        assert.deepEqual([right.status, reported(wrong)], [200, reported(right)])
      }
    })
  },
  { holders },
)

doors('a JSON Patch of fields that another row has', house, (door) => {
  const send = (method: string, path: string, json: object) => {
    const headers = method === 'PATCH' ? { 'content-type': 'application/json-patch+json' } : {}
    return door.send(method, path, { json, headers })
  }
  spec('R117 R194', 'a merge patch and a PUT remove keys of its metadata too', async () => {
    for (const [method, tags] of [
      ['PATCH', { a: null }],
      ['PUT', { b: '2' }],
    ] as const) {
      const { id: roomId } = (await send('POST', '/v2/rooms', { city: 'Rome', labels: { a: '1', b: '2' } })).json
      const { id } = (await send('POST', '/v2/boxes', { name: 'B', roomId })).json
      const json = { name: 'B', roomId, town: 'Rome', tags }
      const answer = await door.send(method, `/v1/boxes/${id}`, { json })
      assert.deepEqual([answer.status, answer.json.tags], [200, { b: '2' }], method)
      assert.deepEqual((await door.send('GET', `/v2/rooms/${roomId}`)).json.labels, { b: '2' })
    }
  })

  spec('R118 R194', 'changes them in that row, or in the own row while it refers to no other', async () => {
    const { id: roomId } = (await send('POST', '/v2/rooms', { city: 'Rome', labels: { a: '1', b: '2' } })).json
    const { id } = (await send('POST', '/v2/boxes', { name: 'B', roomId })).json
    const path = `/v1/boxes/${id}`
    const { status, json } = await send('PATCH', path, [
      ...[test('/town', 'Rome'), replace('/town', 'Bonn'), remove('/tags/a'), add('/tags/c', '3')],
    ])
    assert.deepEqual([status, json.town, json.tags], [200, 'Bonn', { b: '2', c: '3' }])
    const room = (await door.send('GET', `/v2/rooms/${roomId}`)).json
    assert.deepEqual([room.city, room.labels], ['Bonn', { b: '2', c: '3' }])
    assert.equal((await send('PATCH', path, [test('/town', 'Rome'), replace('/name', 'C')])).status, 409)
    const free = await send('PATCH', path, [remove('/roomId'), add('/town', 'Oslo')])
    assert.deepEqual([free.status, free.json.town, free.json.roomId], [200, 'Oslo', null], free.text)
    assert.equal((await door.send('GET', `/v2/rooms/${roomId}`)).json.city, 'Bonn')
  })
})
