/** `npm run bench:deliveries`: deliveries of events to a server, against loops that send the same bodies by `fetch`, in turn. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { cluster } from '../test/help/cluster.ts'
import { median } from './report.ts'
import { freePort, type Served, serve } from './server.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const [rounds, events, bound] = [5, 2000, 0.5]
const headers: Record<string, string> = { 'content-type': 'application/json' }

async function started(name: string, database: string): Promise<Served> {
  const port = await freePort()
  const words = [join(here, '../src/cli/main.ts'), 'serve', join(here, 'notes-delivered.ts'), '--database', database]
  const all = ['--conditions=bylaw-source', ...words, '--port', String(port), '--webhooks-to-private']
  return serve(all, port, join(folder, `${name}.log`))
}

/** A key that may make endpoints. */
function keyOf(database: string): string {
  const scopes = 'webhook-endpoints:read,webhook-endpoints:write'
  const words = ['keys', 'create', join(here, 'notes-delivered.ts'), '--name', 'bench', '--scopes', scopes, '--json']
  const all = ['--conditions=bylaw-source', join(here, '../src/cli/main.ts'), ...words, '--database', database]
  const { stdout, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8' })
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout).key
}

async function startSink(): Promise<Served> {
  const port = await freePort()
  return serve([join(here, 'sink.ts'), String(port)], port, join(folder, 'sink.log'), {}, 1)
}

async function post(url: string, json: object): Promise<{ id: string }> {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(json) })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return (await response.json()) as { id: string }
}

const receivedBy = async ({ url }: Served): Promise<number> => Number(await (await fetch(url)).text())

/** How many a second arrive, from an act until all of them are there. */
async function rateOf(sink: Served, act: () => Promise<unknown>): Promise<number> {
  const before = await receivedBy(sink)
  const start = performance.now()
  await act()
  while ((await receivedBy(sink)) < before + events) await pause(10)
  return (events / (performance.now() - start)) * 1000
}

async function loops(sink: Served, body: string, most: number): Promise<void> {
  let left = events
  const loop = async (): Promise<void> => {
    while (left-- > 0) await (await fetch(`${sink.url}/hook`, { method: 'POST', headers, body })).arrayBuffer()
  }
  await Promise.all(Array.from({ length: most }, loop))
}

async function compare(store: string, database: string, sink: Served): Promise<void> {
  const served = await started(store, database)
  headers.authorization = `Bearer ${keyOf(database)}`
  const note = { title: 'A note', text: 'Some words that a note has. '.repeat(10), stars: 3 }
  for (let n = 0; n < events; n += 20)
    await Promise.all(Array.from({ length: 20 }, () => post(`${served.url}/notes`, note)))
  await pause(1000)
  const endpoint = { url: `${sink.url}/hook`, eventTypes: ['note.created'] }
  const { id } = await post(`${served.url}/webhook-endpoints`, endpoint)
  const replay = () => post(`${served.url}/webhook-endpoints/${id}/replays`, { since: '2020-01-01T00:00:00Z' })
  const sample = (await (await fetch(`${served.url}/events?limit=1`)).json()) as { data: object[] }
  const body = JSON.stringify(sample.data[0])
  const sides = [replay, () => loops(sink, body, 1), () => loops(sink, body, 10)]
  const rates = sides.map((): number[] => [])
  for (let round = 0; round <= rounds; round++)
    for (const [i, act] of sides.entries()) {
      const rate = await rateOf(sink, act)
      if (round > 0) rates[i]?.push(rate)
      await pause(500)
    }
  const [own = 0, loop = 0, ten = 0] = rates.map(median)
  const verdict = own / loop >= bound ? '' : `, below ${bound}`
  console.log(
    `${store}: ${own.toFixed(0)} deliveries a second; a loop of fetch ${loop.toFixed(0)}: ${(own / loop).toFixed(2)} times as many${verdict}; ten loops at once ${ten.toFixed(0)}: ${(own / ten).toFixed(2)}`,
  )
  await served.stop()
}

const sink = await startSink()
try {
  await compare('SQLite', `sqlite:${join(folder, 'notes.db')}`, sink)
  const server = await cluster()
  try {
    await compare('PostgreSQL', server.url, sink)
  } finally {
    await server.close()
  }
} finally {
  await sink.stop()
  rmSync(folder, { recursive: true })
}
