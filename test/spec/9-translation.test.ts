import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import history from '../help/history.ts'

const ids = (answer: Answer): string[] => answer.json.data.map(({ id }: { id: string }) => id)

async function made(door: Door, path: string, json: object): Promise<Record<string, string>> {
  const answer = await door.send('POST', path, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}

doors('one state, four versions', history, (door) => {
  let account: Record<string, string>
  let ann: Record<string, string>
  let bob: Record<string, string>
  before(async () => {
    account = await made(door, '/v4/accounts', { country: 'IT' })
    const other = await made(door, '/v4/accounts', { country: 'FR' })
    ann = await made(door, '/v4/customers', {
      name: 'Ann Lee Jones',
      email: 'ann@example.com',
      accountId: account.id,
      score: 5,
      note: 'kept',
      metadata: { a: '1' },
    })
    bob = await made(door, '/v1/clients', {
      firstName: 'Bob',
      lastName: 'Ray',
      mail: 'bob@example.com',
      status: 'shut',
      accountId: other.id,
      score: 9,
      country: 'FR',
    })
  })

  spec('R83', 'a cursor works while the newest version changes rows, and belongs to its version', async () => {
    const first = await door.send('GET', '/v1/clients?limit=1&cursor=&sort=mail')
    const cursor = first.json.pagination.nextCursor as string
    assert.deepEqual(ids(first), [ann.id])
    await door.send('PATCH', `/v4/customers/${bob.id}`, { json: { name: 'Bob Ray Jr', status: 'paused' } })
    const next = await door.send('GET', `/v1/clients?limit=1&cursor=${cursor}&sort=mail`)
    assert.deepEqual([next.json.data[0].lastName, next.json.data[0].status], ['Ray Jr', 'open'])
    const byQuery = await door.send('GET', `/clients?version=v1&limit=1&cursor=${cursor}&sort=mail`)
    assert.equal(byQuery.json.data[0].id, bob.id)
    const one = await door.send('GET', '/v3/customers?limit=1&cursor=&sort=email')
    const other = await door.send('GET', `/v4/customers?limit=1&cursor=${one.json.pagination.nextCursor}&sort=email`)
    assert.deepEqual([other.status, other.json.errors[0].type], [400, 'cursor-mismatch'])
    await door.send('PATCH', `/v4/customers/${bob.id}`, { json: { name: 'Bob Ray', status: 'closed' } })
  })

  spec('R196', 'a write of an old version loses nothing that it does not know', async () => {
    await door.send('PATCH', `/v4/customers/${ann.id}`, { json: { name: 'Ann  Lee Jones' } })
    const changed = await door.send('PATCH', `/v1/clients/${ann.id}`, { json: { mail: 'lee@example.com' } })
    assert.deepEqual([changed.status, changed.json.mail], [200, 'lee@example.com'])
    const now = await door.send('GET', `/v4/customers/${ann.id}`)
    assert.deepEqual([now.json.name, now.json.note, now.json.metadata], ['Ann  Lee Jones', 'kept', { a: '1' }])
    const { id, createdAt, updatedAt, ...all } = changed.json
    const replaced = await door.send('PUT', `/v1/clients/${ann.id}`, {
      json: { ...all, lastName: 'Ray', metadata: { b: '2' } },
    })
    assert.deepEqual([replaced.status, replaced.json.lastName, replaced.json.metadata], [200, 'Ray', { b: '2' }])
    const after = await door.send('GET', `/v4/customers/${ann.id}`)
    assert.deepEqual([after.json.name, after.json.note, after.json.metadata], ['Ann Ray', 'kept', { b: '2' }])
    await door.send('PATCH', `/v4/customers/${ann.id}`, { json: { name: 'Ann Lee Jones', email: 'ann@example.com' } })
  })

  spec('R196', 'a paused customer stays paused until an old version changes it', async () => {
    await door.send('PATCH', `/v4/customers/${ann.id}`, { json: { status: 'paused' } })
    const { json } = await door.send('PATCH', `/v1/clients/${ann.id}`, { json: { status: 'open', score: 6 } })
    assert.deepEqual([json.status, json.score], ['open', 6])
    assert.equal((await door.send('GET', `/v4/customers/${ann.id}`)).json.status, 'paused')
    await door.send('PATCH', `/v1/clients/${ann.id}`, { json: { status: 'shut' } })
    assert.equal((await door.send('GET', `/v4/customers/${ann.id}`)).json.status, 'closed')
    await door.send('PATCH', `/v1/clients/${ann.id}`, { json: { status: 'open', score: 5 } })
    assert.equal((await door.send('GET', `/v4/customers/${ann.id}`)).json.status, 'active')
  })

  spec('R121 R196', 'a field that another row has is read from it, written to it, and a part of the tag', async () => {
    const read = () => door.send('GET', `/v3/customers/${ann.id}`)
    const first = await read()
    await door.send('PATCH', `/v4/accounts/${account.id}`, { json: { country: 'DE' } })
    const second = await read()
    assert.equal(second.json.country, 'DE')
    assert.notEqual(second.headers.etag, first.headers.etag)
    const listed = await door.send('GET', '/v3/customers?country=DE')
    assert.deepEqual(ids(listed), [ann.id])
    const late = { json: { country: 'IT' }, headers: { 'if-match': first.headers.etag as string } }
    const lost = await door.send('PATCH', `/v3/customers/${ann.id}`, late)
    assert.deepEqual([lost.status, lost.headers.etag], [412, second.headers.etag])
    const written = await door.send('PATCH', `/v3/customers/${ann.id}`, {
      json: { country: 'IT' },
      headers: { 'if-match': second.headers.etag as string },
    })
    assert.deepEqual([written.status, written.json.country], [200, 'IT'])
    assert.equal((await door.send('GET', `/v4/accounts/${account.id}`)).json.country, 'IT')
    const unchanged = await door.send('GET', '/v3/customers?country=DE', {
      headers: { 'if-none-match': listed.headers.etag as string },
    })
    assert.deepEqual([unchanged.status, unchanged.json.data], [200, []])
    const wrong = await door.send('PATCH', `/v3/customers/${ann.id}`, { json: { country: 'XX' } })
    assert.deepEqual([wrong.status, wrong.json.errors[0].pointer], [400, '/country'])
    const { etag } = (await door.send('GET', `/v3/customers/${ann.id}`)).headers
    for (const [method, json] of [
      ['PATCH', { country: 'IT' }],
      ['PATCH', { country: 'XX' }],
      ['DELETE', undefined],
    ] as const) {
      const headers = { 'if-match': '"zz-3-abcdef"' }
      const stale = await door.send(method, `/v3/customers/${ann.id}`, json ? { json, headers } : { headers })
      assert.deepEqual([stale.status, stale.headers.etag], [412, etag], method)
    }
  })

  spec('R122 R196', 'a condition applies to the state of its own version only', async () => {
    const { headers } = await door.send('GET', `/v1/clients/${ann.id}`)
    const json = { metadata: { c: '3' } }
    const foreign = await door.send('PATCH', `/v4/customers/${ann.id}`, {
      json,
      headers: { 'if-match': headers.etag as string },
    })
    assert.equal(foreign.status, 412)
    const own = await door.send('PATCH', `/v1/clients/${ann.id}`, {
      json,
      headers: { 'if-match': headers.etag as string },
    })
    assert.equal(own.status, 200)
  })

  spec('R155 R196', 'violations are reported in the names of the version', async () => {
    const post = (json: object) => door.send('POST', '/v1/clients', { json })
    const given = { firstName: 'Eve', mail: 'eve@example.com', accountId: account.id, country: 'IT' }
    const taken = await post({ ...given, mail: 'ann@example.com' })
    assert.deepEqual([taken.status, taken.json.errors[0].pointer], [409, '/mail'])
    assert.match(taken.json.message, /this mail already/)
    const pointers = async (json: object) => {
      const answer = await post(json)
      assert.equal(answer.status, 400)
      return answer.json.errors.map(({ type, pointer }: Record<string, string>) => `${type} ${pointer}`)
    }
    assert.deepEqual(await pointers({ ...given, status: 'active', name: 'Eve' }), [
      'invalid-value /status',
      'unknown-field /name',
    ])
    assert.deepEqual(await pointers({ ...given, mail: 5 }), ['invalid-type /mail'])
    assert.deepEqual(
      await pointers({}),
      ['/firstName', '/mail', '/accountId', '/country'].map((at) => `field-required ${at}`),
    )
    assert.deepEqual(await pointers({ ...given, accountId: 'acc_01h455vb4pex5vsknk084sn02q' }), [
      'invalid-value /accountId',
    ])
    const long = 'x'.repeat(100)
    assert.deepEqual(await pointers({ ...given, firstName: `${long}`, lastName: `${long} y` }), ['too-long /lastName'])
  })

  spec('R96 R100 R196', 'a key that was used in one version is used in all of them', async () => {
    const key = { 'idempotency-key': 'key-of-all' }
    const json = { firstName: 'Kim', mail: 'kim@example.com', accountId: account.id, country: 'IT' }
    const first = await door.send('POST', '/v1/clients', { json, headers: key })
    assert.equal(first.status, 201)
    const again = await door.send('POST', '/v1/clients', { json, headers: key })
    assert.deepEqual([again.status, again.json.old_id], [409, first.json.id])
    assert.match(again.headers.link ?? '', new RegExp(`^</v1/clients/${first.json.id}>; rel="related"`))
    const other = await door.send('POST', '/customers?version=v4', {
      json: { name: 'Kim', email: 'kim@example.com', accountId: account.id },
      headers: key,
    })
    assert.deepEqual([other.status, other.json.old_id], [409, first.json.id])
    assert.match(other.headers.link ?? '', new RegExp(`^</customers/${first.json.id}\\?version=v4>; rel="related"`))
    assert.equal((await door.send('DELETE', `/v3/customers/${first.json.id}`)).status, 204)
    assert.equal((await door.send('GET', `/v1/clients/${first.json.id}`)).status, 410)
  })

  spec('R4 R194', 'children have the parent under the name that it had', async () => {
    const visit = await door.send('POST', `/v1/clients/${ann.id}/visits`, { json: { on: '2026-02-03' } })
    assert.deepEqual([visit.status, visit.json.clientId, visit.json.customerId], [201, ann.id, undefined])
    const [old, now] = await Promise.all([
      door.send('GET', `/v1/visits?clientId=${ann.id}`),
      door.send('GET', `/v2/customers/${ann.id}/visits?on[gte]=2026-01-01`),
    ])
    assert.deepEqual([ids(old), now.json.data[0].customerId], [[visit.json.id], ann.id])
    assert.equal((await door.send('DELETE', `/v4/customers/${ann.id}`)).json.type, 'has-dependents')
    assert.match((await door.send('GET', '/v1/clients/cus_x/visits')).json.message, /^Client /)
  })
})

/** The parts of a name can be too long together. */
const halves = service({
  name: 'halves',
  versions: { v1: { released: '2025-01-15' }, v2: { released: '2026-01-15' } },
  resources: {
    people: { plural: true, prefix: 'per', fields: { name: f.text({ max: 9 }) }, access: 'public' },
    seats: {
      parent: 'people',
      key: 'number',
      fields: { number: f.text({ pattern: '^[0-9]{1,4}$' }), row: f.integer() },
      access: 'public',
    },
  },
})
  .change('v2', 'seats', { about: '`place` is called `number`.', renamed: { place: 'number' } })
  .change('v2', 'people', {
    about: '`name` replaces `first` and `last`.',
    removed: { first: f.text({ max: 8 }), last: f.text({ max: 8 }) },
    added: ['name'],
    request: ({ first, last }) => ({ name: `${first} ${last}` }),
    response: ({ name }) => ({ first: name.split(' ')[0] ?? '', last: name.split(' ')[1] ?? '' }),
  })

doors('fields that are computed from others', halves, (door) => {
  spec('R155 R196', 'a violation of a computed field names all its sources', async () => {
    const { status, json } = await door.send('POST', '/v1/people', { json: { first: 'Angelina', last: 'Moe' } })
    const named = json.errors.map(({ type, pointer }: Record<string, string>) => `${type} ${pointer}`)
    assert.deepEqual([status, ...named], [400, 'too-long /first', 'too-long /last'])
  })

  spec('R110 R196', 'an item created by PUT has its key from the URL, under any name', async () => {
    const { id } = await made(door, '/v1/people', { first: 'Ann', last: 'Lee' })
    for (const row of [1, 2]) {
      const put = await door.send('PUT', `/v1/people/${id}/seats/12`, { json: { row } })
      assert.deepEqual([put.status, put.json.place, put.json.row], [row === 1 ? 201 : 200, '12', row])
    }
    const wrong = await door.send('PUT', `/v1/people/${id}/seats/13`, { json: { row: 1, place: '12' } })
    assert.deepEqual([wrong.status, wrong.json.errors[0].pointer], [400, '/place'])
    assert.equal((await door.send('GET', `/v2/people/${id}/seats/12`)).json.number, '12')
  })
})
