/** Parallel requests are sent as few statements, and changes of one row wait for each other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceOnServer } from './service-on-server.ts'

const many = 60

test('concurrent requests share few statements, and each gets its own result', { timeout: 180_000 }, async (t) => {
  const { server, call } = await serviceOnServer(t)
  const spent = () => Number(server.psql('SELECT txid_current()'))
  const before = spent()
  const made = await Promise.all(Array.from({ length: many }, (_, n) => call('POST', '/things', { name: `n${n}` })))
  assert.deepEqual(
    made.map(({ status }) => status),
    Array(many).fill(201),
  )
  const between = spent()
  assert.ok(between - before <= many / 2, `${between - before} transactions`)
  const changed = await Promise.all(made.map(({ json }, n) => call('PATCH', `/things/${json.id}`, { count: n + 1 })))
  assert.deepEqual(
    changed.map(({ json }) => json.count),
    made.map((_, n) => n + 1),
  )
  assert.ok(spent() - between <= many / 2, `${spent() - between} transactions`)
  const read = await Promise.all(made.map(({ json }) => call('GET', `/things/${json.id}`)))
  assert.deepEqual(
    read.map(({ json }) => [json.name, json.count]),
    made.map((_, n) => [`n${n}`, n + 1]),
  )
})

test('concurrent changes of one row are done one after the other, each once', { timeout: 180_000 }, async (t) => {
  const { server, call } = await serviceOnServer(t)
  const { json } = await call('POST', '/things', { name: 'one' })
  const before = Number(server.psql('SELECT txid_current()'))
  const all = await Promise.all(
    Array.from({ length: many }, (_, n) => call('PATCH', `/things/${json.id}`, { count: n + 1 })),
  )
  assert.deepEqual(
    all.map(({ status }) => status),
    Array(many).fill(200),
  )
  const spent = Number(server.psql('SELECT txid_current()')) - before
  assert.ok(spent <= many + 5, `${spent} transactions`)
  assert.equal(server.psql('SELECT revision FROM things'), String(many + 1))
})
