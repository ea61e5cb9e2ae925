/** Writes of an older version to other resources need the same rights as direct changes of these. Part 9, versions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, doors, spec } from '../help/door.ts'

/** Prices, terms and perks moved from customers to plans, which accounts share; limits to teams, which belong to accounts. */
const shop = service({
  name: 'shop',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  scopes: {
    sell: 'Change customers',
    admin: 'Change plans',
    cost: 'See costs',
    perk: 'Give perks',
    lead: 'Change teams',
  },
  settings: { resource: { id: 'client' } },
  resources: {
    plans: {
      prefix: 'pla',
      fields: {
        price: f.integer({ default: 1, filter: true }),
        terms: f.object({ days: f.integer(), note: f.text({ optional: true }) }, { default: { days: 30, note: null } }),
        perks: f.list(f.text(), { write: 'perk' }),
        cost: f.integer({ optional: true, read: 'cost' }),
      },
      access: { read: 'authenticated', write: 'admin' },
    },
    teams: {
      prefix: 'tea',
      owner: 'accountId',
      fields: { limit: f.integer({ default: 5 }) },
      access: { read: 'authenticated', change: 'admin', replace: 'lead', write: 'lead' },
      methods: ['list', 'read', 'create', 'replace'],
    },
    customers: {
      prefix: 'cus',
      owner: 'accountId',
      fields: { name: f.text(), planId: f.ref('plans'), teamId: f.ref('teams', { optional: true }) },
      access: { read: 'authenticated', write: 'sell' },
    },
  },
}).change('v2', 'customers', {
  about: 'What a customer pays and gets is said by its plan, and what it may by its team.',
  moved: {
    price: { by: 'planId', to: 'price' },
    terms: { by: 'planId', to: 'terms' },
    perks: { by: 'planId', to: 'perks' },
    cost: { by: 'planId', to: 'cost' },
    limit: { by: 'teamId', to: 'limit' },
  },
})

const holders = {
  ann: { account: 'a', scopes: ['sell'] },
  pat: { account: 'a', scopes: ['sell', 'perk'] },
  boss: { account: 'b', scopes: ['sell', 'admin', 'perk', 'cost', 'lead'] },
  lead: { account: 'a', scopes: ['sell', 'lead'] },
} as const

doors(
  'fields that rows of another resource have',
  shop,
  (door) => {
    const as = (who: keyof typeof holders, method: string, path: string, json?: object): Promise<Answer> =>
      door.send(method, path, { json, headers: door.as(who) })
    let count = 0
    const made = async () => {
      const n = ++count
      const plan = { id: `pla_${n}`, price: 10, terms: { days: 14, note: 'n' }, perks: ['p'], cost: 3 }
      assert.equal((await as('boss', 'POST', '/v2/plans', plan)).status, 201)
      assert.equal((await as('lead', 'POST', '/v2/teams', { id: `tea_${n}`, limit: 7 })).status, 201)
      const own = { id: `cus_${n}`, name: 'x', planId: plan.id, teamId: `tea_${n}` }
      assert.equal((await as('ann', 'POST', '/v2/customers', own)).status, 201)
      const rows = async () => [
        (await as('boss', 'GET', `/v2/plans/${plan.id}`)).text,
        (await as('ann', 'GET', `/v2/teams/tea_${n}`)).text,
      ]
      return { path: `/v1/customers/cus_${n}`, own, rows, n }
    }
    const refused = ({ status, json }: Answer, scope: string) =>
      assert.deepEqual([status, json.type, json.scope], [403, 'insufficient-scope', scope], JSON.stringify(json))

    spec('R169 R196', 'are not written by a caller who could not change that row by any method', async () => {
      const { path, own, rows, n } = await made()
      const before = await rows()
      for (const [json, scope] of [
        [{ price: 11 }, 'admin'],
        [{ terms: { days: 15 } }, 'admin'],
        [{ terms: { days: 14, note: null } }, 'admin'],
        [{ limit: 8 }, 'lead'],
        [{ perks: [] }, 'perk'],
        [{ cost: 3 }, 'cost'],
        [{ cost: null }, 'cost'],
        [{ price: 11, name: 'y', limit: 8 }, 'admin'],
      ] as const) {
        refused(await as('ann', 'PATCH', path, json), scope)
        refused(await as('ann', 'PUT', path, { ...own, ...json }), scope)
        for (const [method, path, id] of [
          ['POST', '/v1/customers', `cus_${n}_new`],
          ['PUT', `/v1/customers/cus_${n}_put`, `cus_${n}_put`],
        ] as const) {
          const { status, text } = await as('ann', method, path, { ...own, ...json, id })
          assert.equal(status, 403, text)
        }
      }
      refused(await as('pat', 'PATCH', path, { perks: [] }), 'admin')
      assert.deepEqual(await rows(), before)
      assert.equal((await as('ann', 'GET', path)).json.name, 'x')
      assert.equal((await as('ann', 'GET', `/v1/customers/cus_${n}_new`)).status, 404)
    })

    spec('R48 R111 R169', 'may be sent back unchanged, and a PUT that leaves them out keeps them', async () => {
      const { path, own, rows } = await made()
      const before = await rows()
      const seen = (await as('ann', 'GET', path)).json
      assert.deepEqual(
        [seen.price, seen.terms, seen.limit, seen.perks, 'cost' in seen],
        [10, { days: 14, note: 'n' }, 7, ['p'], false],
      )
      for (const [method, json] of [
        ['PUT', { ...seen, name: 'y' }],
        ['PATCH', { price: 10, terms: { days: 14 }, limit: 7, perks: ['p'], name: 'z' }],
        ['PUT', { name: 'w', planId: own.planId, teamId: own.teamId }],
      ] as const) {
        const answer = await as('ann', method, path, json)
        assert.deepEqual([answer.status, answer.json.name], [200, json.name], answer.text)
      }
      assert.deepEqual(await rows(), before)
    })

    spec('R196', 'are written by callers who may change that row, by one of its methods', async () => {
      const { path, own, rows } = await made()
      assert.equal((await as('lead', 'PATCH', path, { limit: 8 })).json.limit, 8)
      assert.equal(JSON.parse((await rows())[1] as string).limit, 8)
      refused(await as('lead', 'PATCH', path, { limit: 9, price: 9 }), 'admin')
      assert.equal(JSON.parse((await rows())[1] as string).limit, 8)
      const bought = { ...own, id: `${own.id}_b`, teamId: null, price: 12, perks: ['q'], cost: 4 }
      assert.equal((await as('boss', 'POST', '/v1/customers', bought)).status, 201)
      const plan = JSON.parse((await rows())[0] as string)
      assert.deepEqual([plan.price, plan.perks, plan.cost], [12, ['q'], 4])
      assert.equal((await as('boss', 'PATCH', `/v1/customers/${bought.id}`, { terms: { days: 9 } })).status, 200)
      assert.deepEqual(JSON.parse((await rows())[0] as string).terms, { days: 9, note: 'n' })
    })

    spec('R169', 'stay with the own row if there is no other one', async () => {
      const { own } = await made()
      const alone = { ...own, id: `${own.id}_a`, teamId: null, limit: 3 }
      assert.equal((await as('ann', 'POST', '/v1/customers', alone)).json.limit, 3)
      assert.equal((await as('ann', 'PATCH', `/v1/customers/${alone.id}`, { limit: 4 })).json.limit, 4)
    })
  },
  { holders },
)

const dated = { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } }

/** The old price depends on fields that only some callers can read. */
const veiled = service({
  name: 'veiled',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
  scopes: { cost: 'See costs' },
  settings: { resource: { id: 'client' } },
  resources: {
    plans: {
      prefix: 'pla',
      fields: { cost: f.integer({ default: 0, read: 'cost' }), name: f.text() },
      access: 'authenticated',
    },
    customers: { prefix: 'cus', fields: { planId: f.ref('plans') }, access: 'authenticated' },
  },
})
  .change('v3', 'plans', {
    about: 'Costs are not told in words any more.',
    removed: { band: f.text({ default: 'none' }) },
    response: ({ cost }) => ({ band: cost === null ? 'none' : `about ${cost}` }),
    added: [],
  })
  .change('v2', 'customers', { about: 'The band is that of the plan.', moved: { band: { by: 'planId', to: 'band' } } })

doors(
  'fields that are computed from hidden fields of another row',
  veiled,
  (door) => {
    spec('R169 R121', 'show nothing of it, and have another tag', async () => {
      const send = (who: string, method: string, path: string, json?: object) =>
        door.send(method, path, { json, headers: door.as(who) })
      await send('boss', 'POST', '/v3/plans', { id: 'pla_1', name: 'p', cost: 777 })
      await send('ann', 'POST', '/v3/customers', { id: 'cus_1', planId: 'pla_1' })
      for (const path of ['/v2/plans/pla_1', '/v1/customers/cus_1']) {
        const [all, some] = [await send('boss', 'GET', path), await send('ann', 'GET', path)]
        assert.deepEqual([all.json.band, some.json.band], ['about 777', 'none'], path)
        assert.notEqual(all.headers.etag, some.headers.etag)
      }
      assert.equal((await send('ann', 'GET', '/v1/customers')).json.data[0].band, 'none')
      assert.equal((await send('boss', 'GET', '/v1/customers')).json.data[0].band, 'about 777')
    })
  },
  { holders: { ann: { scopes: [] }, boss: { scopes: ['cost'] } } },
)

test('a moved field that cannot be written has to be read-only for old clients', () => {
  const declared = (field?: ReturnType<typeof f.integer>) =>
    service({
      name: 'shop',
      versions: dated,
      resources: {
        plans: { fields: { price: f.integer() }, access: { read: 'public' }, methods: ['list', 'read'] },
        customers: { fields: { planId: f.ref('plans') }, access: 'public' },
      },
    }).change('v2', 'customers', {
      about: 'The price is that of the plan.',
      moved: { price: { by: 'planId', to: 'price', ...(field && { field }) } },
    }).editions
  assert.throws(
    () => declared(),
    /moved\.price: Old clients write it, but `plans` offers neither `change` nor `replace`/,
  )
  assert.ok(declared(f.integer({ readOnly: true, default: 0 })))
})

const ladder = service({
  name: 'ladder',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  scopes: { judge: 'Read ranks' },
  resources: {
    ranks: {
      prefix: 'ran',
      fields: { level: f.integer({ filter: true, sort: true }) },
      access: { read: 'judge', write: 'authenticated' },
    },
    players: { prefix: 'pla', fields: { rankId: f.ref('ranks') }, access: 'authenticated' },
  },
}).change('v2', 'players', {
  about: 'The level is that of the rank.',
  moved: {
    level: { by: 'rankId', to: 'level', field: f.integer({ default: 0, read: 'judge', filter: true, sort: true }) },
  },
})

doors(
  'fields that moved to rows with restricted access',
  ladder,
  (door) => {
    spec('R169 R195', 'are shown with the scope of that resource only, and others cannot filter by them', async () => {
      const as = (who: string) => ({ headers: door.as(who) })
      const rank = (await door.send('POST', '/v2/ranks', { json: { level: 3 }, ...as('judge') })).json.id
      const made = await door.send('POST', '/v1/players', { json: { rankId: rank }, ...as('ann') })
      assert.deepEqual([made.status, 'level' in made.json], [201, false])
      const path = `/v1/players/${made.json.id}`
      assert.equal('level' in (await door.send('GET', path, as('ann'))).json, false)
      assert.equal((await door.send('GET', path, as('judge'))).json.level, 3)
      assert.equal((await door.send('GET', `/v2/ranks/${rank}`, as('ann'))).status, 403)
      for (const query of ['level=3', 'sort=level'])
        assert.equal((await door.send('GET', `/v1/players?${query}`, as('ann'))).status, 403, query)
      for (const level of [3, 4])
        assert.equal((await door.send('PATCH', path, { json: { level }, ...as('ann') })).status, 403, `${level}`)
    })
  },
  { holders: { ann: { account: 'a', scopes: [] }, judge: { account: 'a', scopes: ['judge'] } } },
)
