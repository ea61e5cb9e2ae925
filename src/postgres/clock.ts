/** Clock: the database's time, which all nodes share, by its measured offset from the monotonic clock. The cellar. */
import type { Clock } from '../flow/store.ts'
import { postgresDialect } from '../sql/dialect.ts'
import type { Connection } from './connect.ts'

/** How often the offset is measured again, in milliseconds. */
const followTime = 60_000

export interface PostgresClock extends Clock {
  /** Measures the offset again once a minute, until `stop`. */
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
        } catch {} // the database is away: keep the last offset
      }
      timer = setInterval(again, followTime).unref()
    },
    stop: () => clearInterval(timer),
  }
}

/** The offset of the database's time from the monotonic clock; its answer is taken to be half a round trip old. */
async function measureOffset({ ask }: Pick<Connection, 'ask'>, steady: () => number): Promise<number> {
  const began = steady()
  const [row] = await ask({ text: `SELECT ${postgresDialect.now} AS time`, values: [] })
  return Number(row?.time) - (began + steady()) / 2
}
