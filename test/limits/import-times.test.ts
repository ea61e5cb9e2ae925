/** R238, R180: while bytes flow no time-out ends an import; a sender that stops is refused, and what was committed stays. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, service } from 'bylaw'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { listen } from '../../src/http/listening.ts'
import { openStore } from '../../src/terminal/open.ts'
import { openContext } from '../help/context.ts'
import { until } from '../help/until.ts'

const shop = service({
  name: 'shop',
  resources: { notes: { prefix: 'not', fields: { text: f.text() }, imports: true, access: 'public' } },
  settings: {
    limits: { requestTimeout: 'PT1S', headersTimeout: 'PT1S', handlerTimeout: 'PT1S', idleTimeout: 'PT2S', body: 1000 },
  },
})

async function opened(t: { after: (act: () => unknown) => void }) {
  const store = await openStore(shop, 'sqlite::memory:', 'apply', {}, realWorld)
  const world = serviceWorld(realWorld, store)
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const server = await listen(openContext(shop, store, world, log), { port: 0, host: '127.0.0.1' })
  t.after(async () => {
    await server.stop(0)
    await store.close()
  })
  return server.url
}

/** A connection on which content is sent in chunks, and the text that comes back. */
function sender(url: string, path: string, type: string) {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nIdempotency-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  const chunk = (content: string) => socket.write(`${Buffer.byteLength(content).toString(16)}\r\n${content}\r\n`)
  return { chunk, end: () => socket.write('0\r\n\r\n'), closed, text: () => text, destroy: () => socket.destroy() }
}

test('R238 R180: an import may take longer than any other request, as long as its bytes flow', async (t) => {
  const url = await opened(t)
  const { chunk, end, text, destroy } = sender(url, '/notes/imports', 'application/x-ndjson')
  for (let i = 0; i < 16; i++) {
    chunk(`{"text":"${'x'.repeat(200)}"}\n{"te`)
    chunk('xt":"b"}\n')
    await pause(200)
  }
  const listed = (await (await fetch(`${url}/notes`)).json()) as { pagination: { totalRecords: number } }
  assert.ok(listed.pagination.totalRecords > 0) // the lines that have arrived are imported without waiting for a slow sender
  end()
  await until(() => text().includes('created'))
  assert.match(text(), /^HTTP\/1\.1 200 /)
  assert.match(text(), /"created":32,/)
  destroy()
})

test('R238 R180: a sender that stops is refused, and its next try goes on', async (t) => {
  const url = await opened(t)
  const lines = '{"text":"a"}\n'.repeat(600)
  const stalled = sender(url, '/notes/imports', 'application/x-ndjson')
  stalled.chunk(`${lines}{"text"`)
  const text = await stalled.closed
  assert.match(text, /^HTTP\/1\.1 408 /)
  assert.match(text, /Send it again with the same Idempotency-Key: it goes on after line [56]00\./)
  const headers = { 'content-type': 'application/x-ndjson', 'idempotency-key': 'k' }
  const repeat = await fetch(`${url}/notes/imports`, { method: 'POST', headers, body: `${lines}{"text":"b"}\n` })
  assert.equal(repeat.status, 200)
  assert.match(await repeat.text(), /^\{"created":601,/)
})

test('R180: other requests of the same service still end after their time', async (t) => {
  const url = await opened(t)
  const slow = sender(url, '/notes', 'application/json')
  slow.chunk('{"te')
  assert.match(await slow.closed, /^HTTP\/1\.1 408 /)
  const { port, hostname } = new URL(url)
  const head = connect(Number(port), hostname)
  let answer = ''
  head.on('data', (bytes) => {
    answer += bytes
  })
  head.write('POST /notes/imports HTTP/1.1\r\nHost: a\r\n')
  await new Promise((resolve) => head.on('close', resolve))
  assert.match(answer, /^HTTP\/1\.1 408 /)
})
