/** Write-only fields: no answer reveals their values. Part 5, authentication. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, doors, spec } from '../help/door.ts'

/** Write-only fields of several kinds: some need a scope, some are immutable. */
const vault = service({
  name: 'vault',
  scopes: { edit: 'Change boxes', pin: 'Set secrets', pii: 'See personal data' },
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  resources: {
    boxes: {
      prefix: 'box',
      fields: {
        name: f.text({ max: 40 }),
        pin: f.text({ writeOnly: true, optional: true, write: 'pin' }),
        level: f.integer({ writeOnly: true, optional: true, write: 'pin' }),
        codes: f.list(f.text(), { writeOnly: true, write: 'pin' }),
        owner: f.object({ city: f.text() }, { writeOnly: true, optional: true, write: 'pin' }),
        seed: f.text({ writeOnly: true, optional: true, immutable: true }),
        batch: f.integer({ writeOnly: true, optional: true, immutable: true }),
        ssn: f.text({ optional: true, read: 'pii' }),
      },
      access: { read: 'public', write: 'edit' },
    },
  },
})
  .change('v2', 'boxes', {
    about: '`code` was called so before it was a `pin`, and `grade` and `stamp` were told of what is a secret now.',
    renamed: { code: 'pin', root: 'seed' },
    removed: { grade: f.integer({ optional: true }), stamp: f.integer({ optional: true }) },
    added: ['level', 'batch'],
    request: ({ grade, stamp }) => ({ level: grade, batch: stamp }),
    response: ({ level, batch }) => ({ grade: level, stamp: batch }),
  })
  .change('v2', 'boxes', {
    about: '`tail` was the end of the number.',
    removed: { tail: f.text({ optional: true, read: 'pii' }) },
    added: ['ssn'],
    request: ({ tail }) => ({ ssn: tail }),
    response: ({ ssn }) => ({ tail: ssn }),
  })

doors(
  'write-only fields',
  vault,
  (door) => {
    const edit = (method: string, path: string, json: object): Promise<Answer> =>
      door.send(method, path, { json, headers: door.as('editor') })
    const secrets = {
      ...{ pin: '1234', level: 5, codes: ['a', 'b'], owner: { city: 'Rome' }, seed: 's', batch: 7, ssn: '123' },
    }
    const made = async (json: object = { name: 'B', ...secrets }): Promise<string> => {
      const answer = await door.send('POST', '/v2/boxes', { json, headers: door.as('keeper') })
      assert.equal(answer.status, 201, answer.text)
      return answer.json.id
    }
    const reported = ({ status, text, headers }: Answer) => [status, text, headers['www-authenticate'], headers.etag]

    const guesses: readonly (readonly [version: string, field: string, right: unknown, wrong: unknown])[] = [
      ['v2', 'pin', '1234', '4321'],
      ['v2', 'level', 5, 6],
      ['v2', 'codes', ['a', 'b'], []],
      ['v2', 'owner', { city: 'Rome' }, { city: 'Bonn' }],
      ['v2', 'seed', 's', 't'],
      ['v2', 'batch', 7, null],
      ['v1', 'code', '1234', '4321'],
      ['v1', 'codes', ['a', 'b'], null],
      ['v1', 'root', 's', 't'],
      ['v1', 'grade', 5, 6],
      ['v1', 'tail', '123', '321'],
      ['v1', 'stamp', 7, 8],
    ]
    for (const [version, field, right, wrong] of guesses)
      spec('R169', `${field} of ${version} cannot be found out by trying values`, async () => {
        const id = await made()
        const path = `/${version}/boxes/${id}`
        for (const method of ['PATCH', 'PUT']) {
          const body = (value: unknown) => ({ ...(method === 'PUT' && { name: 'B' }), [field]: value })
          const [hit, miss] = [await edit(method, path, body(right)), await edit(method, path, body(wrong))]
          assert.ok([400, 403].includes(hit.status), `${method} ${hit.status} ${hit.text}`)
          assert.deepEqual(reported(hit), reported(miss), method)
        }
      })

    const own = guesses.filter(
      ([version, field]) =>
        field !== 'tail' &&
        (version === 'v1' ? !['root', 'stamp'].includes(field) : !['seed', 'batch'].includes(field)),
    )
    for (const [version, field, right, wrong] of own)
      spec(
        'R169',
        `a caller who may write ${field} of ${version} cannot find out its value by whether a write changes something`,
        async () => {
          const headers = door.as('keeper')
          for (const method of ['PATCH', 'PUT'])
            for (const value of [right, wrong ?? []]) {
              const path = `/${version}/boxes/${await made()}`
              const before = (await door.send('GET', path, { headers })).headers.etag
              const json = { ...(method === 'PUT' && { name: 'B' }), [field]: value }
              const answer = await door.send(method, path, { json, headers })
              assert.equal(answer.status, 200, answer.text)
              assert.notEqual((await door.send('GET', path, { headers })).headers.etag, before, `${method} ${value}`)
            }
        },
      )

    spec('R169 R119', 'an unset value is refused like a set one', async () => {
      const [set, unset] = [await made(), await made({ name: 'B' })]
      for (const json of [{ pin: null }, { seed: null }, { seed: 's' }, { codes: [] }, { batch: null }]) {
        const answers = [await edit('PATCH', `/v2/boxes/${set}`, json), await edit('PATCH', `/v2/boxes/${unset}`, json)]
        const [one, other] = answers.map(({ status, text }) => [status, text])
        assert.deepEqual(one, other, JSON.stringify(json))
        assert.notEqual(one?.[0], 200)
      }
    })

    spec('R111', 'a PUT that leaves them out keeps them, and callers with the scope can still write them', async () => {
      const id = await made()
      for (const version of ['v1', 'v2'])
        assert.equal((await edit('PUT', `/${version}/boxes/${id}`, { name: 'C' })).status, 200)
      const headers = door.as('keeper')
      const put = { name: 'D', pin: '9', level: 1, codes: [], owner: null }
      assert.equal((await door.send('PUT', `/v2/boxes/${id}`, { json: put, headers })).status, 200)
      const old = { code: '8', grade: 2 }
      assert.equal((await door.send('PATCH', `/v1/boxes/${id}`, { json: old, headers })).status, 200)
    })

    spec('R96 R97 R169', 'a used key reveals nothing about the values that were sent with it', async () => {
      const json = { name: 'K', ...secrets }
      const headers = { ...door.as('keeper'), 'idempotency-key': 'k1' }
      assert.equal((await door.send('POST', '/v2/boxes', { json, headers })).status, 201)
      const again = (more: object) => door.send('POST', '/v2/boxes', { json: { ...json, ...more }, headers })
      const first = await again({})
      assert.deepEqual([first.status, first.json.type], [409, 'idempotency-key-reused'])
      for (const more of [{ pin: '4321' }, { level: 6 }, { codes: [] }, { owner: null }, { seed: 't' }, { ssn: '9' }])
        assert.equal((await again(more)).text, first.text, JSON.stringify(more))
      assert.equal((await again({ name: 'L' })).json.type, 'idempotency-key-payload-mismatch')
    })
  },
  { holders: { editor: { account: 'a', scopes: ['edit'] }, keeper: { account: 'a', scopes: ['edit', 'pin', 'pii'] } } },
)
