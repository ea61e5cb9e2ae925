/** Accounts and field scopes in older versions, cached answers, QUERY and the store. Part 5, authentication. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, doors, type Sent, spec } from '../help/door.ts'
import { holders as tenantHolders, tenants } from '../help/tenants.ts'

const scopes = { pii: 'See personal data', edit: 'Change patients' }
const fields = { name: f.text({ max: 100 }), ssn: f.text({ optional: true, read: 'pii', filter: true }) }
const access = { read: 'authenticated', write: 'edit' } as const
const clinic = service({
  name: 'clinic',
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-02-20' } },
  scopes,
  resources: { patients: { prefix: 'pat', owner: 'accountId', fields, access } },
}).change('v2', 'patients', {
  about: '`ssn` was called `socialNumber`, and `label` is gone.',
  renamed: { socialNumber: 'ssn' },
  removed: { label: f.text({ max: 300, optional: true }) },
  request: () => ({}),
  response: ({ name, ssn }) => ({ label: `${name}, ${ssn ?? 'unknown'}` }),
})
const keeping = service({
  name: 'keeping',
  scopes,
  resources: { patients: { prefix: 'pat', owner: 'accountId', fields, access } },
  settings: { idempotency: { mode: 'replay' }, methods: { query: true } },
})
const holders = {
  clerk: { account: 'acc_a', scopes: ['edit'] },
  doctor: { account: 'acc_a', scopes: ['edit', 'pii'] },
  other: { account: 'acc_b', scopes: ['edit', 'pii'] },
} as const

doors(
  'accounts and scopes in older versions',
  clinic,
  (door) => {
    const as = (
      who: keyof typeof holders,
      method: string,
      path: string,
      { headers, ...sent }: Sent = {},
    ): Promise<Answer> => door.send(method, path, { ...sent, headers: { ...door.as(who), ...headers } })

    spec('R170 R196', 'hidden fields are in no version, nor are values computed from them', async () => {
      const { json } = await as('doctor', 'POST', '/v2/patients', { json: { name: 'Ann', ssn: 'x-4711-x' } })
      const own = await as('doctor', 'GET', `/v1/patients/${json.id}`)
      assert.deepEqual([own.json.socialNumber, own.json.label], ['x-4711-x', 'Ann, x-4711-x'])
      for (const path of [`/v1/patients/${json.id}`, '/v1/patients']) {
        const seen = await as('clerk', 'GET', path)
        assert.doesNotMatch(seen.text, /x-4711-x|socialNumber/)
        assert.match(seen.text, /"label":"Ann, unknown"/)
        assert.notEqual(seen.headers.etag, own.headers.etag)
      }
      assert.equal((await as('other', 'GET', `/v1/patients/${json.id}`)).status, 404)
      assert.deepEqual((await as('other', 'GET', '/v1/patients')).json.data, [])
      const change = await as('clerk', 'PATCH', `/v1/patients/${json.id}`, { json: { socialNumber: '9' } })
      assert.deepEqual([change.status, change.json.scope], [403, 'pii'])
      assert.equal((await as('clerk', 'PUT', `/v1/patients/${json.id}`, { json: { name: 'Bo' } })).status, 200)
      assert.equal((await as('doctor', 'GET', `/v2/patients/${json.id}`)).json.ssn, 'x-4711-x')
    })
  },
  { holders },
)

doors(
  'accounts and scopes of kept answers and of QUERY',
  keeping,
  (door) => {
    const as = (
      who: keyof typeof holders,
      method: string,
      path: string,
      { headers, ...sent }: Sent = {},
    ): Promise<Answer> => door.send(method, path, { ...sent, headers: { ...door.as(who), ...headers } })

    spec('R98 R169', 'a replayed answer leaves out the fields that its caller may not see', async () => {
      const headers = { 'idempotency-key': 'again' }
      const json = { name: 'Ann' }
      const first = await as('doctor', 'POST', '/patients', { json, headers })
      assert.equal(first.json.ssn, null)
      const again = await as('clerk', 'POST', '/patients', { json, headers })
      assert.deepEqual([again.status, again.json.id, 'ssn' in again.json], [201, first.json.id, false])
      const other = await as('other', 'POST', '/patients', { json, headers })
      assert.notEqual(other.json.id, first.json.id)
    })

    spec('R15 R169', 'QUERY allows no more than GET', async () => {
      await as('doctor', 'POST', '/patients', { json: { name: 'Asked', ssn: '777' } })
      const asked = (who: keyof typeof holders, body: string) =>
        as(who, 'QUERY', '/patients', { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
      assert.equal((await asked('doctor', 'ssn=777')).json.data.length, 1)
      assert.deepEqual(
        [(await asked('clerk', 'ssn=777')).status, (await asked('clerk', 'ssn=777')).json.scope],
        [403, 'pii'],
      )
      assert.deepEqual((await asked('other', 'ssn=777')).json.data, [])
    })
  },
  { holders },
)

let plans = 0
doors(
  'queries of the store',
  tenants,
  (door) => {
    const as = (who: keyof typeof tenantHolders, method: string, path: string, sent: Sent = {}): Promise<Answer> =>
      door.send(method, path, { ...sent, headers: door.as(who) })
    spec('R170', 'an item of another account costs the store as much as an unknown one', async () => {
      const { json } = await as('ann', 'POST', '/deals', { json: { name: 'Mine' } })
      const cost = async (method: string, path: string, sent: Sent = {}): Promise<number> => {
        const before = plans
        assert.equal((await as('bob', method, path, sent)).status, 404)
        return plans - before
      }
      await as('bob', 'GET', '/deals')
      for (const [method, below, sent] of [
        ['GET', '', {}],
        ['DELETE', '', {}],
        ['PATCH', '', { json: { name: 'x' } }],
        ['PATCH', '', { json: { nonsense: 'x' } }],
        ['GET', '/parts', {}],
        ['POST', '/parts', { json: { text: 'x' } }],
      ] as const) {
        const foreign = await cost(method, `/deals/${json.id}${below}`, sent)
        const unknown = await cost(method, `/deals/dea_01h455vb4pex5vsknk084sn02q${below}`, sent)
        assert.equal(foreign, unknown, `${method} ${below}`)
      }
    })
  },
  {
    holders: tenantHolders,
    store: (store) => ({
      ...store,
      execute: (plan) => {
        if (plan.do !== 'table') plans++
        return store.execute(plan)
      },
    }),
  },
)
