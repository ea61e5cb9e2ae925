/** Engine: which server answers, as far as statements are sent or judged differently. The cellar. */
import type { Layout } from '../sql/layout.ts'
import type { Connection } from './connect.ts'

export interface Engine {
  /** Whether Citus runs statements on workers: of a distributed layout, or of a schema that it has put on one of them. */
  readonly citus: boolean
  /**
   * Whether one plan may be made for all values. With Citus the values decide which shard is asked; older releases of
   * YugabyteDB do not know the setting.
   */
  readonly plansOnce: boolean
}

export async function readEngine({ ask }: Pick<Connection, 'ask'>, { spread }: Layout): Promise<Engine> {
  const text = `SELECT to_regclass('pg_dist_partition') IS NOT NULL AS citus,
    current_setting('plan_cache_mode', true) IS NOT NULL AS known`
  const [row] = await ask({ text, values: [] })
  const citus = spread === true || row?.citus === true
  return { citus, plansOnce: !citus && row?.known === true }
}
