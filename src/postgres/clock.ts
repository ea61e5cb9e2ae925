/** Clock: the time of the database, which all nodes share. It is asked for now and then, and followed by the monotonic clock between. The cellar. */
import type { Clock } from '../flow/store.ts'
import { postgresDialect } from '../sql/dialect.ts'
import type { Connection } from './connect.ts'

/** How long an answer is followed, in milliseconds. */
const followTime = 60_000

export interface PostgresClock extends Clock {
  /** Asks again once a minute from now on, until `stop`. */
  readonly follow: (share: () => Promise<Pick<Connection, 'ask'>>) => void
  readonly stop: () => void
}

export async function postgresClock(
  connection: Pick<Connection, 'ask'>,
  steady = () => performance.now(),
): Promise<PostgresClock> {
  let offset = await measureOffset(connection, steady)
  let timer: NodeJS.Timeout | undefined
  return {
    now: () => Math.floor(steady() + offset),
    follow: (share) => {
      const again = async (): Promise<void> => {
        try {
          offset = await measureOffset(await share(), steady)
        } catch {} // the database is away; its clock is followed further
      }
      timer = setInterval(again, followTime).unref()
    },
    stop: () => clearInterval(timer),
  }
}

/** How far the database is ahead of the monotonic clock; its answer is as old as half of the way there and back. */
async function measureOffset({ ask }: Pick<Connection, 'ask'>, steady: () => number): Promise<number> {
  const began = steady()
  const [row] = await ask({ text: `SELECT ${postgresDialect.now} AS time`, values: [] })
  return Number(row?.time) - (began + steady()) / 2
}
