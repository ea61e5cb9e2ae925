/** Part 8 of the contract: what a caller may have under way at a time, and what is refused when there is too much to do. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { f, service } from 'bylaw'
import { type Network, networkOf } from '../../src/flow/network.ts'
import type { Store } from '../../src/flow/store.ts'
import { doors, spec } from '../help/door.ts'

const resources = { notes: { prefix: 'not', plural: true, fields: { text: f.text() }, access: 'public' } } as const

const content = '{"text":"abc"}'

/** A request that is inside and waits for the rest of its content. */
async function guest(port: number, from: string): Promise<{ finish: () => Promise<string>; socket: Socket }> {
  const socket = connect(port, '127.0.0.1')
  const head = `POST /notes HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${from}\r\nContent-Type: application/json\r\nContent-Length: ${content.length}\r\n\r\n`
  await new Promise((resolve) => socket.write(head + content.slice(0, 5), resolve))
  await pause(50)
  const finish = async (): Promise<string> => {
    const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString('latin1'))))
    socket.write(content.slice(5))
    const text = await answer
    socket.destroy()
    return text
  }
  return { finish, socket }
}

doors(
  'the share of a caller',
  service({ name: 'shared', resources, settings: { limits: { callerConcurrency: 2 } } }),
  (door) => {
    const from = (address: string) => door.send('GET', '/notes', { headers: { 'x-forwarded-for': address } })

    spec('R185', 'a caller has a limited number of requests under way, and does not block others', async () => {
      const guests = [await guest(door.port, '192.0.2.1'), await guest(door.port, '192.0.2.1')]
      const refused = await from('192.0.2.1')
      assert.deepEqual([refused.status, refused.json.type], [429, 'too-many-concurrent-requests'])
      assert.equal(refused.headers['retry-after'], '1')
      assert.match(refused.json.message, /^2 requests of one caller are handled at a time\./)
      assert.equal((await from('192.0.2.2')).status, 200)
      for (const { finish } of guests) assert.match(await finish(), /^HTTP\/1\.1 201 /)
      assert.equal((await from('192.0.2.1')).status, 200)
    })

    spec('R185', 'a request that is refused, or whose client disconnects, frees its place', async () => {
      for (let n = 0; n < 4; n++) (await guest(door.port, '192.0.2.3')).socket.destroy()
      await pause(50)
      for (let n = 0; n < 4; n++) assert.equal((await from('192.0.2.3')).status, 200)
    })
  },
  { socketOnly: true, proxies: [networkOf('127.0.0.1') as Network] },
)

let busy = 0
/** A store whose reads stop the loop for a while. */
const heavy = (store: Store): Store => ({
  ...store,
  mark: () => null, // or what was read would be known
  execute: (plan) => {
    const until = performance.now() + busy
    while (performance.now() < until);
    return store.execute(plan)
  },
})

doors(
  'strain',
  service({ name: 'strained', resources, settings: { limits: { loopDelay: 'PT0.05S' } } }),
  (door) => {
    spec(
      'R161',
      'while the event loop is late requests are refused and probes are not; later requests are accepted again',
      async () => {
        busy = 120
        const seen: { status: number; type?: string; retry: string | undefined }[] = []
        let over = false
        const client = async () => {
          while (!over) {
            const { status, json, headers } = await door.send('GET', '/notes')
            seen.push({ status, type: json.type, retry: headers['retry-after'] })
            if (status === 503) over = true
          }
        }
        const late = setTimeout(() => {
          over = true
        }, 20_000)
        await Promise.all(Array.from({ length: 8 }, client))
        clearTimeout(late)
        const refused = seen.find(({ status }) => status === 503)
        assert.equal(refused?.type, 'overloaded')
        assert.match(refused?.retry ?? '', /^[1-5]$/)
        assert.ok(seen.filter(({ status }) => status === 200).length >= 5, 'one pause is no overload')
        for (const path of ['/healthz', '/readyz']) assert.equal((await door.send('GET', path)).status, 200, path)
        busy = 0
        for (let n = 0; n < 100 && (await door.send('GET', '/notes')).status !== 200; n++) await pause(50)
        assert.equal((await door.send('GET', '/notes')).status, 200)
        assert.deepEqual(door.errors.length > 0, true, 'it is written down')
      },
    )
  },
  { socketOnly: true, store: heavy },
)
