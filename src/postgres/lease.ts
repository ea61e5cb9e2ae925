/** Lease: the right to change the schema, held by one node at a time and lost if it is not renewed. The cellar. */
import { hostname } from 'node:os'
import type { ResultRow } from '../catalog/steps.ts'
import { pause, type World } from '../flow/world.ts'
import { postgresDialect } from '../sql/dialect.ts'
import { leaseTable } from '../sql/statements.ts'
import type { Connection } from './connect.ts'

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
