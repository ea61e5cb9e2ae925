/**
 * `npm run bench:idle`: one item at a fixed rate over 64 connections, alone and while 10,000 other connections are open and
 * idle, on both HTTP engines: the 99th percentile, and the memory of the service.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sourceCommand } from '../test/help/built.ts'
import { freePort } from '../test/help/free-port.ts'
import { load } from './load.ts'
import { loadAtRate } from './paced.ts'
import { median } from './report.ts'
import { type RunningServer, serve } from './server.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const [count, atOnce, rounds, seconds, rate] = [10_000, 100, 5, 3, 8000]
const note = JSON.stringify({ title: 'A note', text: 'Some words that a note has. '.repeat(10), stars: 3 })

async function startServer(engine: 'node' | 'own'): Promise<RunningServer> {
  const port = await freePort()
  const database = `sqlite:${join(folder, `${engine}.db`)}`
  const args = [...sourceCommand, 'serve', join(here, 'notes.ts'), '--database', database]
  const options = `--import=${join(here, '../test/help/own-engine.ts')}`
  const env = engine === 'own' ? { BYLAW_TEST_ENGINE: 'own', NODE_OPTIONS: options } : {}
  return serve([...args, '--port', String(port)], port, join(folder, 'log'), env)
}

/** Opens a connection, reads one answer, and leaves it open. */
function idle(port: number): Promise<Socket> {
  return new Promise((done, fail) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'))
    socket.once('data', () => done(socket)).once('error', fail)
  })
}

async function openIdle(port: number): Promise<Socket[]> {
  const open: Socket[] = []
  while (open.length < count) open.push(...(await Promise.all(Array.from({ length: atOnce }, () => idle(port)))))
  return open
}

async function compare(engine: 'node' | 'own'): Promise<void> {
  const server = await startServer(engine)
  const headers = { 'content-type': 'application/json' }
  const created = await fetch(`${server.url}/notes`, { method: 'POST', headers, body: note })
  const requests = [{ path: created.headers.get('location') as string }]
  load(server.url, requests, 2) // warms it up
  const [alone, amongIdle]: [number[], number[]] = [[], []]
  const before = server.memory()
  let memory = before
  for (let round = 0; round < rounds; round++) {
    alone.push(loadAtRate(server.url, requests, rate, seconds))
    const open = await openIdle(Number(new URL(server.url).port))
    memory = server.memory()
    amongIdle.push(loadAtRate(server.url, requests, rate, seconds))
    const stillOpen = open.filter(({ closed }) => !closed).length
    if (stillOpen < count) throw new Error(`${count - stillOpen} of ${count} idle connections were closed.`)
    for (const socket of open) socket.destroy()
  }
  await server.stop()
  console.log(
    `${engine}: p99 at ${rate} a second ${median(alone).toFixed(2)} ms alone, ${median(amongIdle).toFixed(2)} ms with ${count} idle connections; ${before} MB, then ${memory} MB: ${((1024 * (memory - before)) / count).toFixed(1)} kB for each`,
  )
}

try {
  for (const engine of ['node', 'own'] as const) await compare(engine)
} finally {
  rmSync(folder, { recursive: true })
}
