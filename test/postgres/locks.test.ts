/** Another session locks or changes a table: requests for it wait without blocking others, and none gets a 500. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import pg from 'pg'
import { node, serviceOnServer } from './service-on-server.ts'

const fields = { name: f.text({ max: 100 }) }
const api = service({
  name: 'two',
  resources: { things: { fields, access: 'public' }, others: { fields, access: 'public' } },
})

test('reads of a locked table do not block others, and are refused with 503 or answered', {
  timeout: 60_000,
}, async (t) => {
  const { server } = await serviceOnServer(t)
  const own = await node(server.url, api)
  t.after(own.close)
  const [thing, other] = await Promise.all(
    ['things', 'others'].map(async (name) => {
      const made = await own.call('POST', `/${name}`, { name: 'a' })
      return `/${name}/${made.json.id}`
    }),
  )
  const client = new pg.Client(server.url)
  client.on('error', () => {})
  await client.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE things IN ACCESS EXCLUSIVE MODE')
  const order: string[] = []
  const reads = Array.from({ length: 30 }, async () => {
    const answer = await own.call('GET', thing as string)
    order.push('thing')
    return answer
  })
  const read = await own.call('GET', other as string)
  order.push('other')
  assert.equal(read.status, 200)
  for (const { status, retryAfter, json } of await Promise.all(reads)) {
    assert.equal(status, 503, JSON.stringify(json))
    assert.equal(json.type, 'timeout')
    assert.ok(Number(retryAfter) > 0)
  }
  assert.equal(order[0], 'other')
  const held = Array.from({ length: 30 }, () => own.call('GET', thing as string))
  await own.call('GET', other as string)
  await client.query('COMMIT')
  await client.end()
  for (const { status } of await Promise.all(held)) assert.equal(status, 200)
  assert.deepEqual(
    own.errors.filter((about) => /internal-error/.test(JSON.stringify(about))),
    [],
  )
})

test('statements that were prepared before a table changed are prepared again', { timeout: 30_000 }, async (t) => {
  const { call, server } = await serviceOnServer(t)
  const { json } = await call('POST', '/things', { name: 'a' })
  const path = `/things/${json.id}`
  for (const type of ['integer', 'bigint']) {
    assert.equal((await call('GET', path)).status, 200)
    server.psql(`ALTER TABLE things ALTER COLUMN revision TYPE ${type}`)
    const all = [
      ...Array.from({ length: 10 }, () => call('GET', path)),
      call('PUT', path, { name: `as ${type}` }),
      call('POST', '/things', { name: type }),
    ]
    assert.deepEqual(
      (await Promise.all(all)).map(({ status }) => status),
      [...Array(11).fill(200), 201],
    )
  }
})
