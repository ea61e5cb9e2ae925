/** Lease: the right to change the schema, held by one node at a time and lost if it is not renewed. The store. */
import { hostname } from 'node:os'
import type { ResultRow } from '../catalog/steps.ts'
import { pause, type World } from '../flow/world.ts'
import { postgresDialect } from '../sql/dialect.ts'
import { leaseTable, plainStatement } from '../sql/statements.ts'
import type { AskDatabase, Connection } from './connect.ts'
import { retryOnCodes } from './schema-retry.ts'

/** How long a lease is valid, and how often its holder renews it, in milliseconds. */
export interface LeaseTimes {
  readonly term: number
  readonly beat: number
}

export const leaseTimes: LeaseTimes = { term: 30_000, beat: 5000 }

export interface Lease {
  /** Throws if another node has taken over. In a transaction, it locks the lease until the end of the transaction. */
  readonly assertHeld: () => Promise<void>
  readonly release: () => Promise<void>
}

const { now } = postgresDialect
const leaseName = 'schema'

/** Waits for the lease. Each holder gets a higher fence number, so a former holder that was presumed dead is refused. */
export async function acquireLease(
  { ask }: Connection,
  beating: Connection,
  { term, beat }: LeaseTimes,
  world: World,
): Promise<Lease> {
  const holder = `${hostname()}:${process.pid}:${Buffer.from(world.fillRandom(new Uint8Array(16))).toString('hex')}`
  let fence = await tryAcquire(ask, holder, term)
  while (fence === null) {
    await pause(world, 50 + world.random() * 100)
    fence = await tryAcquire(ask, holder, term)
  }
  const own = `name = '${leaseName}' AND fence = ${fence}`
  const renewed = { text: `UPDATE ${leaseTable} SET until = ${now} + ${term} WHERE ${own} RETURNING fence`, values: [] }
  const stop = world.every(beat, () => beating.ask(renewed).catch(() => {}))
  return {
    assertHeld: async () => {
      if ((await ask(renewed)).length === 0)
        throw new Error('another node took over the migration, as this one did not renew its lease in time.')
    },
    release: async () => {
      stop()
      await ask({ text: `UPDATE ${leaseTable} SET until = 0 WHERE ${own}`, values: [] }).catch(() => {})
    },
  }
}

async function tryAcquire(ask: Connection['ask'], holder: string, term: number): Promise<number | null> {
  const [row] = (await ask({
    text: `INSERT INTO ${leaseTable} (name, holder, fence, until) VALUES ('${leaseName}', $1, 1, ${now} + ${term})
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = ${leaseTable}.fence + 1, until = excluded.until
      WHERE ${leaseTable}.until <= ${now} RETURNING fence`,
    values: [holder],
  })) as ResultRow[]
  return row ? Number(row.fence) : null
}

/** The parts that transactions under a lease need. */
interface LeasedWork {
  readonly ask: AskDatabase
  readonly lease: Lease
  readonly connect: () => Promise<Connection>
  readonly world: World
}

/** A transaction that commits only if this node holds the lease; retried if others hold locks. */
export function inFencedTransaction<T>({ ask, lease, world }: LeasedWork, act: () => Promise<T>): Promise<T> {
  return retryOnCodes(world, () => inTransaction(ask, () => lease.assertHeld().then(act)))
}

/** The short lock timeout keeps it from blocking others. */
async function inTransaction<T>(ask: AskDatabase, act: () => Promise<T>): Promise<T> {
  await ask(plainStatement('BEGIN'))
  try {
    await ask(plainStatement(`SET LOCAL lock_timeout = '500ms'`))
    const result = await act()
    await ask(plainStatement('COMMIT'))
    return result
  } catch (error) {
    await ask(plainStatement('ROLLBACK')).catch(() => {})
    throw error
  }
}

/** How long transactions run before the lease is asserted again, in milliseconds. */
const fencedTime = 1000

/**
 * Works on several parts at once, each on a connection of its own, in transactions that each continue where the previous one
 * ended. A separate transaction holds the lease meanwhile, so that no node can take it over. Returns the number of
 * transactions.
 */
export async function inFencedLanes<Part, End>(
  work: LeasedWork,
  most: number,
  parts: readonly Part[],
  act: (ask: AskDatabase, part: Part, after: End | null) => Promise<End | null>,
): Promise<number> {
  const { connect, world } = work
  const waiting = parts.map((part) => ({ part, after: null as End | null }))
  const lanes: { readonly connection: Connection; job: (typeof waiting)[number] | undefined }[] = []
  let transactions = 0
  const run = async (lane: (typeof lanes)[number], until: number): Promise<void> => {
    const { ask } = lane.connection
    do {
      lane.job ??= waiting.shift()
      const { job } = lane
      if (!job) return
      job.after = await inTransaction(ask, () => act(ask, job.part, job.after))
      transactions++
      if (job.after === null) lane.job = undefined
    } while (world.monotonic() < until)
  }
  try {
    while (lanes.length < Math.min(most, parts.length)) lanes.push({ connection: await connect(), job: undefined })
    while (waiting.length > 0 || lanes.some(({ job }) => job))
      await inFencedTransaction(work, async () => {
        const until = world.monotonic() + fencedTime
        const ends = await Promise.allSettled(lanes.map((lane) => run(lane, until)))
        for (const end of ends) if (end.status === 'rejected') throw end.reason
      })
  } finally {
    for (const { connection } of lanes) connection.close()
  }
  return transactions
}
