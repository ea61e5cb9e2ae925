import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

/** A band and a label that depend on fields which not every caller can read. */
const paid = service({
  name: 'paid',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  scopes: { pay: 'See pay' },
  resources: {
    people: {
      prefix: 'per',
      fields: { name: f.text(), pay: f.integer({ read: 'pay', default: 0 }) },
      access: 'authenticated',
    },
  },
}).change('v2', 'people', {
  about: '`band` is not told any more, nor `label`.',
  removed: {
    band: f.enum(['low', 'high'], { optional: true, read: 'pay', filter: true, sort: true }),
    label: f.enum(['plain', 'rich'], { default: 'plain', filter: true }),
  },
  response: ({ name, pay }) => ({
    band: pay === null ? null : pay > 5 ? ('high' as const) : ('low' as const),
    label: name === 'x' && (pay ?? 0) > 5 ? ('rich' as const) : ('plain' as const),
  }),
})

doors(
  'old fields that are computed from restricted fields',
  paid,
  (door) => {
    const list = (query: string, holder: string) =>
      door.send('GET', `/v1/people?${query}`, { headers: door.as(holder) })
    before(async () => {
      for (const [name, pay] of [
        ['x', 9],
        ['y', 1],
        ['z', 7],
      ])
        await door.send('POST', '/v2/people', { json: { name, pay }, headers: door.as('seer') })
    })
    const namesIn = ({ json, text }: Awaited<ReturnType<typeof list>>) => {
      assert.ok(json.data, text)
      return json.data.map(({ name }: { name: string }) => name)
    }

    spec('R169 R194', 'can be filtered by callers who see them, by the values shown to them', async () => {
      assert.deepEqual(namesIn(await list('band=high&sort=band', 'seer')), ['x', 'z'])
      for (const query of ['band=high', 'sort=band', 'band[null]=true'])
        assert.equal((await list(query, 'other')).status, 403, query)
    })

    spec('R169 R194', 'do not reveal hidden values by the order of rows', async () => {
      const [first] = (await list('label=plain', 'other')).json.data
      assert.deepEqual([first.name, first.label], ['x', 'plain'])
      assert.deepEqual(namesIn(await list('label=rich', 'other')), [])
      assert.deepEqual(namesIn(await list('label=rich', 'seer')), [])
    })
  },
  { holders: { seer: { scopes: ['pay'] }, other: {} } },
)

/** Fields of several kinds with scopes: renamed, mapped, and made by a function in the older version. */
const clients = service({
  name: 'clients',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
  scopes: { edit: 'Change clients', pii: 'See personal data', vip: 'Set levels' },
  settings: { resource: { id: 'client' } },
  resources: {
    clients: {
      prefix: 'cli',
      fields: {
        name: f.text({ max: 100 }),
        ssn: f.text({ optional: true, read: 'pii' }),
        notes: f.list(f.text(), { read: 'pii' }),
        marks: f.metadata({ read: 'pii' }),
        home: f.object({ city: f.text() }, { optional: true, read: 'pii' }),
        level: f.enum(['plain', 'gold'], { default: 'plain', write: 'vip' }),
        rate: f.decimal({ scale: 2, default: '1.00', write: 'vip' }),
        tier: f.enum(['low', 'high'], { default: 'low', write: 'vip' }),
      },
      access: { read: 'public', write: 'edit' },
    },
    visits: {
      prefix: 'vis',
      parent: 'clients',
      fields: { day: f.text(), cost: f.integer({ default: 3, read: 'pii' }) },
      access: { read: 'public', write: 'edit' },
    },
  },
})
  .change('v3', 'clients', {
    about: 'Levels have other words.',
    mapped: { level: { usual: 'plain', rich: 'gold' } },
    retyped: { rate: f.integer({ default: 2, write: 'vip' }) },
    request: ({ rate }) => ({ rate: `${rate}.00` }),
    response: ({ rate }) => ({ rate: Math.round(Number(rate)) }),
  })
  .change('v2', 'clients', {
    about: '`title` is a `name`, and `star` a tier.',
    renamed: { title: 'name', number: 'ssn' },
    removed: { star: f.boolean({ default: false }) },
    added: ['tier'],
    request: ({ star }) => ({ tier: star ? ('high' as const) : ('low' as const) }),
    response: ({ tier }) => ({ star: tier === 'high' }),
  })
  .change('v2', 'visits', { about: '`date` is a `day`.', renamed: { date: 'day' } })

doors(
  'writes of older versions by callers who lack a scope',
  clients,
  (door) => {
    const as = (who: string, method: string, path: string, json?: object) =>
      door.send(method, path, { json, headers: door.as(who) })
    const whole = async (id: string) => (await as('chief', 'GET', `/v3/clients/${id}`)).json

    spec('R195 R169', 'make an item where they send no field of that scope, by POST and by PUT', async () => {
      for (const [path, json] of [
        ['/v3/clients', { id: 'cli_p3', name: 'a' }],
        ['/v2/clients', { id: 'cli_p2', name: 'a' }],
        ['/v1/clients', { id: 'cli_p1', title: 'a' }],
      ] as const) {
        const answer = await as('clerk', 'POST', path, json)
        assert.equal(answer.status, 201, answer.text)
      }
      for (const [path, json] of [
        ['/v3/clients/cli_q3', { name: 'a' }],
        ['/v2/clients/cli_q2', { name: 'a' }],
        ['/v1/clients/cli_q1', { title: 'a', star: false }],
      ] as const) {
        const answer = await as('clerk', 'PUT', path, json)
        assert.equal(answer.status, 201, answer.text)
      }
      const usual = await whole('cli_p3')
      for (const id of ['cli_p2', 'cli_p1', 'cli_q3', 'cli_q2', 'cli_q1'])
        assert.deepEqual(
          { ...(await whole(id)), id: 0, createdAt: 0, updatedAt: 0 },
          { ...usual, id: 0, createdAt: 0, updatedAt: 0 },
        )
      for (const [version, name] of [
        ['v1', 'date'],
        ['v3', 'day'],
      ] as const) {
        const child = await as('clerk', 'POST', `/${version}/clients/cli_p3/visits`, { [name]: 'x' })
        assert.equal(child.status, 201, child.text)
        assert.equal((await as('chief', 'GET', `/v3/visits/${child.json.id}`)).json.cost, 3)
      }
    })

    spec('R169', 'are refused where they send one, under the name that it has there', async () => {
      assert.equal((await as('clerk', 'POST', '/v3/clients', { id: 'cli_r', name: 'a' })).status, 201)
      for (const [field, value] of [
        ['number', '5'],
        ['notes', ['x']],
        ['marks', { a: 'b' }],
        ['home', { city: 'Rome' }],
        ['level', 'rich'],
        ['rate', 7],
        ['star', true],
      ] as const) {
        for (const [method, path] of [
          ['POST', '/v1/clients'],
          ['PUT', '/v1/clients/cli_none'],
          ['PUT', '/v1/clients/cli_r'],
          ['PATCH', '/v1/clients/cli_r'],
        ] as const) {
          const own = method === 'POST' ? { id: 'cli_n', title: 'a' } : method === 'PUT' ? { title: 'a' } : {}
          const { status, json } = await as('clerk', method, path, { ...own, [field]: value })
          assert.deepEqual(
            [status, json.type, json.pointer],
            [403, 'insufficient-scope', `/${field}`],
            `${method} ${path}`,
          )
        }
      }
      assert.equal((await as('clerk', 'GET', '/v3/clients/cli_none')).status, 404)
    })

    spec('R111 R169', 'keep with a PUT the fields that they may not write, also computed ones', async () => {
      const full = { name: 'a', ssn: '1', notes: ['n'], level: 'gold', rate: '5.25', tier: 'high' }
      assert.equal((await as('chief', 'PUT', '/v3/clients/cli_k', full)).status, 201)
      const before = await whole('cli_k')
      for (const [version, name] of [
        ['v3', 'name'],
        ['v2', 'name'],
        ['v1', 'title'],
      ] as const) {
        const { status, text } = await as('clerk', 'PUT', `/${version}/clients/cli_k`, { [name]: version })
        assert.equal(status, 200, text)
        assert.deepEqual({ ...(await whole('cli_k')), updatedAt: 0 }, { ...before, name: version, updatedAt: 0 })
      }
      const seen = (await as('clerk', 'GET', '/v1/clients/cli_k')).json
      assert.equal((await as('clerk', 'PUT', '/v1/clients/cli_k', { ...seen, title: 'z' })).status, 200)
      assert.deepEqual({ ...(await whole('cli_k')), updatedAt: 0 }, { ...before, name: 'z', updatedAt: 0 })
    })

    spec('R194 R169', 'are accepted from callers with the scope', async () => {
      const made = await as('chief', 'POST', '/v1/clients', {
        id: 'cli_c',
        title: 'a',
        number: '1',
        star: true,
        level: 'rich',
      })
      assert.equal(made.status, 201, made.text)
      const { ssn, tier, level, rate } = await whole('cli_c')
      assert.deepEqual([ssn, tier, level, rate], ['1', 'high', 'gold', '2.00'])
    })
  },
  { holders: { clerk: { scopes: ['edit'] }, chief: { scopes: ['edit', 'pii', 'vip'] } } },
)
