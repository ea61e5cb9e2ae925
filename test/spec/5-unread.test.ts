/** Part 5 of the contract, access: a caller who can change items but not read them sees none of them. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const desk = service({
  name: 'desk',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  scopes: { see: 'Read reports', edit: 'Set kinds' },
  settings: { idempotency: { methods: ['POST', 'PATCH'], mode: 'replay' } },
  resources: {
    reports: {
      prefix: 'rep',
      owner: 'accountId',
      fields: {
        text: f.text(),
        mark: f.integer({ default: 0 }),
        code: f.text({ immutable: true }),
        level: f.integer({ optional: true, immutable: true }),
        note: f.object({ a: f.text(), b: f.integer() }, { optional: true, immutable: true }),
        kind: f.enum(['x', 'y'], { default: 'x', write: 'edit' }),
      },
      access: { read: 'see', write: 'authenticated' },
    },
    lines: {
      prefix: 'lin',
      parent: 'reports',
      fields: { text: f.text() },
      access: { read: 'see', write: 'authenticated' },
    },
  },
}).change('v2', 'reports', {
  about: 'A body is a text, and a grade is told as a level.',
  renamed: { body: 'text', name: 'code' },
  removed: { grade: f.text({ optional: true }) },
  added: ['level'],
  request: ({ grade }) => ({ level: grade === null ? null : Number(grade) }),
  response: ({ level }) => ({ grade: level === null ? null : String(level) }),
})

doors(
  'writes by a caller who may not read',
  desk,
  (door) => {
    const send = (who: string, method: string, path: string, json?: object, headers = {}) =>
      door.send(method, path, { json, headers: { ...door.as(who), ...headers } })

    spec(
      'R168 R169',
      'is changed without being shown, by PATCH and PUT, in every version and by a repeat',
      async () => {
        const { id } = (await send('boss', 'POST', '/v2/reports', { text: 'secret', code: 'c-1' })).json
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
        const { json } = await send('boss', 'PATCH', `/v2/reports/${id}`, {})
        assert.deepEqual([json.text, json.code], ['other', 'c-1'])
      },
    )

    spec('R119 R169', 'refuses the current value of an immutable field like any other, without naming it', async () => {
      const note = { a: 'x', b: 1 }
      const { json } = await send('boss', 'POST', '/v2/reports', { text: 't', code: 'c-7', level: 7, note, kind: 'y' })
      const path = `/reports/${json.id}`
      const tried = async (method: string, where: string, body: object) => {
        const { status, text } = await send('ann', method, where, body)
        return [status, text.replaceAll(/"request_?[iI]d":"[^"]*"/g, '')]
      }
      const same = async (method: string, where: string, right: object, wrong: object, status: number) => {
        const [one, other] = [await tried(method, where, right), await tried(method, where, wrong)]
        assert.deepEqual(one, other, `${method} ${where} ${JSON.stringify(right)}`)
        assert.equal(one[0], status, `${method} ${where}: ${one[1]}`)
        assert.doesNotMatch(String(one[1]), /c-7|rep_|\b7\b/)
      }
      for (const method of ['PATCH', 'PUT']) {
        const whole = method === 'PUT'
        const [now, old] = whole ? [{ text: 'n' }, { body: 'n' }] : [{}, {}]
        await same(method, `/v2${path}`, { ...now, code: 'c-7' }, { ...now, code: 'c-8' }, 400)
        await same(method, `/v1${path}`, { ...old, name: 'c-7' }, { ...old, name: 'c-8' }, 400)
        await same(method, `/v2${path}`, { ...now, level: 7 }, { ...now, level: null }, 400)
        await same(method, `/v1${path}`, { ...old, grade: '7' }, { ...old, grade: null }, 400)
        await same(method, `/v2${path}`, { ...now, note }, { ...now, note: { a: 'x', b: 2 } }, 400)
        await same(method, `/v1${path}`, { ...old, note }, { ...old, note: null }, 400)
        await same(method, `/v2${path}`, { ...now, kind: 'y' }, { ...now, kind: 'x' }, 403)
        await same(method, `/v1${path}`, { ...old, kind: 'y' }, { ...old, kind: 'x' }, 403)
      }
      const { text: _, ...kept } = (await send('boss', 'GET', `/v2${path}`)).json
      for (const [version, body] of [
        ['v2', { text: 'p' }],
        ['v1', { body: 'p' }],
      ] as const)
        assert.equal((await send('ann', 'PUT', `/${version}${path}`, body)).status, 204)
      const now = (await send('boss', 'GET', `/v2${path}`)).json
      assert.deepEqual([now.text, now.code, now.level, now.note, now.kind], ['p', kept.code, 7, note, 'y'])
      assert.deepEqual((await send('boss', 'PATCH', `/v2${path}`, { code: 'c-7' })).status, 200)
      const line = await send('boss', 'POST', `/v2${path}/lines`, { text: 'l' })
      const at = `/v2/lines/${line.json.id}`
      await same('PATCH', at, { reportId: json.id }, { reportId: 'rep_00000000000000000000000000' }, 400)
    })

    spec('R112 R169', 'counts as a change with any value, so that the tag reveals nothing', async () => {
      const { id } = (await send('boss', 'POST', '/v2/reports', { text: 'guess', code: 'c' })).json
      for (const [method, version, body] of [
        ['PATCH', 'v2', { text: 'guess' }],
        ['PATCH', 'v1', { body: 'guess' }],
        ['PUT', 'v2', { text: 'guess' }],
        ['PUT', 'v1', { body: 'guess' }],
      ] as const) {
        const path = `/${version}/reports/${id}`
        const { etag } = (await send('boss', 'GET', path)).headers
        const answer = await send('ann', method, path, body)
        assert.equal(answer.status, 204)
        assert.notEqual((await send('boss', 'GET', path)).headers.etag, etag, `${method} ${path}`)
      }
    })

    spec('R97 R98', 'does not learn whether a colleague sent the same with a key, and repeats its own', async () => {
      const sent = { text: 'salary 7', code: 'k' }
      const key = { 'idempotency-key': 'of-a-colleague' }
      const first = await send('boss', 'POST', '/v2/reports', sent, key)
      const guess = async (json: object, path = '/v2/reports', method = 'POST') => {
        const { status, json: refusal } = await send('ann', method, path, json, key)
        return [status, refusal?.type]
      }
      const wrong = await guess({ ...sent, text: 'salary 8' })
      assert.deepEqual(await guess(sent), wrong)
      assert.deepEqual(await guess({ body: sent.text, name: 'k' }, '/v1/reports'), wrong)
      assert.equal(wrong[0], 422)
      const at = `/v2/reports/${first.json.id}`
      const change = { 'idempotency-key': 'change' }
      assert.equal((await send('boss', 'PATCH', at, { mark: 4 }, change)).status, 200)
      const again = await send('ann', 'PATCH', at, { mark: 4 }, change)
      assert.equal(again.status, (await send('ann', 'PATCH', at, { mark: 5 }, change)).status)
      const own = { 'idempotency-key': 'own' }
      const made = await send('ann', 'POST', '/v2/reports', sent, own)
      assert.equal(made.status, 201)
      const repeat = await send('ann', 'POST', '/v2/reports', sent, own)
      assert.deepEqual(
        [repeat.status, repeat.headers['idempotency-replayed'], repeat.json.id],
        [201, 'true', made.json.id],
      )
    })
  },
  { holders: { ann: { account: 'a', scopes: [] }, boss: { account: 'a', scopes: ['see', 'edit'] } } },
)
