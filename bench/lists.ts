/** `npm run bench:lists -- --rows 1000000`: the cost of deep pages, of unchanged lists, and of requests during a long list. */

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { callerGate } from '../src/corridor/server-context.ts'
import { realWorld } from '../src/flow/real-world.ts'
import { serviceWorld } from '../src/flow/world.ts'
import { fetchDoor } from '../src/http/fetch.ts'
import { listen } from '../src/http/listening.ts'
import { openSqlite } from '../src/sqlite/open.ts'
import { collections, fill } from './books.ts'
import books from './library.ts'

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } })
const rows = Number(values.rows)
const folder = mkdtempSync(join(tmpdir(), 'bylaw-bench-'))
const file = join(folder, 'books.db')
console.log(`making ${rows} rows`)
await fill(file, rows)
const store = openSqlite(`sqlite:${file}`, collections, 'apply')
const log = { error: console.error, warn: () => {}, info: () => {} }
const world = serviceWorld(realWorld, store)
const context = { service: books, store, world, authenticate: callerGate(books, store, world), log, open: () => true }
const door = fetchDoor(context)
const get = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await door(new Request(`http://localhost${path}`, { headers }))
  return { status: answer.status, etag: answer.headers.get('etag') ?? '', text: await answer.text() }
}

await comparePages('/books?')
await comparePages('/books?sort=price&')
await comparePages('/books?status=listed&sort=price&order=desc&')
await comparePages('/books?sort=shelf&')
await compareNotModified()
await readDuringSearch()
await store.close()
rmSync(folder, { recursive: true })

/** The median times of two requests, measured in turn, in milliseconds. */
async function inTurn(a: () => Promise<unknown>, b: () => Promise<unknown>, rounds = 400): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    for (const [side, ask] of [a, b].entries()) {
      const started = performance.now()
      await ask()
      times[side as 0 | 1].push(performance.now() - started)
    }
  }
  return times.map((all) => all.toSorted((x, y) => x - y)[Math.floor(all.length / 2)] as number) as [number, number]
}

/** Compares page 2 with page 10,000 (earlier in smaller lists), both by cursor. */
async function comparePages(list: string): Promise<void> {
  const pages = Math.min(10_000, Math.floor(rows / 100) - 1)
  let cursor = ''
  for (let page = 1; page < pages; page++)
    cursor = JSON.parse((await get(`${list}limit=50&cursor=${cursor}`)).text).pagination.nextCursor ?? cursor
  const second = JSON.parse((await get(`${list}limit=50&cursor=`)).text).pagination.nextCursor
  const [near, far] = await inTurn(
    () => get(`${list}limit=50&cursor=${second}`),
    () => get(`${list}limit=50&cursor=${cursor}`),
  )
  console.log(
    `${list.slice(0, -1)} page ${pages} by cursor costs ${(far / near).toFixed(2)} times page 2 (${far.toFixed(3)} and ${near.toFixed(3)} ms; target at most 1.5)`,
  )
}

/** Compares 304 with 200 over a socket, because a 304 saves sending the content. */
async function compareNotModified(): Promise<void> {
  const listening = await listen(context, { port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const path = '/books?sort=price&page_size=50'
  const ask = (headers: Record<string, string>) =>
    new Promise<string>((resolve, reject) => {
      const outgoing = request(listening.url + path, { agent, headers }, (incoming) => {
        incoming.resume().on('end', () => resolve(incoming.headers.etag ?? ''))
      })
      outgoing.on('error', reject).end()
    })
  const etag = await ask({})
  const [whole, same] = await inTurn(
    () => ask({}),
    () => ask({ 'if-none-match': etag }),
    1000,
  )
  console.log(
    `a list that is the same (304) is answered ${(whole / same).toFixed(2)} times as fast as 200 (target at least 1.1)`,
  )
  agent.destroy()
  await listening.stop(1000)
}

/** Reads one item repeatedly while a filter by a pattern scans all rows. */
async function readDuringSearch(): Promise<void> {
  const [{ id }] = JSON.parse((await get('/books?limit=1')).text).data
  const times: number[] = []
  const long = get('/books?title[like]=%25nowhere%25')
  let running = true
  const started = performance.now()
  void long.then(() => (running = false))
  while (running || times.length < 200) {
    const before = performance.now()
    await get(`/books/${id}`)
    times.push(performance.now() - before)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const { status } = await long
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] as number
  console.log(
    `while a pattern is looked for in ${rows} rows (${status}, ${Math.round(performance.now() - started)} ms), an item takes ${p99.toFixed(2)} ms at p99 (target under 50)`,
  )
}
