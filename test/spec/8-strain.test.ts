/** Part 8 of the contract: the limit of parallel requests of one caller, and refusals under overload. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Network, networkOf } from '../../src/flow/network.ts'
import { doors, spec } from '../help/door.ts'
import { startRequest } from '../help/pending-request.ts'
import { testWorld } from '../help/world.ts'

const resources = { notes: { prefix: 'not', plural: true, fields: { text: f.text() }, access: 'public' } } as const

doors(
  'the share of a caller',
  service({ name: 'shared', resources, settings: { limits: { callerConcurrency: 2 } } }),
  (door) => {
    const from = (address: string) => door.send('GET', '/notes', { headers: { 'x-forwarded-for': address } })

    spec('R185', 'a caller has a limited number of requests under way, and does not block others', async () => {
      const pending = [
        await startRequest(door.port, { from: '192.0.2.1' }),
        await startRequest(door.port, { from: '192.0.2.1' }),
      ]
      const refused = await from('192.0.2.1')
      assert.deepEqual([refused.status, refused.json.type], [429, 'too-many-concurrent-requests'])
      assert.equal(refused.headers['retry-after'], '1')
      assert.match(refused.json.message, /^2 requests of one caller are handled at a time\./)
      assert.equal((await from('192.0.2.2')).status, 200)
      for (const { finish } of pending) assert.match(await finish(), /^HTTP\/1\.1 201 /)
      assert.equal((await from('192.0.2.1')).status, 200)
    })

    spec('R185', 'a request that is refused, or whose client disconnects, frees its place', async () => {
      for (let n = 0; n < 4; n++) (await startRequest(door.port, { from: '192.0.2.3' })).socket.destroy()
      while ((await from('192.0.2.3')).status !== 200);
      for (let n = 0; n < 4; n++) assert.equal((await from('192.0.2.3')).status, 200)
    })
  },
  { socketOnly: true, proxies: [networkOf('127.0.0.1') as Network] },
)

const world = testWorld()

doors(
  'strain',
  service({ name: 'strained', resources, settings: { limits: { loopDelay: 'PT0.05S' } } }),
  (door) => {
    spec(
      'R161',
      'while the event loop is late requests are refused and probes are not; later requests are accepted again',
      async () => {
        const notes = () => door.send('GET', '/notes')
        for (let late = 0; late < 5; late++) {
          assert.equal((await notes()).status, 200, 'one pause is no overload')
          world.leap(120)
        }
        const { status, json, headers } = await notes()
        assert.deepEqual([status, json.type], [503, 'overloaded'])
        assert.match(headers['retry-after'] ?? '', /^[1-5]$/)
        for (const path of ['/healthz', '/readyz']) assert.equal((await door.send('GET', path)).status, 200, path)
        world.leap(60)
        assert.equal((await notes()).status, 503, 'not before the delay is well below what is allowed')
        world.leap(20)
        assert.equal((await notes()).status, 200)
        assert.deepEqual(door.errors.length > 0, true, 'it is written down')
      },
    )
  },
  { socketOnly: true, world },
)
