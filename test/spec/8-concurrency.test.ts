/** Part 8 of the contract: the limit of parallel requests. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { type PendingRequest, startRequest } from '../help/pending-request.ts'

const resources = { notes: { prefix: 'not', plural: true, fields: { text: f.text() }, access: 'public' } } as const
const narrow = service({ name: 'narrow', resources, settings: { limits: { concurrency: 2 } } })
const wide = service({ name: 'wide', resources })

doors(
  'concurrency',
  narrow,
  (door) => {
    spec('R185', 'more requests than may be handled at a time are refused', async () => {
      const pending = [await startRequest(door.port), await startRequest(door.port)]
      for (const [method, path] of [
        ['GET', '/notes'],
        ['POST', '/notes'],
        ['OPTIONS', '/notes'],
      ] as const) {
        const { status, headers, json } = await door.send(
          method,
          path,
          method === 'POST' ? { json: { text: 'a' } } : {},
        )
        assert.deepEqual([status, json?.type, headers['cache-control']], [503, 'overloaded', 'no-store'], method)
        assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/)
      }
      for (const path of ['/healthz', '/readyz']) assert.equal((await door.send('GET', path)).status, 200, path)
      for (const { finish } of pending) assert.match(await finish(), /^HTTP\/1\.1 201 /)
      assert.equal((await door.send('GET', '/notes')).status, 200)
    })

    spec('R185', 'a request counts until its answer has left, not only until it is made', async () => {
      for (let n = 0; n < 100; n++) await door.send('POST', '/notes', { json: { text: 'x'.repeat(10_000) } })
      const slow = [1, 2].map(() => {
        const socket = connect(door.port, '127.0.0.1').pause()
        socket.write('GET /notes?page_size=100 HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20))
        return socket
      })
      while ((await door.send('GET', '/notes')).status !== 503);
      for (const socket of slow) socket.resume()
      while ((await door.send('GET', '/notes')).status !== 200);
      for (const socket of slow) socket.destroy()
    })

    spec('R185', 'a client that disconnects, or is refused, frees its place', async () => {
      const entered = async (): Promise<PendingRequest> => {
        for (;;) {
          const one = await startRequest(door.port)
          if (one.firstAnswer.startsWith('HTTP/1.1 100 ')) return one
          one.socket.destroy()
        }
      }
      for (let i = 0; i < 5; i++) (await entered()).socket.destroy()
      const both = [await entered(), await entered()]
      assert.equal((await door.send('GET', '/nope')).status, 503)
      for (const { finish } of both) assert.match(await finish(), /^HTTP\/1\.1 201 /)
      for (let i = 0; i < 5; i++) assert.equal((await door.send('GET', '/nope')).status, 404)
      const [one, other] = [await startRequest(door.port), await door.send('GET', '/notes')]
      assert.equal(other.status, 200)
      assert.match(await one.finish(), /^HTTP\/1\.1 201 /)
    })
  },
  { socketOnly: true },
)

doors(
  'no bound',
  wide,
  (door) => {
    spec('R185', 'without the setting no request is refused', async () => {
      const pending = await Promise.all(Array.from({ length: 300 }, () => startRequest(door.port)))
      assert.equal((await door.send('GET', '/notes')).status, 200)
      for (const answer of await Promise.all(pending.map(({ finish }) => finish())))
        assert.match(answer, /^HTTP\/1\.1 201 /)
    })
  },
  { socketOnly: true },
)
