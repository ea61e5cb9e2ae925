/** The workloads: the same requests for each server, in the form that it takes. */
import type { Book } from './books.ts'
import type { BenchRequest } from './load.ts'
import { getWithRetry } from './server.ts'

/** A server that is measured; `plain` is ours without the feature that the workload measures. */
export type Side = 'floor' | 'expert' | 'plain' | 'ours'

export interface Workload {
  readonly name: string
  readonly about: string
  /** Whether a bare server that sends the same answer is measured too. */
  readonly floor: boolean
  /** Whether requests to ours carry an API key with a quota. */
  readonly guarded?: boolean
  /** The number of requests in a round, if each can be sent only once; missing if they can be repeated. */
  readonly singleRequests?: number
  readonly ours: readonly BenchRequest[]
  readonly expert: readonly BenchRequest[]
}

const cachedPages = 100
/** More pages than the service caches. */
const uncachedPages = 600
/** So many different filters that a list is no longer cached when it is requested again. */
const prices = Array.from({ length: 20_000 }, (_, i) => ((i * 7919) % 49_000) / 100)
/** How many books a round deletes. */
const deletionsPerRound = 3000

interface WorkloadInputs {
  /** Some books, evenly spread. */
  readonly sample: readonly Book[]
  /** The ids of all books. */
  readonly ids: readonly string[]
  readonly key: string
}

/** Makes the requests of all workloads, for books that exist. Cursors are read from the servers. The last workload deletes books. */
export async function workloads(
  ours: string,
  expert: string,
  { sample, ids, key }: WorkloadInputs,
): Promise<Workload[]> {
  const items = sample.map(({ id }): BenchRequest => ({ path: `/books/${id}` }))
  const first = `/books/${sample[0]?.id}`
  const [tag, expertTag] = [await tagOf(ours + first), await tagOf(expert + first)]
  const tagged = (etag: string) => items.map((item): BenchRequest => ({ ...item, headers: { 'If-None-Match': etag } }))
  const list = 'status=listed&limit=50'
  const manyPages = await pageRequests(
    ours,
    `/books?${list}&sort=price`,
    (page) => page.pagination.nextCursor,
    uncachedPages,
  )
  const expertManyPages = await pageRequests(expert, `/books?${list}`, (page) => page.next, uncachedPages)
  const [fewPages, expertFewPages] = [manyPages.slice(0, cachedPages), expertManyPages.slice(0, cachedPages)]
  const pageNumbers = Array.from({ length: 20 }, (_, i) => i + 1)
  const { title, status, shelf, blurb, price } = sample[0] as Book
  const body = JSON.stringify({ title, status, price, shelf, blurb })
  const expertBody = JSON.stringify({ title, status, price: Math.round(Number(price) * 100), shelf, blurb })
  const changes = sample.map(
    ({ id }): BenchRequest => ({ method: 'PATCH', path: `/books/${id}`, body: '{"title":"Title {n}"}' }),
  )
  const mixed = items.map((item, i) => (i % 10 === 9 ? (changes[i] as BenchRequest) : item))
  const moving = (pages: readonly BenchRequest[]) =>
    changes.slice(0, 1000).map((change, i) => (i % 10 === 9 ? change : (pages[i % pages.length] as BenchRequest)))
  const keyed = (path: string) =>
    sample.map(({ id }): BenchRequest => ({ path: `${path}/${id}`, headers: { Authorization: `Bearer ${key}` } }))
  const sampledIds = new Set(sample.map(({ id }) => id)) // not deleted, because later measurements read them
  const deletions = ids
    .filter((id) => !sampledIds.has(id))
    .map((id): BenchRequest => ({ method: 'DELETE', path: `/books/${id}` }))
  const create = (text: string, headers = {}): BenchRequest[] => [
    { method: 'POST', path: '/books', body: text, headers },
  ]
  return [
    { name: 'item', about: 'one item', floor: true, ours: items, expert: items },
    {
      name: 'unchanged',
      about: 'an item that is unchanged (304)',
      floor: false,
      ours: tagged(tag),
      expert: tagged(expertTag),
    },
    { name: 'list', about: '50 by cursor, filtered and sorted', floor: true, ours: fewPages, expert: expertFewPages },
    {
      name: 'cold',
      about: 'the same, of pages that were not read before',
      floor: false,
      ours: manyPages,
      expert: expertManyPages,
    },
    {
      name: 'moving',
      about: 'the same, with one change to nine pages',
      floor: false,
      ours: moving(fewPages),
      expert: moving(expertFewPages),
    },
    {
      name: 'varied',
      about: '50 filtered by a price that changes with each request',
      floor: false,
      ours: prices.map((price) => ({ path: `/books?${list}&sort=price&price%5Bgte%5D=${price.toFixed(2)}&cursor=` })),
      expert: prices.map((price) => {
        const cursor = Buffer.from(`${Math.round(price * 100)} `).toString('base64url')
        return { path: `/books?${list}&cursor=${cursor}` }
      }),
    },
    {
      name: 'total',
      about: '50 by page with total, filtered and sorted',
      floor: false,
      ours: pageNumbers.map((page) => ({ path: `/books?status=listed&sort=price&page=${page}&page_size=50` })),
      expert: pageNumbers.map((page) => ({ path: `/books/pages/${page}?${list}` })),
    },
    { name: 'create', about: 'create, durable', floor: false, ours: create(body), expert: create(expertBody) },
    {
      name: 'keyed',
      about: 'create, durable, with an idempotency key (the expert without)',
      floor: false,
      ours: create(body, { 'Idempotency-Key': 'bench-{n}' }),
      expert: create(expertBody),
    },
    { name: 'change', about: 'change one field, durable', floor: false, ours: changes, expert: changes },
    {
      name: 'guarded',
      about: 'one item with an API key and a quota (the expert without)',
      floor: false,
      guarded: true,
      ours: keyed('/v2/books'), // without a version it would be the first one
      expert: items,
    },
    {
      name: 'older',
      about: 'one item in an older version, with an API key and a quota (the expert without)',
      floor: false,
      guarded: true,
      ours: keyed('/v1/books'),
      expert: items,
    },
    { name: 'mixed', about: '90 reads of an item to 10 changes', floor: false, ours: mixed, expert: mixed },
    {
      name: 'delete',
      about: 'delete, durable',
      floor: false,
      singleRequests: deletionsPerRound,
      ours: deletions,
      expert: deletions,
    },
  ]
}

async function tagOf(url: string): Promise<string> {
  const answer = await getWithRetry(url)
  await answer.arrayBuffer()
  return answer.headers.get('etag') as string
}

// biome-ignore lint/suspicious/noExplicitAny: pages have two shapes, and only the cursor is read
type CursorOf = (page: any) => string | null

/** Reads a list page by page, and returns the requests for its pages. */
export async function pageRequests(
  server: string,
  list: string,
  next: CursorOf,
  pages: number,
): Promise<BenchRequest[]> {
  const requests: BenchRequest[] = []
  let cursor: string | null = ''
  for (let i = 0; i < pages && cursor !== null; i++) {
    const path = `${list}&cursor=${cursor}`
    requests.push({ path })
    cursor = next(await (await getWithRetry(server + path)).json())
  }
  return requests
}
