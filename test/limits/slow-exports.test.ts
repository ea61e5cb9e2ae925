/** R238: an export whose reader is too slow is cut, and one that is read goes on for as long as it takes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { callerGate } from '../../src/corridor/server-context.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { testWorld } from '../help/world.ts'

const shop = service({
  name: 'shop',
  resources: { notes: { prefix: 'not', fields: { text: f.text() }, exports: true, access: 'public' } },
})

/** A service whose list has 600 items, and its door. */
async function serve(t: { after: (act: () => unknown) => void }) {
  const own = testWorld()
  const store = await openStore(shop, 'sqlite::memory:', 'apply', {}, own)
  t.after(() => store.close())
  const world = serviceWorld(own, store)
  const log = { error: () => assert.fail(), warn: () => {}, info: () => {} }
  const authenticate = callerGate(shop, store, world)
  const door = fetchDoor({ service: shop, store, world, authenticate, log, open: () => true })
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
