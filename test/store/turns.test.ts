/** Proves that a read is never older than an answer that was sent before its request. The store. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { f } from 'bylaw'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { listen } from '../../src/http/listening.ts'
import { openStore } from '../../src/terminal/open.ts'
import { openContext } from '../help/context.ts'
import { freshFile, things } from '../help/file.ts'
import { message } from '../help/wire.ts'

const api = things({ name: f.text() })

async function connected(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    sockets.push(socket)
  }
  return sockets
}

/** The name in the answer on a connection. */
async function shown(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    const name = /"name":"(\w+)"/.exec(text)?.[1]
    if (name !== undefined) return name
  }
  return text
}

test('a request after a commit of another process sees it, however many come in at once', {
  timeout: 180_000,
}, async (t) => {
  const file = freshFile(t)
  const own = await openStore(api, `sqlite:${file}`, 'apply')
  const other = new DatabaseSync(file)
  let onRead = () => {}
  const store: Store = {
    ...own,
    execute: (plan) => {
      const outcome = own.execute(plan)
      if (plan.do === 'read') onRead()
      return outcome
    },
  }
  const world = serviceWorld(realWorld, store)
  const log = { error: () => assert.fail(), warn: () => {}, info: () => {} }
  const context = openContext(api, store, world, log)
  const { url, stop } = await listen(context, { port: 0, host: '127.0.0.1' })
  const port = Number(new URL(url).port)
  const made = await fetch(`${url}/things`, {
    method: 'POST',
    body: '{"name":"old"}',
    headers: { 'content-type': 'application/json' },
  })
  const { id } = (await made.json()) as { id: string }
  const get = message(`GET /things/${id}`)

  // More than the system accepts at once, so that the rest is accepted in the same turn.
  const many = await connected(port, 1100)
  const late = await connected(port, 20)
  t.after(async () => {
    for (const socket of [...many, ...late]) socket.destroy()
    await stop(0)
    await own.close()
    other.close()
  })
  onRead = () => {
    onRead = () => {}
    other.exec(`UPDATE things SET doc = replace(doc, 'old', 'new'), revision = revision + 1`)
    for (const socket of late) socket.write(get)
  }
  const names = late.map(shown)
  for (const socket of many) socket.write(get)
  assert.deepEqual(new Set(await Promise.all(names)), new Set(['new']))
})
