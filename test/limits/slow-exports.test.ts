/** R238: an export whose reader is too slow is cut, and one that is read goes on for as long as it takes. */
import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { listen } from '../../src/http/listening.ts'
import { openStore } from '../../src/terminal/open.ts'
import { openContext } from '../help/context.ts'
import { testWorld } from '../help/world.ts'

const shop = service({
  name: 'shop',
  resources: { notes: { prefix: 'not', fields: { text: f.text({ max: 100_000 }) }, exports: true, access: 'public' } },
})

/** A service whose list has 600 items, and its door. */
async function serve(t: { after: (act: () => unknown) => void }) {
  const own = testWorld()
  const store = await openStore(shop, 'sqlite::memory:', 'apply', {}, own)
  t.after(() => store.close())
  const world = serviceWorld(own, store)
  const log = { error: () => assert.fail(), warn: () => {}, info: () => {} }
  const door = fetchDoor(openContext(shop, store, world, log))
  const headers = { 'content-type': 'application/json' }
  const send = () => door(new Request('http://a/notes', { method: 'POST', headers, body: '{"text":"a"}' }))
  for (let i = 0; i < 600; i += 50) await Promise.all(Array.from({ length: 50 }, send))
  const answer = await door(new Request('http://a/notes', { headers: { accept: 'application/x-ndjson' } }))
  return { world: own, reader: (answer.body as ReadableStream<Uint8Array>).getReader() }
}

test('R238: a reader may pause for 20 seconds altogether, and a little longer for what it has read', async (t) => {
  const { world, reader } = await serve(t)
  for (const time of [9000, 9000]) {
    assert.equal((await reader.read()).done, false)
    await world.pass(time)
  }
  assert.equal((await reader.read()).done, false)
  await world.pass(9000)
  await assert.rejects(async () => {
    for (let next = await reader.read(); !next.done; ) next = await reader.read()
  }, /not read in time/)
})

test('R238: one that pauses for less gets everything', async (t) => {
  const { world, reader } = await serve(t)
  let bytes = 0
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    bytes += next.value.length
    await world.pass(3000)
  }
  assert.ok(bytes > 600 * 50)
})

/** A service that listens, whose list is too long for the buffers of the system. */
async function listening(t: { after: (act: () => unknown) => void }) {
  const store = await openStore(shop, 'sqlite::memory:', 'apply')
  const world = serviceWorld(realWorld, store)
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const context = openContext(shop, store, world, log)
  const [door, server] = [fetchDoor(context), await listen(context, { port: 0, host: '127.0.0.1' })]
  const [headers, body] = [{ 'content-type': 'application/json' }, JSON.stringify({ text: 'x'.repeat(100_000) })]
  const send = () => door(new Request('http://a/notes', { method: 'POST', headers, body }))
  for (let i = 0; i < 300; i += 50) await Promise.all(Array.from({ length: 50 }, send))
  t.after(async () => {
    await server.stop(100)
    await store.close()
  })
  return server
}

test('R162, R186, R238: an export that is not read when the process stops is broken off', async (t) => {
  const server = await listening(t)
  const answer = await new Promise<IncomingMessage>((resolve) =>
    get(`${server.url}/notes`, { headers: { accept: 'application/x-ndjson' } }, resolve).on('error', () => {}),
  )
  answer.on('error', () => {})
  await server.stop(100)
  await assert.rejects(async () => {
    for await (const _ of answer);
  })
  assert.equal(answer.complete, false)
})

test('R238: a client that has closed its half of the connection gets the whole export', async (t) => {
  const server = await listening(t)
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true })
  socket.end('GET /notes HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\n\r\n')
  let [length, end] = [0, '']
  for await (const bytes of socket) {
    length += bytes.length
    end = `${end}${bytes.subarray(-10)}`.slice(-10)
  }
  assert.ok(length > 300 * 100_000, String(length))
  assert.match(end, /\r\n0\r\n\r\n$/)
})
