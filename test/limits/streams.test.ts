/** A process holds 2,000 streams of events in little memory, serves other requests meanwhile, and sends an event to all of them. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startService } from '../help/process.ts'
import { until } from '../help/until.ts'
import { head } from '../help/wire.ts'

const count = 2000
/** In MB, for all streams together: 40 to 50 were measured, of which a bare server of node:http needs 40. */
const bound = 70

const memoryOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test('R213: 2,000 streams need less than 70 MB, and each gets every event', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-streams-'))
  const file = new URL('../help/streamed.ts', import.meta.url).pathname
  const service = await startService(file, { database: `sqlite:${join(folder, 'a.db')}` })
  const sockets: Socket[] = []
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await service.stop('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  const write = async (text: string): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${service.url}/notes`, { method: 'POST', headers, body: JSON.stringify({ text }) })
    assert.equal(answer.status, 201)
  }
  const texts: string[] = []
  const open = async (): Promise<void> => {
    const socket = connect(service.port, '127.0.0.1')
    const own = texts.push('') - 1
    sockets.push(socket)
    socket
      .on('error', () => {})
      .on('data', (bytes) => {
        texts[own] = `${texts[own]}${bytes}`
      })
    socket.write(head('GET /events HTTP/1.1', 'Host: a', 'Accept: text/event-stream'))
    await until(() => texts[own]?.includes(': events\n\n') ?? false)
  }
  // The young generation of V8 grows to its limit under any load.
  for (let i = 0; i < 100; i++) await Promise.all(Array.from({ length: 10 }, () => write('warm-up')))
  const before = memoryOf(service.pid)
  while (sockets.length < count) await Promise.all(Array.from({ length: 50 }, open))
  for (const text of ['a', 'b', 'c']) {
    const sent = performance.now()
    await write(text)
    await until(() => texts.every((one) => one.includes(`"text":"${text}"`)))
    t.diagnostic(`${text} has reached all streams after ${Math.round(performance.now() - sent)} ms`)
  }
  const added = memoryOf(service.pid) - before
  t.diagnostic(`${count} streams need ${Math.round(added)} MB, in addition to ${Math.round(before)} MB`)
  assert.ok(added < bound, `${added} MB`)
  assert.ok(sockets.every(({ destroyed }) => !destroyed))
  assert.equal((await fetch(`${service.url}/notes`)).status, 200)
})
