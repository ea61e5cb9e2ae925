/** Operations of a batch are refused for the reason for which each would be refused alone. R229, R1, R99, R117. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'

const api = service({
  name: 'school',
  settings: { batches: 4 },
  resources: {
    courses: {
      prefix: 'cou',
      fields: { title: f.text({ max: 100 }) },
      states: { field: 'status', initial: 'open', transitions: { closures: { from: ['open'], to: 'closed' } } },
      operations: { reviews: { at: 'item', input: { mark: f.integer() }, output: { mark: f.integer() } } },
      access: 'public',
    },
    notes: { prefix: 'nte', parent: 'courses', fields: { text: f.text() }, access: 'public' },
  },
}).handlers({ courses: { reviews: ({ input }) => ({ mark: input.mark }) } })

type Case = readonly [
  method: string,
  path: string,
  body?: object | undefined,
  headers?: Readonly<Record<string, string>>,
]

for (const [name, place] of places)
  describe(`the order of refusals in a batch on ${name}`, () => {
    test('R229 R1 R99: an operation gets the status and the type that it has alone', async (t) => {
      const { call, close } = testing(api, { database: (await place(t)).url })
      t.after(close)
      const send = async (
        method: string,
        path: string,
        json?: object,
        headers: Readonly<Record<string, string>> = {},
      ) => {
        const answer = await call(path, { method, headers, ...(json && { json }) })
        const text = await answer.text()
        // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
        return { status: answer.status, json: (text === '' ? null : JSON.parse(text)) as any }
      }
      const make = async (title: string, headers = {}) =>
        `/courses/${(await send('POST', '/courses', { title }, headers)).json.id}`
      const [here, deleted] = [await make('A'), await make('B')]
      await make('C', { 'idempotency-key': 'used' })
      await send('DELETE', deleted)
      const missing = '/courses/cou_00000000000000000000000009'
      const used = { 'idempotency-key': 'used' }
      const stale = { 'if-match': '"stale"' }
      const cases: readonly Case[] = [
        ['POST', `${missing}/notes`, { text: 5 }],
        ['POST', `${deleted}/notes`, { text: 5 }],
        ['POST', `${deleted}/notes`],
        ['POST', `${here}/notes`, { text: 5 }],
        ['POST', '/courses', { title: 5 }, used],
        ['POST', '/courses', { title: 'other' }, used],
        ['POST', '/courses', {}, { 'if-none-match': '*' }],
        ['POST', '/courses', { title: 5, idempotencyKey: 'new' }, { 'idempotency-key': 'other' }],
        ['POST', '/courses'],
        ['PATCH', here],
        ['PATCH', missing],
        ['PATCH', deleted],
        ['PATCH', here, undefined, stale],
        ['PATCH', here, { title: 5 }, stale],
        ['PATCH', here, { title: 5 }, { 'if-match': 'no tag' }],
        ['PUT', here],
        ['PUT', here, undefined, stale],
        ['PUT', '/courses/cou_1', { title: 5 }],
        ['POST', `${here}/reviews`],
        ['POST', `${missing}/reviews`, { mark: 'x' }],
        ['POST', `${missing}/closures`, { x: 1 }],
        ['POST', `${here}/closures`, { x: 1 }, stale],
      ]
      for (const [method, path, body, headers] of cases) {
        const alone = await send(method, path, body, headers)
        const operations = [
          { method: 'POST', path: '/courses', body: { title: 'before' } },
          { method, path, body, headers },
        ]
        const batch = await send('POST', '/batches', { operations })
        const about = JSON.stringify([method, path, body, headers])
        assert.ok(alone.status >= 400, about)
        assert.deepEqual([batch.status, batch.json.type], [alone.status, alone.json.type], about)
        assert.match(batch.json.errors[0].pointer, /^\/operations\/1/, about)
      }
      const closed = await send('POST', '/batches', { operations: [{ method: 'POST', path: `${here}/closures` }] })
      assert.equal(closed.status, 200, 'an operation that needs no content')
      const titles = (await send('GET', '/courses')).json.data.map((one: { title: string }) => one.title)
      assert.deepEqual(titles, ['A', 'C'], 'nothing was changed')
    })
  })
