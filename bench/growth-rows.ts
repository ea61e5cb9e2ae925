/** Growth by rows: reads of one item, pages by cursor and creates, with ten thousand to ten million books. */
import { type Book, fill, fillPostgres, manyBooks } from './books.ts'
import { withClient } from './databases.ts'
import type { Curve } from './growth-lines.ts'
import { type GrowthRun, loadInTurn, type SizedServer, startServer } from './growth-rounds.ts'
import type { BenchRequest } from './load.ts'
import { getWithRetry, type RunningServer } from './server.ts'

const sizes = [10_000, 100_000, 1_000_000, 10_000_000]
/** The largest number of rows on PostgreSQL. */
const mostOnPostgres = 1_000_000
/** How many books are read, and how many are templates of new ones. */
const sampleSize = 10_000
/** More pages than the service caches. */
const pagesToRead = 2000
const creates = 2000

interface FilledServer {
  readonly at: number
  readonly server: RunningServer
  readonly sample: readonly Book[]
}

export async function growthOfRows(run: GrowthRun): Promise<Curve[]> {
  const { store, maxRows: most } = run
  const rowCounts = sizes.filter((rows) => rows <= (store === 'sqlite' ? most : Math.min(most, mostOnPostgres)))
  const filled: FilledServer[] = []
  for (const rows of rowCounts) {
    const began = performance.now()
    filled.push(await filledServer(run, rows))
    console.log(`${rows} rows made in ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
  const sized = (requestsFor: (one: FilledServer) => readonly BenchRequest[]): SizedServer[] =>
    filled.map((one) => ({ ...one, requests: requestsFor(one) }))
  const pages = new Map<RunningServer, readonly BenchRequest[]>()
  for (const { server } of filled) pages.set(server, await pagesOf(server.url))
  return [
    ...loadInTurn(
      run,
      { part: 'rows', what: 'one item' },
      sized(({ sample }) => sample.map(({ id }) => ({ path: `/books/${id}` }))),
    ),
    ...loadInTurn(
      run,
      { part: 'rows', what: '50 by cursor' },
      sized(({ server }) => pages.get(server) ?? []),
    ),
    ...loadInTurn(
      run,
      { part: 'rows', what: 'create', single: creates },
      sized(({ sample }) => sample.map(createOf)),
    ),
  ]
}

async function filledServer(run: GrowthRun, rows: number): Promise<FilledServer> {
  const database = await run.databases.make(`rows_${rows}`)
  const sample: Book[] = []
  const books = sampling(rows, sample)
  if (run.store === 'sqlite') await fill(database.replace('sqlite:', ''), rows, books)
  else
    await withClient(database, async (client) => {
      await fillPostgres(client, database, rows, books)
      await client.query('VACUUM ANALYZE')
      await client.query('CHECKPOINT')
    })
  const mixed = sample.map((_, i) => sample[(i * 7919) % sample.length] as Book) // neighbours are in one page of the file
  return { at: rows, server: await startServer(run, 'library.ts', database), sample: mixed }
}

/** Generates the books, and adds some of them, evenly spread, to `sample`. */
function* sampling(rows: number, sample: Book[]): Generator<Book> {
  const every = Math.max(1, Math.floor(rows / sampleSize))
  let i = 0
  for (const book of manyBooks(rows)) {
    if (i++ % every === 0) sample.push(book)
    yield book
  }
}

/** Requests for the second page, by cursor, of lists that start at different prices. */
async function pagesOf(url: string): Promise<BenchRequest[]> {
  const requests: BenchRequest[] = []
  for (let i = 0; i < pagesToRead; i++) {
    const price = (((i * 7919) % 48_000) / 100).toFixed(2)
    const list = `/books?status=listed&sort=price&price%5Bgte%5D=${price}&limit=50&cursor=`
    const { pagination } = (await (await getWithRetry(url + list)).json()) as { pagination: { nextCursor: string } }
    requests.push({ path: list + pagination.nextCursor })
  }
  return requests
}

const createOf = ({ title, status, price, shelf, blurb }: Book): BenchRequest => ({
  method: 'POST',
  path: '/books',
  body: JSON.stringify({ title, status, price, shelf, blurb }),
})
