/** Part 6 of the contract, events: callers see the events of what they may read, and nothing of others. R170, R213. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Door, doors, spec } from '../help/door.ts'

const ward = service({
  name: 'ward',
  events: true,
  scopes: { 'files:read': 'Read files', pii: 'See personal data' },
  settings: { events: { stream: true } },
  resources: {
    patients: {
      prefix: 'pat',
      owner: 'accountId',
      fields: {
        name: f.text(),
        ssn: f.text({ optional: true, read: 'pii' }),
        contact: f.object({ city: f.text() }, { optional: true, read: 'pii' }),
        pin: f.text({ optional: true, writeOnly: true }),
      },
      access: 'authenticated',
    },
    visits: {
      prefix: 'vis',
      parent: { resource: 'patients', onDelete: 'cascade' },
      fields: { text: f.text() },
      access: 'authenticated',
    },
    seats: {
      parent: { resource: 'patients', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.text({ max: 8 }) },
      access: 'authenticated',
    },
    tags: { key: 'name', owner: 'accountId', fields: { name: f.text({ max: 20 }) }, access: 'authenticated' },
    files: { prefix: 'fil', fields: { text: f.text() }, access: { read: 'files:read', write: 'authenticated' } },
    secrets: { prefix: 'sec', fields: { text: f.text() }, access: { read: 'pii', write: 'authenticated' } },
    quiets: { prefix: 'qui', fields: { text: f.text() }, access: 'authenticated', events: false },
  },
})

const all = ['files:read', 'pii']
const holders = {
  ann: { account: 'north', scopes: all },
  amy: { account: 'north', scopes: [] },
  sue: { account: 'south', scopes: all },
  nil: { account: null, scopes: all },
  non: { account: null, scopes: [] },
}
type Who = keyof typeof holders

interface Content {
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

doors(
  'events of others',
  ward,
  (door: Door) => {
    const send = (who: Who | null, method: string, path: string, json?: object) =>
      door.send(method, path, { ...(json && { json }), ...(who && { headers: door.as(who) }) })
    const events = async (who: Who, query = ''): Promise<Content[]> => {
      const { status, json, text } = await send(who, 'GET', `/events?limit=100&cursor=&${query}`)
      assert.equal(status, 200, text)
      return json.data
    }
    const types = async (who: Who, query = '') => (await events(who, query)).map(({ type }) => type)
    const made: Record<string, string> = {}

    before(async () => {
      for (const who of ['ann', 'sue'] as const) {
        const person = { name: who, ssn: `ssn of ${who}`, contact: { city: `city of ${who}` }, pin: `pin of ${who}` }
        const { json } = await send(who, 'POST', '/patients', person)
        made[who] = json.id
        const visit = await send(who, 'POST', `/patients/${json.id}/visits`, { text: `visit of ${who}` })
        assert.equal(visit.status, 201, visit.text)
        await send(who, 'POST', `/patients/${json.id}/seats`, { number: 'a1' })
        await send(who, 'POST', '/tags', { name: 'same' })
        await send(who, 'PATCH', `/patients/${json.id}`, { pin: `second pin of ${who}` })
        await send(who, 'POST', '/files', { text: `file of ${who}` })
        await send(who, 'POST', '/secrets', { text: `secret of ${who}` })
        await send(who, 'POST', '/quiets', { text: `quiet of ${who}` })
      }
      const gone = (await send('sue', 'POST', '/patients', { name: 'gone' })).json.id
      await send('sue', 'DELETE', `/patients/${gone}`)
      made.gone = gone
    })

    spec('R170', 'a caller sees the events of its account and of what its scopes allow', async () => {
      const own = ['patient.created', 'visit.created', 'seat.created', 'tag.created', 'patient.updated']
      const shared = ['file.created', 'secret.created']
      assert.deepEqual(await types('ann'), [...own, ...shared, ...shared])
      assert.deepEqual(await types('amy'), own)
      assert.deepEqual(await types('sue'), [...shared, ...own, ...shared, 'patient.created', 'patient.deleted'])
      assert.deepEqual(await types('nil'), [...shared, ...shared])
      for (const who of ['ann', 'amy'] as const) {
        const text = JSON.stringify(await events(who))
        for (const word of ['pin', 'ssn of sue', 'city of sue', 'visit of sue', 'quiet', made.sue, made.gone])
          assert.ok(!text.includes(word as string), `${who} sees ${word}`)
      }
    })

    spec('R170', 'fields that a caller may not read are left out of events', async () => {
      const shown = async (who: Who) => (await events(who)).find(({ type }) => type === 'patient.created')?.data
      assert.equal((await shown('ann'))?.ssn, 'ssn of ann')
      const masked = await shown('amy')
      const { _links, ...now } = (await send('amy', 'GET', `/patients/${made.ann}`)).json
      assert.deepEqual(Object.keys(masked as object), Object.keys(now))
      assert.ok(!JSON.stringify(await events('amy')).includes('of ann"}'), 'an object is masked as a whole')
      for (const word of ['ssn of', 'city of']) assert.ok(!JSON.stringify(await events('amy')).includes(word), word)
    })

    spec('R170', 'a single event is found by callers who may see it, and does not exist for others', async () => {
      const answers = async (who: Who, id: string) => (await send(who, 'GET', `/events/${id}`)).status
      const [first] = await events('ann')
      const shared = (await events('ann', 'type=file.created'))[0]
      assert.deepEqual((await send('ann', 'GET', `/events/${first?.id}`)).json, first)
      for (const who of ['sue', 'nil', 'non'] as const) assert.equal(await answers(who, String(first?.id)), 404, who)
      assert.equal(await answers('sue', String(shared?.id)), 200)
      for (const who of ['amy', 'non'] as const) assert.equal(await answers(who, String(shared?.id)), 404)
      const hidden = await send('sue', 'GET', `/events/${first?.id}`)
      const absent = await send('sue', 'GET', `/events/evt_${'0'.repeat(26)}`)
      assert.equal(hidden.status, absent.status)
      const plain = ({ text }: { text: string }) => text.replace(/evt_\w+/g, 'evt').replace(/"requestId":"[^"]*"/, '')
      assert.equal(plain(hidden), plain(absent))
      assert.equal((await send(null, 'GET', `/events/${first?.id}`)).status, 401)
      assert.equal((await send(null, 'GET', '/events')).status, 401)
    })

    spec('R170', 'filters find no events of others, and reveal nothing about hidden resources', async () => {
      assert.deepEqual(await types('amy', `item=${made.sue}`), [])
      assert.deepEqual(await types('amy', 'item=same'), ['tag.created'])
      for (const query of ['resource=in:()', 'type=in:()']) assert.deepEqual(await types('amy', query), [], query)
      assert.equal((await events('amy', 'item=same')).length, 1)
      assert.deepEqual(await types('amy', 'type=in:(patient.created,file.created)'), ['patient.created'])
      for (const query of ['resource=files', 'type=secret.created', 'resource=in:(files,secrets)']) {
        const { status, json } = await send('amy', 'GET', `/events?${query}`)
        assert.equal(status, 403, query)
        assert.equal(json.type, 'insufficient-scope')
      }
      assert.equal((await send('amy', 'GET', '/events?resource=quiets')).status, 400)
      assert.equal((await send('non', 'GET', '/events')).status, 403)
    })

    spec('R170', 'cursors show nothing of the events of others', async () => {
      const next = (await send('amy', 'GET', '/events?limit=2&cursor=')).json.pagination.nextCursor
      const { status, json } = await send('sue', 'GET', `/events?limit=100&cursor=${next}`)
      assert.equal(status, 200)
      assert.ok(!JSON.stringify(json).includes('visit of ann'))
      assert.ok(!/,"\d+"\]/.test(Buffer.from(next, 'base64url').toString('latin1')), 'a cursor counts all events')
    })
  },
  { holders },
)

test('R121 R170: the tag of a page of events is the same until an event follows, also one that its reader may not see', async (t) => {
  const { call, close } = testing(
    service({
      name: 'shop',
      events: true,
      scopes: { use: 'Use' },
      resources: { orders: { prefix: 'ord', owner: 'account', fields: { note: f.text() }, access: 'use' } },
    }),
  )
  t.after(close)
  const as = (account: string) => ({ account, scopes: ['use'] })
  const write = (account: string) => call('/orders', { method: 'POST', as: as(account), json: { note: 'a' } })
  const read = async (tag = '"none"') => {
    const answer = await call('/events', { as: as('ann'), headers: { 'If-None-Match': tag } })
    const { data, pagination } = JSON.parse((await answer.text()) || '{"data":[],"pagination":{}}')
    return {
      status: answer.status,
      tag: answer.headers.get('etag') ?? '',
      events: data.length,
      next: pagination.nextCursor,
    }
  }
  await write('ann')
  const first = await read()
  assert.equal((await read(first.tag)).status, 304)
  await write('bob')
  const second = await read(first.tag)
  assert.deepEqual([second.status, second.events], [200, 1])
  assert.notEqual(second.next, first.next)
  assert.equal((await read(second.tag)).status, 304)
})

test('R173: without a resource that a caller may read, events are refused with its scopes', async (t) => {
  const { call, close } = testing(
    service({
      name: 'files',
      events: true,
      scopes: { 'files:read': 'Read files' },
      resources: {
        files: { prefix: 'fil', fields: { text: f.text() }, access: { read: 'files:read', write: 'authenticated' } },
      },
    }),
  )
  t.after(close)
  const status = async (scopes: string[]) => (await call('/events', { as: { scopes } })).status
  assert.equal(await status([]), 403)
  assert.equal(await status(['files:read']), 200)
})
