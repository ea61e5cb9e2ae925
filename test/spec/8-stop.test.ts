/** Part 8 of the contract: a service that is stopped finishes accepted requests. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe } from 'node:test'
import { overSocket, spec } from '../help/door.ts'
import { startService } from '../help/process.ts'
import { answers, message } from '../help/wire.ts'

const shop = new URL('../help/shop.ts', import.meta.url).pathname
const post = message('POST /warehouses', ['Content-Type: application/json'], '{"name":"W"}')

/** A request whose last bytes are not sent yet. */
async function begun(port: number, bytes: string): Promise<{ finish: () => Promise<string> }> {
  const socket: Socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  await new Promise((resolve) => socket.write(bytes.slice(0, -4), resolve))
  const finish = (): Promise<string> => {
    socket.write(bytes.slice(-4))
    return closed
  }
  return { finish }
}

interface Busy {
  /** Settles with the first answer. */
  readonly served: Promise<unknown>
  /** Settles when the connection ends: whether a request got no answer, and the last `Connection` header. */
  readonly ended: Promise<{ readonly lost: boolean; readonly connection: string | undefined }>
}

/** A client that sends its next request on the same connection some milliseconds after each answer. */
function busy(port: number, gap: number): Busy {
  const socket = connect({ port, host: '127.0.0.1' })
  let lost = false
  let connection: string | undefined
  const ask = (): void => {
    if (!socket.writable) return
    lost = true
    socket.write(message('GET /healthz'))
  }
  socket.on('connect', ask)
  socket.on('data', (chunk) => {
    lost = false
    connection = answers(chunk.toString('latin1'))[0]?.headers.connection
    if (connection !== 'close') setTimeout(ask, gap)
  })
  socket.on('error', () => {})
  const served = new Promise((resolve) => socket.once('data', resolve))
  return { served, ended: new Promise((resolve) => socket.on('close', () => resolve({ lost, connection }))) }
}

describe('the end of a service', { concurrency: true }, () => {
  spec('R186', 'accepted requests are finished on closing connections, and the exit code is 0', async () => {
    const { port, stop } = await startService(shop)
    const slow = await Promise.all(Array.from({ length: 20 }, () => begun(port, post)))
    const probe = await begun(port, message('GET /readyz'))
    await overSocket(port)('GET', '/healthz')
    const ended = stop()
    while ((await overSocket(port)('GET', '/healthz').catch(() => null)) !== null); // no new connections
    const [ready] = answers(await probe.finish())
    assert.deepEqual([ready?.status, ready?.headers.connection], [503, 'close'])
    for (const { finish } of slow) {
      const [made, ...more] = answers(await finish())
      assert.deepEqual([made?.status, made?.headers.connection, more.length], [201, 'close', 0])
    }
    assert.equal(await ended, 0)
  })

  spec(
    'R186',
    'busy connections that are kept alive lose no request, and their last answer says Connection: close',
    async () => {
      const { port, stop } = await startService(shop)
      const clients = Array.from({ length: 128 }, (_, i) => busy(port, i % 40))
      await Promise.all(clients.map(({ served }) => served))
      const code = stop()
      const ends = await Promise.all(clients.map(({ ended }) => ended))
      assert.deepEqual(
        ends.filter(({ lost, connection }) => lost || connection !== 'close'),
        [],
      )
      assert.equal(await code, 0)
    },
  )

  spec('R186', 'an idle connection is closed long before the time to finish is over', async () => {
    const { port, stop } = await startService(shop, { args: ['--drain', 'PT30S'] })
    const socket = connect({ port, host: '127.0.0.1' })
    socket.write(message('GET /healthz'))
    await once(socket, 'data')
    const since = performance.now()
    assert.equal(await stop(), 0)
    assert.ok(performance.now() - since < 15_000)
    socket.destroy()
  })

  spec('R186', 'a request that does not finish in time is cut off, and the exit code is 0', async () => {
    const { port, stop } = await startService(shop, { args: ['--drain', 'PT0.2S'] })
    await begun(port, post)
    await overSocket(port)('GET', '/healthz')
    assert.equal(await stop(), 0)
  })

  spec('R186', 'with a grace period readiness fails while requests are still accepted', async () => {
    const { port, stop } = await startService(shop, { args: ['--grace', 'PT3S'] })
    const send = overSocket(port)
    const ended = stop()
    let ready = await send('GET', '/readyz')
    while (ready.status === 200) ready = await send('GET', '/readyz')
    assert.deepEqual([ready.status, ready.json.type, ready.headers['retry-after']], [503, 'unavailable', '5'])
    assert.equal((await send('GET', '/healthz')).status, 200)
    const made = await send('POST', '/warehouses', { json: { name: 'W' } })
    assert.deepEqual([made.status, made.headers.connection], [201, 'close'])
    assert.equal(await ended, 0)
  })
})
