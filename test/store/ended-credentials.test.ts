/** Requests that take long end with their credentials: imports and uploads, on both stores. R172, R238. The store. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, service } from 'bylaw'
import { revokeKeys } from '../../src/auth/key-table.ts'
import { memoryContents } from '../../src/contents/memory.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { openContext } from '../help/context.ts'
import { keyFor } from '../help/door.ts'
import { type Place, places } from '../help/places.ts'
import { until } from '../help/until.ts'

const api = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ max: 1_000_000 }), scan: f.file() },
      imports: true,
      access: 'authenticated',
    },
  },
})
/** Longer than the time for which a key is cached, in milliseconds. */
const cached = 1100
/** Two lines with a note of this length fill a transaction. */
const half = 600_000

/** A node with two keys. `begin` sends a request whose content the test writes piece by piece. */
async function nodeOn(t: TestContext, { url }: Place) {
  const store = await openStore(api, url, 'apply', {})
  t.after(() => store.close())
  const world = serviceWorld(realWorld, store, undefined, memoryContents())
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const door = fetchDoor(openContext(api, store, world, log))
  const now = Date.now()
  const [kept, lost] = [await keyFor(store, 'kept', {}, now), await keyFor(store, 'lost', {}, now)]
  const revoke = async () => {
    await revokeKeys(store, [`key_lost_${now}`], Date.now())
    await pause(cached)
  }
  const begin = (method: string, path: string, headers: Readonly<Record<string, string>>) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const request = new Request(`http://a${path}`, {
      method,
      headers: { ...lost, ...headers },
      body: readable,
      duplex: 'half',
    })
    const answer = door(request)
    const write = (text: string) => writer.write(new TextEncoder().encode(text)).catch(() => {})
    return { answer, write, end: () => writer.close().catch(() => {}) }
  }
  const send = async (method: string, path: string, json?: object) => {
    const headers = { ...kept, 'content-type': 'application/json' }
    const answer = await door(
      new Request(`http://a${path}`, { method, headers, ...(json && { body: JSON.stringify(json) }) }),
    )
    // biome-ignore lint/suspicious/noExplicitAny: answers are read as they are
    return { status: answer.status, json: (await answer.json()) as any }
  }
  const count = async () => (await send('GET', '/orders?page_size=1')).json.pagination.totalRecords as number
  return { revoke, begin, send, count }
}

const line = (letter: string) => `${JSON.stringify({ note: letter.repeat(half) })}\n`

for (const [name, place] of places)
  describe(name, () => {
    test('R172 R238: an import creates nothing more once its key is revoked', async (t) => {
      const { begin, revoke, count } = await nodeOn(t, await place(t))
      const { answer, write, end } = begin('POST', '/orders/imports', { 'content-type': 'application/x-ndjson' })
      await write(line('a') + line('b'))
      await until(async () => (await count()) >= 2)
      await revoke()
      await write(line('c') + line('d'))
      await end()
      const { status } = await answer
      const problem = (await (await answer).json()) as { readonly type: string; readonly message: string }
      assert.deepEqual([status, problem.type], [401, 'invalid-credentials'])
      assert.match(problem.message, /Lines up to 2 were imported/)
      assert.equal(await count(), 2)
    })

    test('R172: the first lines of an import are refused too if its key is revoked before they arrive', async (t) => {
      const { begin, revoke, count } = await nodeOn(t, await place(t))
      const { answer, write, end } = begin('POST', '/orders/imports', { 'content-type': 'application/x-ndjson' })
      await write('{"note":')
      await revoke()
      await write('"a"}\n')
      await end()
      assert.equal((await answer).status, 401)
      assert.equal(await count(), 0)
    })

    test('R172: an upload is not stored if its key is revoked before its end', async (t) => {
      const { begin, revoke, send } = await nodeOn(t, await place(t))
      const { id } = (await send('POST', '/orders', { note: 'a' })).json
      const { answer, write, end } = begin('PUT', `/orders/${id}/scan`, { 'content-type': 'text/plain' })
      await write('first part')
      await revoke()
      await write('second part')
      await end()
      assert.equal((await answer).status, 401)
      assert.equal((await send('GET', `/orders/${id}`)).json.scan, null)
    })
  })
