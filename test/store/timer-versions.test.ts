/** Transitions by the clock that set their time, in services with older versions, on both stores. R223, R224. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'

const api = service({
  name: 'shop',
  events: true,
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
  settings: { versions: { carriers: ['path'] } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text(), remindAt: f.timestamp({ optional: true }), endsAt: f.timestamp({ optional: true }) },
      states: {
        field: 'status',
        initial: 'open',
        transitions: {
          reminders: { from: ['open'], to: 'open', at: 'remindAt', set: { remindAt: null } },
          endings: { from: ['open'], to: 'ended', at: 'endsAt' },
        },
      },
      access: 'public',
    },
  },
}).change('v2', 'orders', {
  about: '`note` was called `text`, `remindAt` was `askAt`, and orders do not end.',
  renamed: { text: 'note', askAt: 'remindAt' },
  shown: { status: { ended: 'open' } },
})

for (const [name, place] of places)
  test(`R223 R224: an older version has transitions that take place again, as the newest sets their time, on ${name}`, async (t) => {
    const { call, pass, close } = testing(api, { database: (await place(t)).url })
    t.after(close)
    // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
    const send = async (method: string, path: string, json?: object): Promise<any> => {
      const answer = await call(path, { method, ...(json && { json }) })
      assert.ok(answer.ok, await answer.clone().text())
      return answer.json()
    }
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
    const { id } = await send('POST', '/v1/orders', { text: 'a', askAt: inHours(1), endsAt: inHours(5) })
    await pass('PT2H')
    const reminded = await send('GET', `/v1/orders/${id}`)
    assert.deepEqual([reminded.askAt, reminded.status], [null, 'open'])
    await send('PATCH', `/v1/orders/${id}`, { askAt: inHours(3) })
    await pass('PT2H')
    assert.equal((await send('GET', `/v2/orders/${id}`)).remindAt, null)
    await pass('PT2H')
    const ended = await Promise.all(['v1', 'v2'].map((version) => send('GET', `/${version}/orders/${id}`)))
    assert.deepEqual(
      ended.map(({ status }) => status),
      ['open', 'ended'],
    )
    const { data } = await send('GET', `/v2/events?item=${id}`)
    assert.deepEqual(
      data.map(({ type }: { readonly type: string }) => type),
      ['order.created', 'order.open', 'order.updated', 'order.open', 'order.ended'],
    )
  })

const lapsing = service({
  name: 'shop',
  events: true,
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-03-01' }, v3: { released: '2025-06-01' } },
  settings: { versions: { carriers: ['path'] } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text() },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { expiries: { from: ['draft'], to: 'expired', after: 'PT1H' } },
      },
      history: { read: 'public' },
      access: 'public',
    },
  },
})
  .change('v3', 'orders', {
    about: '`lapses` are called expiries, and `lapsed` orders expired.',
    mapped: { status: { lapsed: 'expired' } },
    transitions: { renamed: { lapses: 'expiries' } },
  })
  .change('v2', 'orders', {
    about: '`endings` are called lapses, and `ended` orders lapsed.',
    mapped: { status: { ended: 'lapsed' } },
    transitions: { renamed: { endings: 'lapses' } },
  })

for (const [name, place] of places)
  test(`R224 R205: events and revisions of a transition by the clock have the state of the version, on ${name}`, async (t) => {
    const { call, pass, close } = testing(lapsing, { database: (await place(t)).url })
    t.after(close)
    const made = await call('/v3/orders', { method: 'POST', json: { note: 'a' } })
    const { id } = (await made.json()) as { readonly id: string }
    await pass('PT2H')
    for (const [version, state] of Object.entries({ v1: 'ended', v2: 'lapsed', v3: 'expired' })) {
      const typesOf = async (path: string): Promise<readonly string[]> => {
        const answer = await call(`/${version}${path}`)
        assert.equal(answer.status, 200, await answer.clone().text())
        return ((await answer.json()) as { readonly data: readonly { readonly type: string }[] }).data.map(
          ({ type }) => type,
        )
      }
      assert.deepEqual(await typesOf('/events'), ['order.created', `order.${state}`])
      assert.deepEqual(await typesOf(`/events?type=order.${state}`), [`order.${state}`])
      assert.deepEqual(await typesOf(`/orders/${id}/revisions`), [state, 'created'])
    }
  })
