/** The cost of a page deep in a list by cursor, compared with the first page. */
import type { Book } from './books.ts'
import { type Target, target } from './report.ts'
import { getWithRetry } from './server.ts'

const farPage = 10_000
const size = 50

/**
 * Measures the first page and a far one in turn, one request at a time, in milliseconds. The far page is the 10,000th, or the
 * last but one of a shorter list. Writes in between prevent answers from the cache.
 */
export async function deep(url: string, rows: number, { id }: Book): Promise<Target> {
  const list = `${url}/books?limit=${size}`
  const pages = Math.min(farPage, Math.floor(rows / size) - 1)
  let cursor = ''
  for (let page = 1; page < pages; page++) cursor = (await pageAt(`${list}&cursor=${cursor}`)) ?? cursor
  const times: [number[], number[]] = [[], []]
  for (let i = 0; i < 400; i++) {
    await change(`${url}/books/${id}`, { title: `Title ${i}` })
    times[0].push(await timed(`${list}&cursor=`))
    times[1].push(await timed(`${list}&cursor=${cursor}`))
  }
  const [near, far] = times.map((all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] as number) as [
    number,
    number,
  ]
  console.log(`page ${pages} by cursor: ${far.toFixed(3)} ms, page 1: ${near.toFixed(3)} ms`)
  return target(`page ${pages} by cursor against page 1, ${rows} rows`, far / near, 1.5, 'most')
}

async function pageAt(address: string): Promise<string | null> {
  const page = (await (await getWithRetry(address)).json()) as { pagination: { nextCursor: string | null } }
  return page.pagination.nextCursor
}

async function timed(address: string): Promise<number> {
  const started = performance.now()
  await (await getWithRetry(address)).arrayBuffer()
  return performance.now() - started
}

async function change(address: string, json: object): Promise<void> {
  const answer = await fetch(address, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(json),
  })
  if (!answer.ok) throw new Error(`${address} was not changed: ${await answer.text()}`)
}
