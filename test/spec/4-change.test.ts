/** Part 4 of the contract, methods: changing given fields by PATCH. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const office = service({
  name: 'office',
  resources: {
    desks: {
      prefix: 'dsk',
      fields: {
        name: f.text({ max: 50 }),
        note: f.text({ optional: true }),
        status: f.enum(['new', 'old'], { default: 'new' }),
        tags: f.list(f.text()),
        shifts: f.list(f.object({ day: f.integer(), room: f.text({ default: 'A' }) }), { optional: true }),
        metadata: f.metadata(),
        extras: f.metadata({ optional: true, ownMeaning: 'not for us' }),
        address: f.object(
          {
            city: f.text(),
            zip: f.text({ optional: true }),
            kind: f.enum(['home', 'work'], { default: 'home' }),
            geo: f.object({ lat: f.integer(), lon: f.integer() }, { optional: true }),
          },
          { optional: true },
        ),
        price: f.decimal({ scale: 2, default: '1.00' }),
        currency: f.currency({ immutable: true }),
        pin: f.text({ writeOnly: true, optional: true }),
        rating: f.integer({ readOnly: true, default: 3 }),
      },
      access: 'public',
    },
    drawers: {
      parent: 'desks',
      key: 'number',
      fields: { number: f.integer(), note: f.text({ optional: true }) },
      access: 'public',
    },
  },
})

const missing = '/desks/dsk_00000000000000000000000000'

async function desk(door: Door, json: object = {}): Promise<string> {
  const answer = await door.send('POST', '/desks', { json: { name: 'A', currency: 'USD', ...json } })
  assert.equal(answer.status, 201, answer.text)
  return `/desks/${answer.json.id}`
}

async function patch(
  door: Door,
  path: string,
  json: object,
  status = 200,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await door.send('PATCH', path, { json, headers })
  assert.equal(answer.status, status, `${JSON.stringify(json)} ${answer.text}`)
  return answer
}

const wrongs = ({ json }: Answer): string[] =>
  json.errors.map(({ type, pointer }: { type: string; pointer: string }) => `${type} ${pointer}`)

doors('changing', office, (door) => {
  spec(
    'R113 R114',
    'PATCH changes only the given fields and answers 200 with the whole resource and its tag',
    async () => {
      const path = await desk(door, { note: 'x', tags: ['t'] })
      const before = await door.send('GET', path)
      const answer = await patch(door, path, { note: 'y' })
      assert.deepEqual(answer.json, { ...before.json, note: 'y', updatedAt: answer.json.updatedAt })
      assert.notEqual(answer.headers.etag, before.headers.etag)
      const read = await door.send('GET', path)
      assert.deepEqual([read.text, read.headers.etag], [answer.text, answer.headers.etag])
      await patch(door, path, { note: 'z' }, 200, { 'if-match': answer.headers.etag as string })
    },
  )

  spec('R113', 'PATCH never creates', async () => {
    for (const path of [missing, '/desks/foo', `${missing}/drawers/1`])
      for (const json of [{ name: 'A', currency: 'USD' }, {}, { nome: 1 }])
        assert.equal((await patch(door, path, json, 404)).json.type, 'resource-not-found')
    const there = await desk(door)
    await patch(door, `${there}/drawers/1`, {}, 404)
    assert.equal((await door.send('GET', missing)).status, 404)
  })

  spec('R113', 'a PATCH changes all its fields or none', async () => {
    const path = await desk(door)
    const before = await door.send('GET', path)
    const answer = await patch(door, path, { note: 'y', status: 'ancient', nome: 1 }, 400)
    assert.deepEqual(wrongs(answer), ['invalid-value /status', 'unknown-field /nome'])
    const after = await door.send('GET', path)
    assert.deepEqual([after.text, after.headers.etag], [before.text, before.headers.etag])
  })

  spec('R115', 'both media types have merge semantics; others are refused with the accepted ones', async () => {
    const path = await desk(door, { note: 'x' })
    for (const type of [
      'application/merge-patch+json',
      'application/json',
      'Application/Merge-Patch+JSON; charset=utf-8',
    ]) {
      const answer = await patch(door, path, { address: { city: 'Rome' }, note: null }, 200, { 'content-type': type })
      assert.deepEqual([answer.json.note, answer.json.address.city], [null, 'Rome'])
      await patch(door, path, { address: null })
    }
    for (const type of ['application/xml', 'application/json-patch+json', 'text/plain']) {
      const answer = await patch(door, path, {}, 415, { 'content-type': type })
      assert.equal(answer.headers['accept-patch'], 'application/merge-patch+json, application/json')
      assert.equal(answer.headers.accept, 'application/merge-patch+json, application/json')
      assert.equal(answer.json.type, 'unsupported-media-type')
    }
  })

  spec('R116', 'null clears an optional field and is refused for one that cannot be empty', async () => {
    const path = await desk(door, { note: 'x', extras: { a: '1' }, shifts: [], address: { city: 'Rome' } })
    const cleared = await patch(door, path, { note: null, extras: null, shifts: null, address: null })
    for (const name of ['note', 'extras', 'shifts', 'address']) assert.equal(cleared.json[name], null, name)
    for (const name of ['name', 'status', 'tags', 'metadata', 'price', 'currency'])
      assert.deepEqual(wrongs(await patch(door, path, { [name]: null }, 400)), [`field-required /${name}`])
    assert.equal((await patch(door, path, { tags: ['t'] })).json.note, null)
  })

  spec('R117', 'objects are merged member by member', async () => {
    const path = await desk(door, { address: { city: 'Rome', zip: '00100', geo: { lat: 1, lon: 2 } } })
    const address = async (json: unknown) => (await patch(door, path, { address: json })).json.address
    const rome = { city: 'Rome', zip: '00100', kind: 'home', geo: { lat: 1, lon: 2 } }
    assert.deepEqual(await address({ zip: '1' }), { ...rome, zip: '1' })
    assert.deepEqual(await address({ geo: { lat: 5 } }), { ...rome, zip: '1', geo: { lat: 5, lon: 2 } })
    assert.deepEqual(await address({ zip: null, geo: null }), { ...rome, zip: null, geo: null })
    assert.deepEqual(await address({}), { ...rome, zip: null, geo: null })
    for (const [json, wrong] of [
      [{ city: null }, 'field-required /address/city'],
      [{ kind: null }, 'field-required /address/kind'],
      [{ geo: { lat: 1 } }, 'field-required /address/geo/lon'],
      [{ planet: null }, 'unknown-field /address/planet'],
      ['Rome', 'invalid-type /address'],
      [[], 'invalid-type /address'],
    ] as const)
      assert.deepEqual(wrongs(await patch(door, path, { address: json }, 400)), [wrong])
    await patch(door, path, { address: null })
    assert.deepEqual(wrongs(await patch(door, path, { address: { zip: '1' } }, 400)), ['field-required /address/city'])
    assert.deepEqual(await address({ city: 'Oslo' }), { city: 'Oslo', zip: null, kind: 'home', geo: null })
  })

  spec('R117', 'lists and objects in them are replaced as a whole', async () => {
    const path = await desk(door, { tags: ['a', 'b'], shifts: [{ day: 1, room: 'B' }, { day: 2 }] })
    assert.deepEqual((await patch(door, path, { tags: ['c'] })).json.tags, ['c'])
    assert.deepEqual((await patch(door, path, { shifts: [{ day: 3 }] })).json.shifts, [{ day: 3, room: 'A' }])
    assert.deepEqual((await patch(door, path, { tags: [], shifts: [] })).json.tags, [])
    assert.deepEqual(wrongs(await patch(door, path, { tags: { 0: 'x' } }, 400)), ['invalid-type /tags'])
    assert.deepEqual(wrongs(await patch(door, path, { shifts: [{ room: 'X' }] }, 400)), [
      'field-required /shifts/0/day',
    ])
  })

  spec('R117', 'metadata is merged key by key, and null removes a key', async () => {
    const path = await desk(door, { metadata: { k: '1', l: '2' } })
    const metadata = async (json: object) => (await patch(door, path, { metadata: json })).json.metadata
    assert.deepEqual(await metadata({ k: null }), { l: '2' })
    assert.deepEqual(await metadata({ m: '3', l: '4' }), { l: '4', m: '3' })
    assert.deepEqual(await metadata({ gone: null }), { l: '4', m: '3' })
    assert.deepEqual(await metadata({ ['__proto__']: null, constructor: 'c' }), { l: '4', m: '3', constructor: 'c' })
    assert.deepEqual(wrongs(await patch(door, path, { metadata: { n: 1 } }, 400)), ['invalid-type /metadata/n'])
    assert.deepEqual((await patch(door, path, { extras: { a: '1', b: null } })).json.extras, { a: '1' })
    const full = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, 'v']))
    assert.deepEqual(wrongs(await patch(door, path, { metadata: full }, 400)), ['too-many-items /metadata'])
    await patch(door, path, { metadata: { l: null, m: null, constructor: null, ...full } })
  })

  spec('R117 R112', 'an empty patch, and one that repeats the stored values, change neither tag nor time', async () => {
    const path = await desk(door, { note: 'x', tags: ['t'], metadata: { a: '1', b: '2' }, price: '2.50', pin: '1' })
    const before = await door.send('GET', path)
    for (const json of [
      {},
      { note: 'x' },
      { tags: ['t'] },
      { metadata: {} },
      { metadata: { b: '2', a: '1', c: null } },
      { price: '2.5' },
      { currency: 'USD' },
      before.json,
    ]) {
      const answer = await patch(door, path, json)
      assert.deepEqual([answer.text, answer.headers.etag], [before.text, before.headers.etag], JSON.stringify(json))
    }
    for (const pin of ['1', '2']) // a write-only value always counts as a change: otherwise the tag would reveal the stored value
      assert.notEqual((await patch(door, path, { pin })).headers.etag, before.headers.etag)
  })

  spec('R117', 'missing content is refused, and so is content that is not an object', async () => {
    const path = await desk(door)
    for (const headers of [{}, { 'content-type': 'application/json' }] as Record<string, string>[]) {
      const answer = await door.send('PATCH', path, { headers })
      assert.deepEqual([answer.status, answer.json.type], [400, 'body-required'])
    }
    for (const body of ['[]', '"x"', 'null', '1']) {
      const answer = await door.send('PATCH', path, {
        body,
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      assert.deepEqual([answer.status, answer.json.cause.type], [400, 'invalid-type'], body)
    }
    assert.equal((await door.send('PATCH', missing, {})).status, 404)
  })

  spec('R119', 'a field declared immutable keeps its value; its present one is accepted', async () => {
    const path = await desk(door)
    const answer = await patch(door, path, { currency: 'EUR' }, 400)
    assert.deepEqual([answer.json.type, wrongs(answer)], ['validation-failed', ['immutable-field /currency']])
    assert.equal((await patch(door, path, { currency: 'USD', note: 'y' })).json.note, 'y')
    assert.deepEqual(wrongs(await patch(door, path, { note: 1, currency: 'EUR', tags: 'x' }, 400)), [
      'invalid-type /note',
      'immutable-field /currency',
      'invalid-type /tags',
    ])
    assert.deepEqual(wrongs(await patch(door, path, { currency: 'EURO' }, 400)), ['invalid-value /currency'])
  })

  spec('R48', 'managed fields are ignored in a PATCH; an id or key that differs from the URL is refused', async () => {
    const path = await desk(door)
    const before = await door.send('GET', path)
    const answer = await patch(door, path, { createdAt: 'x', updatedAt: null, rating: 9, _links: { self: '/' } })
    assert.equal(answer.text, before.text)
    assert.deepEqual(wrongs(await patch(door, path, { id: missing }, 400)), ['read-only-field /id'])
    assert.equal((await door.send('PUT', `${path}/drawers/5`, { json: {} })).status, 201)
    assert.deepEqual(wrongs(await patch(door, `${path}/drawers/5`, { number: 6, deskId: 'x', id: '6' }, 400)).sort(), [
      'read-only-field /deskId',
      'read-only-field /id',
      'read-only-field /number',
    ])
    await patch(door, `${path}/drawers/5`, { number: 5, deskId: before.json.id, id: '5', note: 'x' })
  })

  spec('R120', 'return=minimal gives 204 with the tag; other preferences change nothing', async () => {
    const path = await desk(door)
    let n = 0
    for (const prefer of [
      'return=minimal',
      'return="minimal"',
      'Return = minimal',
      'respond-async, return=minimal; x=1',
      'return=minimal, return=representation',
      'foo="a, return=representation", return=minimal',
    ]) {
      const answer = await patch(door, path, { note: `${++n}` }, 204, { prefer })
      assert.deepEqual(
        [answer.text, answer.headers['preference-applied'], answer.headers['content-type']],
        ['', 'return=minimal', undefined],
        prefer,
      )
      const read = await door.send('GET', path)
      assert.deepEqual([read.json.note, read.headers.etag], [`${n}`, answer.headers.etag])
    }
    for (const prefer of [
      'foo',
      'return=representation',
      'return',
      'return=representation, return=minimal',
      'foo; return=minimal',
      'foo="return=minimal"',
      'minimal',
      'no-return=minimal',
      '',
    ]) {
      const answer = await patch(door, path, { note: `${++n}` }, 200, { prefer })
      assert.deepEqual([answer.json.note, answer.headers['preference-applied']], [`${n}`, undefined], prefer)
    }
    assert.equal((await patch(door, path, {}, 204, { prefer: 'return=minimal' })).text, '')
    assert.equal(
      (await patch(door, path, { nome: 1 }, 400, { prefer: 'return=minimal' })).json.type,
      'validation-failed',
    )
  })

  spec('R136', 'PATCH on a deleted item answers 410, before violations in the body', async () => {
    const path = await desk(door)
    await door.send('DELETE', path)
    for (const json of [{}, { nome: 1 }])
      assert.equal((await patch(door, path, json, 410)).json.type, 'resource-deleted')
    assert.equal((await door.send('PATCH', path, {})).status, 410)
  })
})
