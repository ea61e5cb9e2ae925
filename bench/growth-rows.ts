/** Growth by rows: one item, a page by cursor and a create at ten thousand to ten million books. */
import { type Book, fill, fillPostgres, manyBooks } from './books.ts'
import { withClient } from './databases.ts'
import type { Line } from './growth-lines.ts'
import { type Growing, inTurn, type Size, started } from './growth-rounds.ts'
import type { Asking } from './load.ts'
import { ask, type Served } from './server.ts'

const sizes = [10_000, 100_000, 1_000_000, 10_000_000]
/** PostgreSQL is measured up to here. */
const mostOnPostgres = 1_000_000
/** How many books are asked for. */
const sampled = 10_000
/** More pages than are cached. */
const places = 2000
const creates = 2000

interface Filled {
  readonly at: number
  readonly server: Served
  readonly sample: readonly Book[]
}

export async function growthOfRows(growing: Growing): Promise<Line[]> {
  const { store, most } = growing
  const wanted = sizes.filter((rows) => rows <= (store === 'sqlite' ? most : Math.min(most, mostOnPostgres)))
  const filled: Filled[] = []
  for (const rows of wanted) {
    const began = performance.now()
    filled.push(await filledServer(growing, rows))
    console.log(`${rows} rows made in ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
  const sized = (asked: (one: Filled) => readonly Asking[]): Size[] =>
    filled.map((one) => ({ ...one, asked: asked(one) }))
  const pages = new Map<Served, readonly Asking[]>()
  for (const { server } of filled) pages.set(server, await pagesOf(server.url))
  return [
    ...inTurn(
      growing,
      { part: 'rows', what: 'one item' },
      sized(({ sample }) => sample.map(({ id }) => ({ path: `/books/${id}` }))),
    ),
    ...inTurn(
      growing,
      { part: 'rows', what: '50 by cursor' },
      sized(({ server }) => pages.get(server) ?? []),
    ),
    ...inTurn(
      growing,
      { part: 'rows', what: 'create', single: creates },
      sized(({ sample }) => sample.map(createOf)),
    ),
  ]
}

async function filledServer(growing: Growing, rows: number): Promise<Filled> {
  const database = await growing.databases.make(`rows_${rows}`)
  const sample: Book[] = []
  const books = sampling(rows, sample)
  if (growing.store === 'sqlite') await fill(database.replace('sqlite:', ''), rows, books)
  else
    await withClient(database, async (client) => {
      await fillPostgres(client, database, rows, books)
      await client.query('VACUUM ANALYZE')
      await client.query('CHECKPOINT')
    })
  const mixed = sample.map((_, i) => sample[(i * 7919) % sample.length] as Book) // neighbours are in one page of the file
  return { at: rows, server: await started(growing, 'library.ts', database), sample: mixed }
}

/** Passes the books on, and keeps some of them, evenly spread. */
function* sampling(rows: number, sample: Book[]): Generator<Book> {
  const every = Math.max(1, Math.floor(rows / sampled))
  let i = 0
  for (const book of manyBooks(rows)) {
    if (i++ % every === 0) sample.push(book)
    yield book
  }
}

/** Second pages of lists that begin at different prices, by their cursors. */
async function pagesOf(url: string): Promise<Asking[]> {
  const found: Asking[] = []
  for (let i = 0; i < places; i++) {
    const price = (((i * 7919) % 48_000) / 100).toFixed(2)
    const list = `/books?status=listed&sort=price&price%5Bgte%5D=${price}&limit=50&cursor=`
    const { pagination } = (await (await ask(url + list)).json()) as { pagination: { nextCursor: string } }
    found.push({ path: list + pagination.nextCursor })
  }
  return found
}

const createOf = ({ title, status, price, shelf, blurb }: Book): Asking => ({
  method: 'POST',
  path: '/books',
  body: JSON.stringify({ title, status, price, shelf, blurb }),
})
