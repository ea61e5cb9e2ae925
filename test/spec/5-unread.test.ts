/** Part 5 of the contract, access: a caller who may change items and not read them is shown none of them. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const desk = service({
  name: 'desk',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  scopes: { see: 'Read reports' },
  settings: { idempotency: { methods: ['POST', 'PATCH'], mode: 'replay' } },
  resources: {
    reports: {
      prefix: 'rep',
      fields: { text: f.text(), mark: f.integer({ default: 0 }) },
      access: { read: 'see', write: 'authenticated' },
    },
  },
}).change('v2', 'reports', { about: 'A body is a text.', renamed: { body: 'text' } })

doors(
  'what is changed by a caller who may not read it',
  desk,
  (door) => {
    const send = (who: string, method: string, path: string, json?: object, headers = {}) =>
      door.send(method, path, { json, headers: { ...door.as(who), ...headers } })

    spec(
      'R168 R169',
      'is changed without being shown, by PATCH and PUT, in every version and by a repeat',
      async () => {
        const { id } = (await send('boss', 'POST', '/v2/reports', { text: 'secret' })).json
        const ways: [method: string, path: string, json: object, headers?: object][] = [
          ['PATCH', `/v2/reports/${id}`, {}],
          ['PATCH', `/v1/reports/${id}`, {}],
          ['PATCH', `/v2/reports/${id}`, { mark: 1 }, { 'idempotency-key': 'k' }],
          ['PATCH', `/v2/reports/${id}`, { mark: 1 }, { 'idempotency-key': 'k' }],
          ['PUT', `/v2/reports/${id}`, { text: 'other' }],
          ['PUT', `/v1/reports/${id}`, { body: 'other' }],
        ]
        for (const [method, path, json, headers] of ways) {
          const answer = await send('ann', method, path, json, headers)
          assert.deepEqual([answer.status, answer.text], [204, ''], `${method} ${path}: ${answer.text}`)
          assert.equal((await send('ann', 'GET', path)).status, 403)
        }
        assert.equal((await send('boss', 'PATCH', `/v2/reports/${id}`, {})).json.text, 'other')
      },
    )
  },
  { holders: { ann: { scopes: [] }, boss: { scopes: ['see'] } } },
)
