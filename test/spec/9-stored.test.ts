import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { freshFile, rows } from '../help/file.ts'
import { freshPostgres, sql } from '../help/postgres.ts'

const first = service({
  name: 'people',
  versions: { v1: { released: '2025-01-01' } },
  resources: {
    people: {
      prefix: 'per',
      fields: {
        firstName: f.text(),
        lastName: f.text({ default: '' }),
        mail: f.email({ unique: true, filter: true }),
        status: f.enum(['open', 'shut'], { default: 'open', filter: true }),
        phone: f.text({ optional: true }),
        price: f.decimal({ scale: 2, filter: true }),
        secret: f.text({ optional: true, writeOnly: true }),
      },
      access: 'public',
    },
  },
})

const second = service({
  name: 'people',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: {
    people: {
      prefix: 'per',
      fields: {
        name: f.text({ filter: 'like', sort: true }),
        email: f.email({ unique: true, filter: true }),
        status: f.enum(['active', 'closed'], { default: 'active', filter: true }),
        phone: f.text({ filter: true }),
        price: f.integer({ filter: true }),
        note: f.text({ optional: true }),
        secret: f.text({ optional: true, writeOnly: true }),
      },
      access: 'public',
    },
  },
}).change('v2', 'people', {
  about: 'One name, other words, a phone, whole cents.',
  renamed: { mail: 'email' },
  removed: { firstName: f.text(), lastName: f.text({ default: '' }) },
  added: ['name', 'note'],
  retyped: { price: f.decimal({ scale: 2, filter: true }) },
  mapped: { status: { open: 'active', shut: 'closed' } },
  required: { phone: 'unknown' },
  request: ({ firstName, lastName, price }) => ({
    name: `${firstName} ${lastName}`.trim(),
    price: Math.round(Number(price) * 100),
  }),
  response: ({ name, price }) => {
    const [firstName = '', ...rest] = name.split(' ')
    return { firstName, lastName: rest.join(' '), price: (price / 100).toFixed(2) }
  },
  filters: { price: ({ is, value }) => [{ field: 'price', is, value: Math.round(Number(value) * 100) }] },
})

const ann = { firstName: 'Ann', lastName: 'Lee', mail: 'ann@example.com', status: 'shut', price: '1.50', secret: 's' }

/** Starts a service on a database and sends requests to it. */
function asker(api: Service, database: string) {
  const { call, close } = testing(api, { database })
  const ask = async (method: string, path: string, json?: object) => {
    const answer = await call(path, { method, ...(json && { json }) })
    const { createdAt, updatedAt, ...body } = JSON.parse(await answer.text())
    return { status: answer.status, body }
  }
  return { ask, close }
}

interface Place {
  readonly url: string
  /** Adds the presence of a node with the former declaration. */
  readonly beat: () => Promise<unknown>
}

const alive = (now: string) => `INSERT INTO bylaw_nodes VALUES ('old', 'old', ${now})`
const databases: [name: string, make: (t: TestContext) => Promise<Place>][] = [
  [
    'SQLite',
    async (t) => {
      const file = freshFile(t)
      return { url: `sqlite:${file}`, beat: async () => rows(file, alive("unixepoch('subsec') * 1000")) }
    },
  ],
  [
    'PostgreSQL',
    async (t) => {
      const { url, drop } = await freshPostgres()
      t.after(drop)
      return { url, beat: () => sql(url, alive('extract(epoch FROM now()) * 1000')) }
    },
  ],
]

for (const [name, make] of databases) {
  test(`R196: rows that were stored before the first version belong to it (${name})`, async (t) => {
    const { url } = await make(t)
    const old = asker(first, url)
    const { id } = (await old.ask('POST', '/people', ann)).body
    await old.close()
    const { ask, close } = asker(second, url)
    t.after(close)
    const now = {
      ...{ id, name: 'Ann Lee', email: 'ann@example.com', status: 'closed' },
      ...{ phone: 'unknown', price: 150, note: null },
    }
    assert.deepEqual(await ask('GET', `/v2/people/${id}`), { status: 200, body: now })
    const { secret, ...shown } = ann
    const { body } = await ask('GET', `/v1/people/${id}`)
    assert.deepEqual(body, { id, ...shown, phone: 'unknown' })
    for (const path of [
      '/v2/people?status=closed&email=ann@example.com&price=150&phone=unknown&name=Ann%20Lee',
      '/v1/people?status=shut&mail=ann@example.com&price=1.50',
    ]) {
      const { data } = (await ask('GET', path)).body
      assert.deepEqual(
        data.map((one: { id: string }) => one.id),
        [id],
        path,
      )
    }
    assert.equal((await ask('POST', '/v1/people', ann)).status, 409)
  })

  test(`R196: nodes of both declarations read the rows of each other (${name})`, async (t) => {
    const { url, beat } = await make(t)
    const old = asker(first, url)
    t.after(old.close)
    const { id } = (await old.ask('POST', '/people', ann)).body
    await beat()
    const fresh = asker(second, url)
    t.after(fresh.close)
    const seen = (await fresh.ask('GET', `/v2/people/${id}`)).body
    assert.deepEqual([seen.name, seen.status, seen.price], ['Ann Lee', 'closed', 150])
    const changed = await fresh.ask('PATCH', `/v2/people/${id}`, { name: 'Ann Ray', status: 'active', note: 'n' })
    assert.equal(changed.status, 200)
    const read = (await old.ask('GET', `/people/${id}`)).body
    assert.deepEqual(
      [read.firstName, read.lastName, read.mail, read.status, read.price],
      [...['Ann', 'Ray', 'ann@example.com', 'open', '1.50']],
    )
    assert.equal((await old.ask('PATCH', `/people/${id}`, { lastName: 'May' })).status, 200)
    const last = (await fresh.ask('GET', `/v2/people/${id}`)).body
    assert.deepEqual([last.name, last.status, last.note], ['Ann May', 'active', 'n'])
  })
}
