/** Proves that the newest of four versions serves a database of the first one, also with nodes of the first. The cellar. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, service } from 'bylaw'
import history from '../help/history.ts'
import { alive, applied, type Node, nodeOn, type Place, places } from '../help/places.ts'

const first = service({
  name: 'history',
  versions: { v1: { released: '2025-01-15' } },
  settings: { methods: { query: true } },
  resources: {
    accounts: {
      prefix: 'acc',
      fields: { country: f.country({ filter: true }), plan: f.text({ default: 'free' }) },
      access: 'public',
    },
    clients: {
      prefix: 'cus',
      fields: {
        firstName: f.text({ max: 100, filter: true }),
        lastName: f.text({ max: 100, default: '', sort: true }),
        mail: f.email({ unique: true, filter: true, sort: true }),
        status: f.enum(['open', 'shut'], { default: 'open', filter: ['ne'], sort: true }),
        accountId: f.ref('accounts', { filter: true }),
        score: f.integer({ default: 0, filter: 'range', sort: true }),
        country: f.country({ filter: true }),
        metadata: f.metadata(),
      },
      access: 'public',
      methods: ['list', 'read', 'create', 'replace', 'change'],
      sorts: { best: ['-score', 'mail'] },
    },
    visits: {
      parent: 'clients',
      prefix: 'vis',
      fields: { on: f.date({ filter: 'range', sort: true }) },
      access: 'public',
    },
  },
})

const countries = ['IT', 'FR', 'DE', 'ES']
const rows = 700

interface Made {
  readonly accounts: readonly string[]
  readonly clients: readonly Record<string, unknown>[]
}

async function filled({ ask }: Node): Promise<Made> {
  const accounts: string[] = []
  for (const country of countries) accounts.push((await ask('POST', '/accounts', { country })).json.id)
  const made = Array.from({ length: rows }, (_, i) =>
    ask('POST', '/clients', {
      firstName: `First${i}`,
      lastName: `Last${i % 50}`,
      mail: `c${String(i).padStart(4, '0')}@example.com`,
      status: i % 3 === 0 ? 'shut' : 'open',
      accountId: accounts[i % 4],
      country: countries[i % 4],
      score: i % 10,
    }),
  )
  const clients = (await Promise.all(made)).map(({ status, json }) => {
    assert.equal(status, 201, JSON.stringify(json))
    return json
  })
  return { accounts, clients }
}

/** All items of a list, page by page with its cursors. */
async function walked({ ask }: Node, path: string): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, json } = await ask('GET', `${path}${path.includes('?') ? '&' : '?'}limit=100&cursor=${cursor}`)
    assert.equal(status, 200, JSON.stringify(json))
    all.push(...json.data)
    cursor = json.pagination.nextCursor ?? null
  }
  return all
}

const mails = (all: readonly Record<string, unknown>[]): unknown[] => all.map(({ mail, email }) => mail ?? email)

async function whole(node: Node, { accounts, clients }: Made): Promise<void> {
  assert.deepEqual(await walked(node, '/v1/clients?sort=mail'), clients)
  const of = (test: (one: Record<string, unknown>) => boolean) => mails(clients.filter(test))
  for (const [path, expected] of [
    ['/v1/clients?status=shut&sort=mail', of(({ status }) => status === 'shut')],
    ['/v1/clients?status[ne]=shut&country=FR&sort=mail', of((one) => one.status === 'open' && one.country === 'FR')],
    ['/v1/clients?firstName=First7&sort=mail', ['c0007@example.com']],
    ['/v2/customers?status=open&sort=email', of(({ status }) => status === 'open')],
    ['/v3/customers?status=active&country=DE&sort=email', of((one) => one.status === 'open' && one.country === 'DE')],
    [
      `/v4/customers?status=closed&accountId=${accounts[1]}&sort=email`,
      of((one) => one.status === 'shut' && one.country === 'FR'),
    ],
    ['/v4/customers?name[like]=First69%25&sort=email', of(({ firstName }) => String(firstName).startsWith('First69'))],
    ['/v3/customers?score[gte]=8&sort=email', of(({ score }) => Number(score) >= 8)],
  ] as const)
    assert.deepEqual(mails(await walked(node, path)), expected, path)
  const byStatus = (await walked(node, '/v3/customers?sort=status')).map(({ status }) => status)
  assert.deepEqual(byStatus, byStatus.toSorted())
  assert.equal(byStatus.length, rows)
  assert.deepEqual(
    (await walked(node, '/v4/customers?sort=name')).map(({ name }) => name),
    clients.map((one) => `${one.firstName} ${one.lastName}`).toSorted(),
  )
}

async function stored(place: Place, t: Parameters<(typeof places)[number][1]>[0]): Promise<Made & { old: Node }> {
  const old = nodeOn(place, first)
  t.after(() => old.close())
  return { ...(await filled(old)), old }
}

for (const [store, make] of places)
  describe(`a database of the first version (${store})`, () => {
    test('is served by the fourth one from the first request on, and by it again', async (t) => {
      const place = await make(t)
      const { old, ...made } = await stored(place, t)
      const visit = (await old.ask('POST', `/clients/${made.clients[0]?.id}/visits`, { on: '2026-01-02' })).json
      await old.close()
      for (let runs = 0; runs < 2; runs++) {
        const node = nodeOn(place, history)
        t.after(node.close)
        await whole(node, made)
        assert.deepEqual((await node.ask('GET', `/v1/visits/${visit.id}`)).json, visit)
        assert.equal((await node.ask('POST', '/v1/clients', { ...made.clients[5], id: undefined })).status, 400)
        await node.close()
      }
    })

    test('is not taken back by a declaration that does not have its version', async (t) => {
      const place = await make(t)
      const dated = { v1: { released: '2025-01-15' }, v2: { released: '2026-01-15' } }
      const two = service({
        name: 'things',
        versions: dated,
        resources: { things: { fields: { name: f.text(), note: f.text({ optional: true }) }, access: 'public' } },
      }).change('v2', 'things', {
        about: '`label` is called `name`, and `note` is new.',
        renamed: { label: 'name' },
        added: ['note'],
      })
      const node = nodeOn(place, two)
      t.after(node.close)
      const made = (await node.ask('POST', '/v2/things', { name: 'a', note: 'b' })).json
      await node.close()
      const one = service({
        name: 'things',
        versions: { v1: dated.v1 },
        resources: { things: { fields: { label: f.text() }, access: 'public' } },
      })
      await assert.rejects(
        async () => nodeOn(place, one).ask('GET', '/things'),
        /The rows of things are stored in the form of v2, which this declaration does not have/,
      )
      const again = nodeOn(place, two)
      t.after(again.close)
      assert.deepEqual((await again.ask('GET', `/v2/things/${made.id}`)).json, made)
    })

    test('is migrated in batches, however many rows old nodes write meanwhile', async (t) => {
      const place = await make(t)
      const dated = { v1: { released: '2025-01-15' }, v2: { released: '2026-01-15' } }
      const field = (...values: [string, ...string[]]) => ({ status: f.enum(values, { filter: true }) })
      const one = service({
        name: 'things',
        versions: { v1: dated.v1 },
        resources: { things: { fields: field('open', 'shut'), access: 'public' } },
      })
      const two = service({
        name: 'things',
        versions: dated,
        resources: { things: { fields: field('active', 'closed'), access: 'public' } },
      }).change('v2', 'things', {
        about: '`open` is called `active`, and `shut` `closed`.',
        mapped: { status: { open: 'active', shut: 'closed' } },
      })
      const old = nodeOn(place, one)
      t.after(old.close)
      await old.ask('POST', '/things', { status: 'open' })
      await alive(place)
      await applied(place, two)
      const young = nodeOn(place, two)
      t.after(young.close)
      await Promise.all(Array.from({ length: 1700 }, () => old.ask('POST', '/things', { status: 'shut' })))
      const totals = await Promise.all(
        ['closed', 'active', 'closed'].map((status) => young.ask('GET', `/v2/things?status=${status}&page_size=1`)),
      )
      assert.deepEqual(
        totals.map(({ json }) => json.pagination.totalRecords),
        [1700, 1, 1700],
      )
    })

    test('is served by both, with writes of either, until the first one has stopped', async (t) => {
      const place = await make(t)
      const { old, ...made } = await stored(place, t)
      await alive(place)
      assert.deepEqual((await applied(place, history)).waitsFor, ['old'])
      const young = nodeOn(place, history)
      t.after(young.close)
      await whole(young, made)
      assert.deepEqual(await walked(old, '/clients?sort=mail'), made.clients)

      const [one, two] = made.clients as [Record<string, unknown>, Record<string, unknown>]
      assert.equal((await old.ask('PATCH', `/clients/${one.id}`, { status: 'open', lastName: 'Changed' })).status, 200)
      const seen = (await young.ask('GET', '/v4/customers?status=active&name[like]=%25Changed&sort=email')).json.data
      assert.deepEqual(mails(seen), [one.mail])
      assert.deepEqual((await young.ask('GET', `/v4/customers?status=closed&email=${one.mail}`)).json.data, [])
      assert.equal(
        (await young.ask('PATCH', `/v4/customers/${two.id}`, { status: 'closed', name: 'New Name' })).status,
        200,
      )
      const reported = (await old.ask('GET', `/clients/${two.id}`)).json
      assert.deepEqual(
        [reported.firstName, reported.lastName, reported.status, reported.country],
        ['New', 'Name', 'shut', two.country],
      )
      for (const [path, expected] of [
        [`/clients?status=shut&mail=${two.mail}`, [two.mail]],
        [`/clients?status=open&mail=${two.mail}`, []],
        ['/clients?firstName=New', [two.mail]],
        ['/clients?firstName=First1', []],
      ] as const)
        assert.deepEqual(mails((await old.ask('GET', path)).json.data), expected, path)

      const fresh = await young.ask('POST', '/v4/customers', {
        name: 'Zed Young',
        email: 'zed@example.com',
        accountId: made.accounts[2],
      })
      assert.equal(fresh.status, 201)
      const shown = (await old.ask('GET', '/clients?mail=zed@example.com')).json.data[0]
      assert.deepEqual([shown.firstName, shown.status, shown.country], ['Zed', 'open', 'DE'])
      assert.deepEqual(mails((await old.ask('GET', '/clients?country=DE&firstName=Zed')).json.data), [
        'zed@example.com',
      ])
      assert.equal(
        (
          await old.ask('POST', '/clients', {
            ...reported,
            id: undefined,
            createdAt: undefined,
            updatedAt: undefined,
            mail: 'zed@example.com',
          })
        ).status,
        409,
      )

      await place.rows('DELETE FROM bylaw_nodes')
      assert.deepEqual((await applied(place, history)).left, [])
      assert.equal((await walked(young, '/v1/clients')).length, rows + 1)
      assert.deepEqual(mails((await young.ask('GET', '/v4/customers?status=closed&name=New%20Name')).json.data), [
        two.mail,
      ])
      assert.deepEqual((await young.ask('GET', `/v1/clients/${two.id}`)).json.status, 'shut')
    })
  })
