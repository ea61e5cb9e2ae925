/** A caller that acts for several accounts, as the holder of a token for each: what it did for one is unknown in another. R100, R170. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caller, f, type Service, service } from 'bylaw'
import { type As, testing } from 'bylaw/testing'
import { places } from '../help/places.ts'

const own = [{ scope: 'all' }, { where: { assigneeId: caller } }] as const
const rules = { 'rules for each item': { read: own, write: own }, 'one rule for all items': 'authenticated' } as const

const desk = (access: (typeof rules)[keyof typeof rules], mode: 'conflict' | 'replay'): Service =>
  service({
    name: 'desk',
    scopes: { all: 'All tasks' },
    resources: {
      tasks: {
        prefix: 'tsk',
        owner: 'accountId',
        fields: { assigneeId: f.text({ default: 'ann', max: 20 }), note: f.text({ default: '' }) },
        states: { field: 'status', initial: 'open', transitions: { closings: { from: ['open'], to: 'closed' } } },
        imports: true,
        access,
      },
    },
    settings: { batches: 5, idempotency: { mode } },
  })

const inNorth: As = { id: 'ann', account: 'north' }
const inSouth: As = { id: 'ann', account: 'south' }

for (const [store, placeOf] of places)
  for (const mode of ['conflict', 'replay'] as const)
    for (const [name, access] of Object.entries(rules))
      test(`R100 R170: a key of a caller is free in its other account: ${name}, ${mode} (${store})`, async (t) => {
        const { url } = await placeOf(t)
        const { call, close } = testing(desk(access, mode), { database: url })
        t.after(close)
        const send = async (as: As, path: string, body: string, type = 'application/json') => {
          const headers = { 'content-type': type, 'idempotency-key': path.replaceAll('/', '-') }
          const answer = await call(path, { method: 'POST', as, body, headers })
          const text = await answer.text()
          return {
            status: answer.status,
            json: JSON.parse(text),
            isReplayed: answer.headers.has('idempotency-replayed'),
          }
        }
        const batch = JSON.stringify({ operations: [{ method: 'POST', path: '/tasks', body: {} }] })
        const first = await send(inNorth, '/tasks', '{"note":"of north"}')
        const id = String(first.json.id)
        const requests: readonly (readonly [path: string, body: string, type?: string])[] = [
          ['/tasks', '{"note":"of north"}'],
          ['/batches', batch],
          ['/tasks/imports', '{}', 'application/x-ndjson'],
        ]
        for (const request of requests.slice(1)) assert.equal((await send(inNorth, ...request)).status, 200)
        assert.equal((await send(inNorth, `/tasks/${id}/closings`, '{}')).json.status, 'closed')
        for (const request of requests) {
          const { status, json, isReplayed } = await send(inSouth, ...request)
          assert.ok(status < 300 && !isReplayed, `${request[0]} ${status} ${JSON.stringify(json)}`)
          assert.ok(!JSON.stringify(json).includes(id), request[0])
        }
        assert.equal((await send(inSouth, `/tasks/${id}/closings`, '{}')).status, 404)
        assert.equal((await send(inNorth, `/tasks/${id}/closings`, '{}')).isReplayed, true)
      })

const joined = service({
  name: 'office',
  settings: { idempotency: { scope: 'caller' } },
  resources: {
    rooms: { owner: 'officeId', fields: {}, access: 'authenticated' },
    desks: { owner: 'officeId', fields: {}, access: 'authenticated' },
    notes: {
      owner: 'officeId',
      fields: { who: f.text() },
      access: { read: [{ where: { who: caller } }], write: [{ where: { who: caller } }] },
    },
    drafts: {
      owner: 'officeId',
      fields: { who: f.text() },
      access: { read: [{ where: { who: caller } }], write: [{ where: { who: caller } }] },
    },
    ideas: { fields: {}, access: 'public' },
    hints: { fields: {}, access: 'public' },
  },
})

for (const [store, placeOf] of places)
  test(`R100: with the scope \`caller\`, collections whose keys belong to the same share one space (${store})`, async (t) => {
    const { url } = await placeOf(t)
    const { call, close } = testing(joined, { database: url })
    t.after(close)
    const post = async (id: string, resource: string) => {
      const json = ['notes', 'drafts'].includes(resource) ? { who: id } : {}
      const headers = { 'idempotency-key': 'one' }
      const as = { id, account: 'north' }
      return (await call(`/${resource}`, { method: 'POST', as, json, headers })).status
    }
    // Of the account, of the caller in its account, and of all callers.
    for (const [first, second] of [
      ['rooms', 'desks'],
      ['notes', 'drafts'],
      ['ideas', 'hints'],
    ] as const) {
      assert.equal(await post('ann', first), 201, first)
      assert.deepEqual([await post('ann', second), await post('ann', first)], [409, 409], second)
    }
    const ofBob = await Promise.all(['rooms', 'desks', 'ideas', 'hints'].map((one) => post('bob', one)))
    assert.deepEqual(ofBob, [409, 409, 409, 409])
    assert.deepEqual([await post('bob', 'drafts'), await post('bob', 'notes')], [201, 409])
  })
