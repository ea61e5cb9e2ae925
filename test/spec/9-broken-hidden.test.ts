/** Items with hidden fields that an older version cannot show, and their revisions. Part 9, versions. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

async function failed(door: Door, method: string, path: string, json?: object): Promise<Answer> {
  const answer = await door.send(method, path, json ? { json } : {})
  assert.deepEqual([answer.status, answer.json.type], [500, 'version-conversion-failed'], answer.text)
  return answer
}

const nextIn = ({ headers }: Answer): string => /<([^>]*)>; rel="next"/.exec(headers.link ?? '')?.[1] ?? ''

const payroll = service({
  name: 'payroll',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } },
  scopes: { pay: 'See what members earn' },
  resources: {
    members: {
      prefix: 'mem',
      fields: {
        name: f.text({ max: 50 }),
        rank: f.integer({ default: 0 }),
        pay: f.integer({ default: 0, read: 'pay' }),
      },
      access: 'public',
      history: { read: 'public' },
    },
  },
}).change('v2', 'members', {
  about: '`name` replaces `first`.',
  removed: { first: f.text({ max: 50 }) },
  added: ['name'],
  request: ({ first }) => ({ name: first }),
  response: ({ name }) => {
    if (name === 'BROKEN') throw new Error('This name cannot be split.')
    return { first: name.split(' ')[0] as string }
  },
})

doors(
  'an item with hidden fields that an older version cannot show',
  payroll,
  (door) => {
    spec('R157 R169', 'it fails for all callers, also if they may not read the field', async () => {
      const { id } = (await door.send('POST', '/v2/members', { json: { name: 'BROKEN' } })).json
      await failed(door, 'GET', `/v1/members/${id}`)
      await failed(door, 'PATCH', `/v1/members/${id}`, { rank: 1 })
      assert.equal((await door.send('GET', `/v1/members/${id}`, { headers: door.as('boss') })).status, 500)
      assert.equal((await door.send('DELETE', `/v1/members/${id}`)).status, 204)
    })

    spec(
      'R157 R169 R237',
      'a revision of it that has changed hidden fields alone does not exist for callers without their scope',
      async () => {
        const boss = door.as('boss')
        const { id } = (await door.send('POST', '/v2/members', { json: { name: 'a' }, headers: boss })).json
        for (const json of [{ name: 'BROKEN' }, { pay: 1 }, { rank: 1 }])
          assert.equal((await door.send('PATCH', `/v2/members/${id}`, { json, headers: boss })).status, 200)
        const statuses = async (headers = {}) =>
          await Promise.all(
            [1, 2, 3, 4].map(
              async (one) => (await door.send('GET', `/v1/members/${id}/revisions/${one}`, { headers })).status,
            ),
          )
        assert.deepEqual(await statuses(), [200, 500, 404, 500])
        assert.deepEqual(await statuses(boss), [200, 500, 500, 500])
        const next = nextIn(await failed(door, 'GET', `/v1/members/${id}/revisions`))
        const last = await door.send('GET', nextIn(await failed(door, 'GET', next)))
        assert.deepEqual(
          last.json.data.map((one: { id: string }) => one.id),
          ['1'],
        )
      },
    )
  },
  { holders: { boss: { scopes: ['pay'] } } },
)
