/** Clock: the database's time, which all nodes share, by its measured offset from the monotonic clock. The store. */
import { type Cancel, type Clock, trustedClock, type World } from '../flow/world.ts'
import { postgresDialect } from '../sql/dialect.ts'
import type { Connection } from './connect.ts'

/** How often the offset is measured again, in milliseconds. */
const followTime = 60_000

export interface PostgresClock extends Clock {
  /** Measures the offset again once a minute, until `stop`. */
  readonly follow: (share: () => Promise<Pick<Connection, 'ask'>>) => void
  readonly stop: () => void
}

export async function postgresClock(connection: Pick<Connection, 'ask'>, world: World): Promise<PostgresClock> {
  const { monotonic, every } = world
  let offset = await measureOffset(connection, world)
  let stop: Cancel = () => {}
  return {
    ...trustedClock(() => Math.floor(monotonic() + offset)),
    follow: (share) => {
      const again = async (): Promise<void> => {
        try {
          offset = await measureOffset(await share(), world)
        } catch {} // the database is away: keep the last offset
      }
      stop = every(followTime, again)
    },
    stop: () => stop(),
  }
}

/** The offset of the database's time from the monotonic clock; its answer is taken to be half a round trip old. */
async function measureOffset({ ask }: Pick<Connection, 'ask'>, { monotonic }: World): Promise<number> {
  const began = monotonic()
  const [row] = await ask({ text: `SELECT ${postgresDialect.now} AS time`, values: [] })
  return Number(row?.time) - (began + monotonic()) / 2
}
