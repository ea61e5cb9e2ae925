/** `npm start`: serves the example on port 3000, with rows to begin with, and shows what to try. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { testing } from 'bylaw/testing'
import { curlCreate } from '../../src/cli/sample-request.ts'
import { printError } from '../../src/terminal/command-error.ts'
import { readableLog } from '../../src/terminal/readable-log.ts'
import { openStoreFor, startService, untilSignal } from '../../src/terminal/start.ts'
import api from './handlers.ts'
import { seed } from './seed.ts'

const file = './data/orders.db'

/** Made aside and then moved, so that a file that is there is a whole one. */
async function seeded(): Promise<void> {
  const fresh = `${file}.new`
  mkdirSync('./data', { recursive: true })
  for (const end of ['', '-wal', '-shm']) rmSync(fresh + end, { force: true })
  await seed(`sqlite:${fresh}`)
  renameSync(fresh, file)
}

interface Order {
  readonly id: string
  readonly customerId: string
}

/** The first order, and the first one that can be placed. */
async function firstOrders(database: string): Promise<readonly (Order | undefined)[]> {
  const { call, close } = testing(api, { database })
  const first = async (filter: string): Promise<Order | undefined> => {
    const { data } = (await (await call(`/orders?page_size=1${filter}`)).json()) as { data: Order[] }
    return data[0]
  }
  const found = [await first(''), await first('&status=draft&total[gte]=0.01')]
  await close()
  return found
}

async function run(): Promise<number> {
  if (!existsSync(file)) await seeded()
  const database = `sqlite:${file}`
  const [order, draft] = await firstOrders(database)
  const [port, host, log] = [Number(process.env.PORT || 3000), process.env.HOST || '127.0.0.1', readableLog()]
  const { url, stop } = await startService(api, {
    store: await openStoreFor(api, database, 'apply'),
    place: { port, host },
    log,
  })
  const ended = untilSignal(log, () => stop({ grace: 0, drain: 1000 }))
  console.log(`bylaw serves ${api.name} at ${url}, from ${file}. Try:\n`)
  console.log(`  curl '${url}/orders?sort=total&order=desc&page_size=3'`)
  if (order) {
    console.log(`  curl -i ${url}/orders/${order.id}`)
    console.log(`  ${curlCreate(`${url}/orders`, { customerId: order.customerId, currency: 'EUR' })}`)
  }
  if (draft) console.log(`  curl -X POST ${url}/orders/${draft.id}/placements`)
  console.log('')
  return ended
}

process.exit(await run().catch(printError))
