/** A process with a small heap lives through large pages, slow readers and stopped uploads, and answers everybody or refuses. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { overSocket } from '../help/door.ts'
import { type Running, startService } from '../help/process.ts'
import { head } from '../help/wire.ts'

const file = new URL('../help/large.ts', import.meta.url).pathname
const page = '/notes?page_size=1000'

describe('a process with a small heap', () => {
  let service: Running
  const ask = (method: string, path: string, json?: unknown) =>
    overSocket(service.port)(method, path, json === undefined ? {} : { json })
  const lives = async () => assert.equal((await ask('GET', '/healthz')).status, 200)

  before(async () => {
    service = await startService(file, { env: { NODE_OPTIONS: '--max-old-space-size=256' } })
    for (let n = 0; n < 50; n++)
      await Promise.all(Array.from({ length: 20 }, () => ask('POST', '/notes', { text: 'x'.repeat(5900) })))
  })
  after(async () => {
    await service.stop('SIGKILL')
  })

  it('answers pages of 5.9 MB to sixty clients at once, or refuses with Retry-After', async () => {
    const all = await Promise.all(
      Array.from({ length: 60 }, (_, n) => ask('GET', n % 2 === 0 ? page : `${page}&tag=a`)),
    )
    for (const { status, json, headers } of all)
      if (status === 200) assert.equal(json.data.length, 1000)
      else assert.deepEqual([status, Number(headers['retry-after']) > 0], [503, true])
    assert.ok(all.filter(({ status }) => status === 200).length > 10)
    await lives()
  })

  it('lives while a hundred readers of filtered lists read nothing, and serves others', async () => {
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
    while ((await ask('GET', page)).status !== 200); // those that do not read are cut for it
    for (const socket of readers) socket.destroy()
    await lives()
  })

  it('refuses uploads that stop where others wait, and takes new ones', async () => {
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
