/** What is asked of the servers: the same questions, to each in its own words. */
import type { Book } from './books.ts'
import type { Asking } from './load.ts'
import { ask } from './server.ts'

/** `plain` is ours without what the workload measures. */
export type Side = 'floor' | 'expert' | 'plain' | 'ours'

export interface Workload {
  readonly name: string
  readonly about: string
  /** Whether a bare server that sends the same bytes is measured beside it. */
  readonly floor: boolean
  /** Whether ours is asked with a key that has a quota. */
  readonly guarded?: boolean
  /** How many of its requests a round sends, each once; missing if they can be repeated. */
  readonly once?: number
  readonly ours: readonly Asking[]
  readonly expert: readonly Asking[]
}

const far = 100
/** More pages than are remembered. */
const further = 600
/** So many prices that a list of those from one on is not remembered when it is asked for again. */
const prices = Array.from({ length: 20_000 }, (_, i) => ((i * 7919) % 49_000) / 100)
/** How many books a round deletes. */
const deleted = 3000

interface Asked {
  /** Some books, evenly spread. */
  readonly sample: readonly Book[]
  /** Of all books. */
  readonly ids: readonly string[]
  readonly key: string
}

/** Questions about books that are there; cursors are asked for, as a client would. The last one deletes books. */
export async function workloads(ours: string, expert: string, { sample, ids, key }: Asked): Promise<Workload[]> {
  const items = sample.map(({ id }): Asking => ({ path: `/books/${id}` }))
  const first = `/books/${sample[0]?.id}`
  const [tag, expertTag] = [await tagOf(ours + first), await tagOf(expert + first)]
  const tagged = (etag: string) => items.map((item): Asking => ({ ...item, headers: { 'If-None-Match': etag } }))
  const list = 'status=listed&limit=50'
  const all = await walk(ours, `/books?${list}&sort=price`, (page) => page.pagination.nextCursor, further)
  const expertAll = await walk(expert, `/books?${list}`, (page) => page.next, further)
  const [cursors, expertCursors] = [all.slice(0, far), expertAll.slice(0, far)]
  const pages = Array.from({ length: 20 }, (_, i) => i + 1)
  const { title, status, shelf, blurb, price } = sample[0] as Book
  const body = JSON.stringify({ title, status, price, shelf, blurb })
  const expertBody = JSON.stringify({ title, status, price: Math.round(Number(price) * 100), shelf, blurb })
  const changes = sample.map(
    ({ id }): Asking => ({ method: 'PATCH', path: `/books/${id}`, body: '{"title":"Title {n}"}' }),
  )
  const mixed = items.map((item, i) => (i % 10 === 9 ? (changes[i] as Asking) : item))
  const moving = (pages: readonly Asking[]) =>
    changes.slice(0, 1000).map((change, i) => (i % 10 === 9 ? change : (pages[i % pages.length] as Asking)))
  const keyed = (path: string) =>
    sample.map(({ id }): Asking => ({ path: `${path}/${id}`, headers: { Authorization: `Bearer ${key}` } }))
  const kept = new Set(sample.map(({ id }) => id)) // later measurements request these
  const deletions = ids.filter((id) => !kept.has(id)).map((id): Asking => ({ method: 'DELETE', path: `/books/${id}` }))
  const create = (text: string, headers = {}): Asking[] => [{ method: 'POST', path: '/books', body: text, headers }]
  return [
    { name: 'item', about: 'one item', floor: true, ours: items, expert: items },
    {
      name: 'unchanged',
      about: 'an item that is unchanged (304)',
      floor: false,
      ours: tagged(tag),
      expert: tagged(expertTag),
    },
    { name: 'list', about: '50 by cursor, filtered and sorted', floor: true, ours: cursors, expert: expertCursors },
    { name: 'cold', about: 'the same, of pages that were not read before', floor: false, ours: all, expert: expertAll },
    {
      name: 'moving',
      about: 'the same, with one change to nine pages',
      floor: false,
      ours: moving(cursors),
      expert: moving(expertCursors),
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
      ours: pages.map((page) => ({ path: `/books?status=listed&sort=price&page=${page}&page_size=50` })),
      expert: pages.map((page) => ({ path: `/books/pages/${page}?${list}` })),
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
      ours: keyed('/books'),
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
    { name: 'delete', about: 'delete, durable', floor: false, once: deleted, ours: deletions, expert: deletions },
  ]
}

async function tagOf(url: string): Promise<string> {
  const answer = await ask(url)
  await answer.arrayBuffer()
  return answer.headers.get('etag') as string
}

// biome-ignore lint/suspicious/noExplicitAny: two shapes of pages, of which only the cursor is read
type Read = (page: any) => string | null

/** Pages along a list, by the cursors that it gives. */
export async function walk(server: string, list: string, next: Read, pages: number): Promise<Asking[]> {
  const found: Asking[] = []
  let cursor: string | null = ''
  for (let i = 0; i < pages && cursor !== null; i++) {
    const path = `${list}&cursor=${cursor}`
    found.push({ path })
    cursor = next(await (await ask(server + path)).json())
  }
  return found
}
