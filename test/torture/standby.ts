/** A primary with a synchronous standby: half of its failures end with the promotion of the standby, and a new standby is added. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Cluster, cluster } from '../help/cluster.ts'
import { type Backend, type BackendOptions, fall, nodes, repeat, settings } from './backend.ts'

/** A standby without a primary reconnects ten times a second, as commits wait for the standby. */
const followed = [...settings, 'wal_retrieve_retry_interval=100ms', 'log_min_messages=fatal']

export async function standby({ random }: BackendOptions): Promise<Backend> {
  let primary = await cluster(followed)
  let follower = await follow(primary)
  let promotions = 0
  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${follower.port}`

  /** The old primary does not return with its files: a new standby is copied from the new primary, on the same port. */
  async function promote(): Promise<void> {
    const lost = primary
    await lost.stop((['kill', 'immediate'] as const)[random(2)] ?? 'kill')
    await pause(random(300))
    follower.psql('SELECT pg_promote()')
    primary = follower
    waitFor(primary, '')
    promotions++
    await lost.close()
    follower = await follow(primary, lost.port)
  }

  return {
    nodes,
    next: () => ({
      database: `postgres://bylaw@${hosts}/postgres?target_session_attrs=read-write`,
      trace: null,
    }),
    crashed: () => 0,
    fall: () => (random(2) === 0 ? promote() : fall(primary, random)),
    repeat: (know) => repeat(primary, random, know),
    promotions: () => promotions,
    wrong: async () => [],
    close: async () => {
      await primary.close()
      await follower.close()
    },
  }
}

/** Adds a standby; afterwards the primary acknowledges a commit when the standby has it. */
async function follow(primary: Cluster, port?: number): Promise<Cluster> {
  const made = await cluster(followed, primary, port)
  waitFor(primary, '*')
  const until = performance.now() + 30_000
  while (primary.psql('SELECT sync_state FROM pg_stat_replication') !== 'sync') {
    if (performance.now() > until) throw new Error('The standby does not follow its primary within 30 s.')
    await pause(50)
  }
  return made
}

function waitFor(primary: Cluster, names: '' | '*'): void {
  primary.psql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
  primary.psql('SELECT pg_reload_conf()')
}
