/** A process with a small heap survives large pages, slow readers and stopped uploads; it answers or refuses every request. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { startedOnce } from '../help/command.ts'
import { overSocket } from '../help/door.ts'
import { freshPostgres } from '../help/postgres.ts'
import { type Running, startService } from '../help/process.ts'
import { head } from '../help/wire.ts'

const file = new URL('../help/large.ts', import.meta.url).pathname
const page = '/notes?page_size=1000'

const stores = {
  SQLite: async () => ({ url: 'sqlite::memory:', drop: async () => {} }),
  PostgreSQL: freshPostgres,
}

for (const [store, opened] of Object.entries(stores))
  describe(`the fetch door in a process with a small heap, on ${store}`, () => {
    it('answers or refuses with Retry-After, and frees its memory afterwards', async (t) => {
      const { url, drop } = await opened()
      t.after(drop)
      const program = new URL('../help/large-fetch.ts', import.meta.url).pathname
      const child = spawn(process.execPath, ['--max-old-space-size=256', '--conditions=bylaw-source', program, url], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      })
      let said = ''
      child.stdout.on('data', (chunk) => {
        said += chunk
      })
      assert.deepEqual(await once(child, 'close'), [0, null])
      const { answered, refused, other, last, held } = JSON.parse(said)
      assert.deepEqual([answered + refused, other, last, held], [240, 0, 200, [0, 0]])
      assert.ok(answered > 20)
    })
  })

for (const [store, opened] of Object.entries(stores))
  describe(`a process with a small heap, on ${store}`, () => {
    let service: Running
    let drop: () => Promise<void>
    const ask = (method: string, path: string, json?: unknown) =>
      overSocket(service.port)(method, path, json === undefined ? {} : { json })
    const lives = async () => assert.equal((await ask('GET', '/healthz')).status, 200)

    before(async () => {
      const env = { NODE_OPTIONS: `${startedOnce.NODE_OPTIONS} --max-old-space-size=256` }
      const database = await opened()
      drop = database.drop
      service = await startService(file, { database: database.url, env })
      for (let n = 0; n < 50; n++)
        await Promise.all(Array.from({ length: 20 }, () => ask('POST', '/notes', { text: 'x'.repeat(5900) })))
    })
    after(async () => {
      await service.stop('SIGKILL')
      await drop()
    })

    it('answers pages of 5.9 MB to sixty clients at once, or refuses with Retry-After', async () => {
      const all = await Promise.all(
        Array.from({ length: 60 }, (_, n) => ask('GET', n % 2 === 0 ? page : `${page}&tag=a`)),
      )
      for (const { status, json, headers } of all)
        if (status === 200) assert.equal(json.data.length, 1000)
        else assert.deepEqual([status, Number(headers['retry-after']) > 0], [503, true])
      assert.ok(all.filter(({ status }) => status === 200).length > (store === 'SQLite' ? 10 : 0))
      await lives()
    })

    it('accepts connections while large answers are made', async () => {
      let answered = 0
      const readers = Array.from({ length: 60 }, () => {
        const socket: Socket = connect(service.port, '127.0.0.1')
        socket.on('error', () => {}).once('data', () => answered++)
        socket.write(head(`GET ${page} HTTP/1.1`, 'Host: a'))
        return socket
      })
      const last: Socket = connect(service.port, '127.0.0.1')
      last.write(head('GET /healthz HTTP/1.1', 'Host: a'))
      await once(last, 'data')
      assert.ok(answered < 30, `${answered} large answers came before the one on the last connection`)
      for (const socket of [last, ...readers]) socket.destroy()
    })

    it('serves on when clients leave before their answers are made', async () => {
      for (let round = 0; round < 3; round++) {
        const sockets = Array.from({ length: 100 }, () => {
          const socket: Socket = connect(service.port, '127.0.0.1')
          socket.on('error', () => {}).write(head(`GET ${page}&tag=a HTTP/1.1`, 'Host: a'))
          return socket
        })
        await lives()
        for (const socket of sockets) socket.resetAndDestroy()
      }
      while ((await ask('GET', page)).status !== 200);
      await lives()
    })

    it('survives a hundred readers of filtered lists that read nothing, and serves others', async () => {
      const readers = Array.from({ length: 100 }, (_, n) => {
        const socket: Socket = connect(service.port, '127.0.0.1')
        socket.on('error', () => {}).pause()
        socket.write(head(`GET ${page}&tag=a${n % 2 === 0 ? '' : '&text_not=y'} HTTP/1.1`, 'Host: a'))
        return socket
      })
      for (let n = 0; n < 5; n++) {
        await lives()
        assert.ok([200, 503].includes((await ask('GET', '/notes?page_size=5')).status))
      }
      while ((await ask('GET', page)).status !== 200); // slow readers are disconnected to make room
      for (const socket of readers) socket.destroy()
      await lives()
    })

    it('refuses uploads that stop while others wait, and accepts new ones', async () => {
      const content = 'x'.repeat(1024 * 1024 - 100)
      let refused = 0
      const senders = Array.from({ length: 200 }, () => {
        const socket: Socket = connect(service.port, '127.0.0.1')
        socket
          .on('error', () => {})
          .on('data', (chunk) => {
            if (/^HTTP\/1\.1 503 [\s\S]*retry-after: \d/i.test(chunk.toString('latin1'))) refused++
          })
        const length = `Content-Length: ${1024 * 1024}`
        socket.write(head('POST /notes HTTP/1.1', 'Host: a', 'Content-Type: application/json', length) + content)
        return socket
      })
      while (refused === 0) await lives()
      while ((await ask('POST', '/notes', { text: 'x'.repeat(9000) })).status !== 201);
      for (const socket of senders) socket.destroy()
    })
  })
