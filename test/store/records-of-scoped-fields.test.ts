/** Events and revisions do not show a value of a field with `read` to callers without its scope, whatever later declarations do. R169, R206, R237. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Place, places } from '../help/places.ts'

const read = 'pii'
const secret = 'Zanzibar'
const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } }

type Api = { change: (version: string, resource: string, change: object) => Api }

const declared = (fields: object, more: object = {}, people: object = {}, own: object = {}): Api =>
  service({
    name: 'clinic',
    scopes: { pii: 'See personal data' },
    events: true,
    ...more,
    resources: {
      people: {
        ...{ prefix: 'peo', fields: { name: f.text({ default: 'x' }), ...people }, access: 'authenticated' },
        history: { read: 'authenticated' },
      },
      visits: {
        ...{ prefix: 'vis', fields: { note: f.text({ default: '' }), ...fields }, access: 'authenticated', ...own },
        history: { read: 'authenticated' },
      },
    },
  } as never) as unknown as Api

const text = (own: object = {}) => f.text({ optional: true, max: 99, ...own })
const first = declared({ ssn: text({ read }) })

/** The declarations that follow the first one, and the fields that are dropped on the way: nobody sees their values afterwards. */
const ways: Record<string, readonly [readonly Api[], losses?: readonly string[]]> = {
  renamed: [[declared({ code: text({ read, was: 'ssn' }) })]],
  'renamed, and a later field has its name': [
    [declared({ code: text({ read, was: 'ssn' }) }), declared({ code: text({ read }), ssn: text() })],
  ],
  'dropped, and a later field has its name': [[declared({}), declared({ ssn: text() })], ['visits.ssn']],
  'dropped, and a later field was it': [[declared({}), declared({ code: text({ was: 'ssn' }) })], ['visits.ssn']],
  'dropped, and a later field of another kind has its name': [
    [declared({}), declared({ ssn: f.list(f.text()) })],
    ['visits.ssn'],
  ],
  'renamed by a version': [
    [
      declared({ code: text({ read }) }, { versions }).change('v2', 'visits', {
        about: 'It is called code.',
        renamed: { ssn: 'code' },
      }),
    ],
  ],
  'renamed by a version that ended': [
    [
      declared({ code: text({ read }) }, { versions }).change('v2', 'visits', {
        about: 'It is called code.',
        renamed: { ssn: 'code' },
      }),
      declared({ code: text({ read }), ssn: text() }, { versions: { v2: versions.v2 } }),
    ],
  ],
  retyped: [
    [
      declared({ ssn: f.list(f.text(), { read, optional: true }) }, { versions }).change('v2', 'visits', {
        about: 'It is a list.',
        retyped: { ssn: text({ read }) },
        request: ({ ssn }: { ssn: string | null }) => ({ ssn: ssn === null ? null : [ssn] }),
        response: ({ ssn }: { ssn: string[] | null }) => ({ ssn: ssn?.[0] ?? null }),
      }),
    ],
  ],
  'removed by a version, and computed from the new field': [
    [
      declared({ parts: f.object({ whole: text() }, { read, optional: true }) }, { versions }).change('v2', 'visits', {
        about: 'It has parts.',
        removed: { ssn: text({ read }) },
        added: ['parts'],
        request: ({ ssn }: { ssn: string | null }) => ({ parts: ssn === null ? null : { whole: ssn } }),
        response: ({ parts }: { parts: { whole: string } | null }) => ({ ssn: parts?.whole ?? null }),
      }),
    ],
  ],
}

const all = [
  'events',
  'visits/ID/revisions',
  'visits/ID/revisions/1',
  'visits/ID/revisions/2',
  'visits/ID/revisions/2?against=1',
]

async function shown(at: Place, api: Api, losses: readonly string[], scopes: readonly string[], id: string) {
  const { call, close } = testing(api as unknown as Service, {
    database: at.url,
    allowLoss: losses,
    allowMisfits: true,
  })
  const texts: string[] = []
  try {
    for (const version of ['', '/v1', '/v2'])
      for (const path of all) {
        const answer = await call(`${version}/${path.replace('ID', id)}`, { as: { id: 'joe', scopes } } as never)
        texts.push(await answer.text())
      }
  } finally {
    await close()
  }
  return texts.join('\n')
}

/** Creates a visit by the first declaration and changes it; answers its id. */
async function visited({ url }: Place): Promise<string> {
  const { call, close } = testing(first as unknown as Service, { database: url })
  const ask = async (method: string, path: string, json: object) =>
    (await (await call(path, { method, json, as: { id: 'ann', scopes: ['pii'] } } as never)).json()) as { id: string }
  const { id } = await ask('POST', '/visits', { ssn: secret })
  await ask('PATCH', `/visits/${id}`, { ssn: `${secret}2` })
  await close()
  return id
}

for (const [name, place] of places)
  describe(`records of fields with a scope (${name})`, () => {
    for (const [way, [later, losses = []]] of Object.entries(ways))
      test(`R169 R237: ${way}`, async (t) => {
        const at = await place(t)
        const id = await visited(at)
        assert.ok((await shown(at, first, [], ['pii'], id)).includes(secret))
        for (const [i, api] of later.entries()) {
          const some = await shown(at, api, losses, [], id)
          assert.ok(!some.includes(secret), `after ${i + 1} changes: ${some}`)
          assert.match(some, /visit\.created/)
          const isKept = losses.length === 0
          assert.equal((await shown(at, api, losses, ['pii'], id)).includes(secret), isKept, `after ${i + 1} changes`)
        }
      })
    test('R237: a field that was renamed by a release that did not remember it is shown still', async (t) => {
      const at = await place(t)
      const renamed = declared({ code: text({ read, was: 'ssn' }) })
      const id = await visited(at)
      await shown(at, renamed, [], ['pii'], id)
      const [{ value } = { value: '' }] = await at.rows("SELECT value FROM bylaw_meta WHERE name = 'layout'")
      const layout = JSON.parse(String(value))
      assert.ok(layout.tables.visits.renamed.length > 0)
      delete layout.tables.visits.renamed
      const former = JSON.stringify(layout).replaceAll("'", "''")
      await at.rows(`UPDATE bylaw_meta SET value = '${former}' WHERE name = 'layout'`)
      assert.match(await shown(at, renamed, [], ['pii'], id), new RegExp(`"code":"${secret}"`))
      assert.ok(!(await shown(at, renamed, [], [], id)).includes(secret))
    })
  })
