/** Lease: the right to change the schema, held by one node at a time and lost when it is not heard of. The cellar. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { Answer } from '../store/cellar.ts'
import { leases } from '../store/compile.ts'
import { postgres } from '../store/dialect.ts'
import type { Connection } from './connect.ts'

/** How long a holder may be silent, and how often it is heard, in milliseconds. */
export interface Pace {
  readonly term: number
  readonly beat: number
}

export const pace: Pace = { term: 30_000, beat: 5000 }

export interface Lease {
  /** Fails if somebody else has taken over; in a transaction it keeps everybody from doing so until its end. */
  readonly insist: () => Promise<void>
  readonly release: () => Promise<void>
}

const { now } = postgres
const name = 'schema'

/** Waits for the lease. Each holder has a greater number than the one before, so that one who was taken for dead can be told. */
export async function leased({ ask }: Connection, beating: Connection, { term, beat }: Pace): Promise<Lease> {
  const holder = `${hostname()}:${process.pid}:${randomUUID()}`
  let fence = await attempt(ask, holder, term)
  while (fence === null) {
    await pause(50 + Math.random() * 100)
    fence = await attempt(ask, holder, term)
  }
  const own = `name = '${name}' AND fence = ${fence}`
  const renewed = { text: `UPDATE ${leases} SET until = ${now} + ${term} WHERE ${own} RETURNING fence`, values: [] }
  const timer = setInterval(() => beating.ask(renewed).catch(() => {}), beat).unref()
  return {
    insist: async () => {
      if ((await ask(renewed)).length === 0)
        throw new Error('another node took over the change of the schema, as this one was not heard of for too long.')
    },
    release: async () => {
      clearInterval(timer)
      await ask({ text: `UPDATE ${leases} SET until = 0 WHERE ${own}`, values: [] }).catch(() => {})
    },
  }
}

async function attempt(ask: Connection['ask'], holder: string, term: number): Promise<number | null> {
  const [row] = (await ask({
    text: `INSERT INTO ${leases} (name, holder, fence, until) VALUES ('${name}', $1, 1, ${now} + ${term})
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = ${leases}.fence + 1, until = excluded.until
      WHERE ${leases}.until <= ${now} RETURNING fence`,
    values: [holder],
  })) as Answer[]
  return row ? Number(row.fence) : null
}
