/** A process that embeds a service ends by itself after the close of the service. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, connect as open, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { compiled, folder } from '../help/command.ts'
import { freshPostgres } from '../help/postgres.ts'
import { listening } from '../help/sinks.ts'

const program = fileURLToPath(new URL('../help/ending-node.ts', import.meta.url))

/** The output of a process until it ends. */
async function said(scenario: string, database: string): Promise<readonly string[]> {
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const child = spawn(process.execPath, ['--conditions=bylaw-source', program, scenario, database], {
    env: { ...env, ...compiled },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 30_000,
  })
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.equal(code, 0, said)
  return said.trim().split('\n')
}

async function ownDatabase(t: TestContext): Promise<string> {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  return url
}

/** The URL of a database through a proxy that hides from its client when the server ends a connection. */
async function withoutEnd(t: TestContext, url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const both = (from: Socket, to: Socket) => from.on('error', () => {}).on('data', (bytes) => to.write(bytes))
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const server = open(Number(port), hostname)
    both(client, server).on('end', () => server.end())
    both(server, client)
  })
  return Object.assign(new URL(url), { host: `127.0.0.1:${await listening(t, proxy)}` }).href
}

test('although the database server does not end its connections', { timeout: 60_000 }, async (t) => {
  const database = await withoutEnd(t, await ownDatabase(t))
  assert.deepEqual(await said('plain', database), ['answered 201'])
})

test('although the `close` of the handlers fails, which `app.close` reports', { timeout: 60_000 }, async (t) => {
  assert.deepEqual(await said('own close fails', await ownDatabase(t)), [
    'answered 201',
    'The close failed: The mail has no end.',
  ])
})

test('although the `close` of the handlers never ends, which the log names', { timeout: 60_000 }, async (t) => {
  assert.deepEqual(await said('own close never ends', await ownDatabase(t)), [
    'answered 201',
    'The stop did not wait any longer for `close` of the handlers. What they were doing may be cut off.',
  ])
})

test('after an export that was asked for after the close', { timeout: 60_000 }, async (t) => {
  assert.deepEqual(await said('export after the close', await ownDatabase(t)), ['answered 503'])
})

test('although nobody reads an export that was begun before', { timeout: 60_000 }, async () => {
  assert.deepEqual(await said('unread export', `sqlite:${join(folder(), 'notes.db')}`), ['answered 200'])
})

test('after a start that failed: its parts end, and the value of `use` is released', { timeout: 60_000 }, async () => {
  assert.deepEqual(await said('start fails', `sqlite:${join(folder(), 'packed.db')}`), [
    'The start failed: no such table: bylaw_reactions',
  ])
})

const notes = { prefix: 'not', fields: { text: f.text() }, access: 'public' } as const
const packings = { at: 'collection', asynchronous: true, access: 'public' } as const
const packed = service({ name: 'packed', resources: { notes: { ...notes, operations: { packings } } } } as never)
const handlersOf = (options: object): Service =>
  (packed as unknown as { handlers: (...given: readonly object[]) => Service }).handlers(
    { notes: { packings: async () => {} } },
    options,
  )

test('the close of a service under test ends requests that wait for an operation', async () => {
  const { call, close } = testing(handlersOf({}))
  const create = (headers = {}) => call('/notes/packings', { method: 'POST', json: {}, headers })
  const waiting = create({ prefer: 'wait=20' })
  for (let i = 0; i < 3; i++) assert.equal((await create()).status, 202) // writes keep their order, so now it waits
  await close()
  assert.equal((await waiting).status, 202)
})

test('calls of a service under test after its close are refused', async () => {
  const api = service({ name: 'notes', events: true, resources: { notes } }) as unknown as Service
  const { call, pass, close } = testing(api)
  await call('/notes', { method: 'POST', json: { text: 'a' } })
  await close()
  for (const one of [call('/notes'), call('/notes', { as: {} }), call('/notes', { method: 'POST', json: {} })]) {
    const answer = await one
    assert.deepEqual(
      [answer.status, ((await answer.json()) as { message: string }).message],
      [503, 'The service has stopped.'],
    )
  }
  await assert.rejects(pass('PT1S'), /The service under test is closed\./)
})

test('the close of a service under test succeeds although `use` has failed', async () => {
  const released: unknown[] = []
  const use = () => Promise.reject(new Error('There is no mail.'))
  const { call, pass, close } = testing(handlersOf({ use, close: (used: unknown) => released.push(used) }))
  await call('/notes/packings', { method: 'POST', json: {} })
  await pass('PT1S')
  await close()
  assert.deepEqual(released, [])
})
