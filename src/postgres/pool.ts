/** Pool: a few connections, some for one user at a time, some shared by all short statements. The store. */
import { Problem } from '../errors/problem.ts'
import type { ConnectionUsage, StoreUsage } from '../flow/store.ts'
import type { Cancel, World } from '../flow/world.ts'
import type { Connection, DatabaseQuery } from './connect.ts'
import { allWorkers, coordinator, type ShardAreas } from './shard-areas.ts'

/** The statement that a connection is requested for; its shard key shows which worker will answer it. */
type FirstStatement = Pick<DatabaseQuery, 'text' | 'values'>

export interface ConnectionPool {
  /** Lends a connection to one user at a time. */
  readonly use: <T>(act: (connection: Connection) => Promise<T>, first?: FirstStatement) => Promise<T>
  /** As `use`, for coalesced statements. */
  readonly useCoalesced: ConnectionPool['use']
  /** A shared connection, for a short statement that neither waits for locks nor holds them. */
  readonly share: (statement?: FirstStatement) => Connection | Promise<Connection>
  /** How many connections have ended so far. */
  readonly losses: () => number
  readonly usage: () => StoreUsage
  /** Counts a batch of coalesced statements. */
  readonly countBatch: (statements: number) => void
  /** Closes all connections, after their users have finished. */
  readonly close: () => Promise<void>
}

interface PoolWaiter {
  readonly area: number
  readonly take: (since: number) => void
  readonly cancel: Cancel
}

const maxShared = 2
/** Connections for coalesced writes, if there are enough: some are at work while the next batch is collected. */
const maxCoalesced = 3
/** How many callers may wait, per connection. */
const maxWaiters = 60
/** After this many milliseconds a worker counts as slow. */
const slow = 200

/** Opens connections for one user at a time, and shared ones. */
interface ConnectionMakers {
  readonly own: () => Promise<Connection>
  readonly shared: () => Promise<Connection>
}

function batchTotals() {
  const totals = { batches: 0, batched: 0 }
  const countBatch = (statements: number): void => {
    totals.batches++
    totals.batched += statements
  }
  return { totals, countBatch }
}

interface UsedConnections {
  readonly usage: () => Omit<ConnectionUsage, 'use'>
}

/** The minimum of exclusive connections; with fewer, none is set aside for coalesced writes. */
const minExclusive = 2

interface PoolLimits {
  readonly connections: number
  /** How long a caller may wait for a connection, in milliseconds. */
  readonly patience: number
  /** Whether statements are coalesced at all. */
  readonly coalesces: boolean
  /** Which worker answers a statement; null if one server answers all. */
  readonly areas: ShardAreas | null
}

/** Divides the connections into exclusive, coalesced and shared ones. */
export function connectionPool(
  make: ConnectionMakers,
  { connections: most, patience, coalesces, areas }: PoolLimits,
  { after, monotonic }: Pick<World, 'after' | 'monotonic'>,
): ConnectionPool {
  let losses = 0
  const { totals, countBatch } = batchTotals()
  const counted = (connect: () => Promise<Connection>) => async (): Promise<Connection> => {
    const connection = await connect()
    void connection.ended.then(() => losses++)
    return connection
  }
  const short = areas ? Math.min(areas.count, Math.ceil(most / 2)) : Math.min(maxShared, most - 1)
  const several = coalesces && most - short - maxCoalesced >= minExclusive ? maxCoalesced : 0
  const whenLate = (act: () => void) => after(patience, act)
  const shared = sharedConnections(counted(make.shared), short, areas)
  const limits = (count: number) => ({ most: count, whenLate, areas, monotonic })
  const own = exclusiveConnections(counted(make.own), limits(most - short - several))
  const joint = several === 0 ? own : exclusiveConnections(counted(make.shared), limits(several))
  return {
    use: own.use,
    useCoalesced: joint.use,
    share: shared.share,
    losses: () => losses,
    usage: () => ({
      connections: [
        { use: 'exclusive', ...own.usage() },
        ...(joint === own ? [] : [{ use: 'coalesced' as const, ...joint.usage() }]),
        { use: 'shared', ...shared.usage() },
      ],
      losses,
      ...totals,
    }),
    countBatch,
    close: async () => {
      await Promise.all([own.close(), joint.close()])
      shared.close()
    },
  }
}

interface LaneLimits extends Pick<PoolLimits, 'areas'>, Pick<World, 'monotonic'> {
  readonly most: number
  readonly whenLate: (act: () => void) => Cancel
}

/** Since when the users of each area hold connections, the oldest first. */
type Holders = Map<number, number[]>

function usedBy(holders: Holders): number {
  let used = 0
  for (const { length } of holders.values()) used += length
  return used
}

/**
 * Whether an area may take one more connection. Without areas any may. With them a quarter is left for those that hold less,
 * and a slow worker may hold no more than a quarter.
 */
function mayTake(area: number, holders: Holders, { most, areas, monotonic }: LaneLimits): boolean {
  const used = usedBy(holders)
  const quarter = Math.max(1, Math.floor(most / 4))
  const own = holders.get(area) ?? []
  if (!areas || own.length < quarter) return used < most
  const isSlow = area > allWorkers && monotonic() - (own[0] as number) > slow
  return !isSlow && used < most - quarter
}

/** Connections that are lent to one user at a time. */
// long because: its steps share the connections and the queue
function exclusiveConnections(
  connect: () => Promise<Connection>,
  limits: LaneLimits,
): Pick<ConnectionPool, 'use' | 'close'> & UsedConnections {
  const { most, whenLate, areas, monotonic } = limits
  const free: Connection[] = []
  const queue: PoolWaiter[] = []
  const idle: (() => void)[] = []
  const holders: Holders = new Map()
  let closed = false

  return {
    use: async (act, first) => {
      if (closed) throw closedPool()
      const area = areas?.of(first) ?? coordinator
      const since = await lane(area)
      try {
        const connection = await opened()
        try {
          return await act(connection)
        } finally {
          if (connection.isOpen()) free.push(connection)
          if (closed) closeFree() // it was in use when the pool was closed
        }
      } finally {
        leave(area, since)
      }
    },
    usage: () => ({ most, busy: usedBy(holders), waiting: queue.length }),
    close: async () => {
      if (holders.size > 0) await new Promise<void>((resolve) => idle.push(resolve))
      closed = true
      closeFree()
    },
  }

  function closeFree(): void {
    for (const connection of free.splice(0)) connection.close()
  }

  function lane(area: number): number | Promise<number> {
    if (mayTake(area, holders, limits)) return enter(area)
    if (queue.length >= most * maxWaiters) throw poolOverload()
    return new Promise((take, fail) => {
      const cancel = whenLate(() => {
        queue.splice(queue.indexOf(waiting), 1)
        fail(poolOverload())
      })
      const waiting: PoolWaiter = { area, take, cancel }
      queue.push(waiting)
    })
  }

  function enter(area: number): number {
    const since = monotonic()
    holders.set(area, [...(holders.get(area) ?? []), since])
    return since
  }

  function leave(area: number, since: number): void {
    const rest = (holders.get(area) ?? []).toSpliced(holders.get(area)?.indexOf(since) ?? 0, 1)
    if (rest.length > 0) holders.set(area, rest)
    else holders.delete(area)
    for (let next = nextWaiter(); next; next = nextWaiter()) {
      next.cancel()
      next.take(enter(next.area))
    }
    if (holders.size === 0) for (const resolve of idle.splice(0)) resolve()
  }

  function nextWaiter(): PoolWaiter | undefined {
    const i = queue.findIndex(({ area }) => mayTake(area, holders, limits))
    return i < 0 ? undefined : queue.splice(i, 1)[0]
  }

  async function opened(): Promise<Connection> {
    for (let one = free.pop(); one; one = free.pop()) if (one.isOpen()) return one
    return connect()
  }
}

/**
 * Connections that all callers use at the same time: the least busy one or, with areas, the one of the area, where few may wait
 * for a worker that is slow.
 */
// long because: its ways to choose share the lanes
function sharedConnections(
  connect: () => Promise<Connection>,
  most: number,
  areas: ShardAreas | null,
): { share: ConnectionPool['share']; close: () => void } & UsedConnections {
  const lanes: (Connection | Promise<Connection> | null)[] = Array.from({ length: most }, () => null)
  let closed = false

  function opened(lane: number): Promise<Connection> {
    const opening = connect()
    lanes[lane] = opening
    const settle = (connection: Connection | null) => {
      lanes[lane] = connection
    }
    opening.then(settle, () => settle(null))
    return opening
  }

  function ofArea(area: number): Connection | Promise<Connection> {
    // With fewer connections than areas, workers share them.
    const lane = area > allWorkers && most > 2 ? 2 + ((area - 2) % (most - 2)) : Math.min(area, most - 1)
    const one = lanes[lane] ?? null
    if (one === null || (!(one instanceof Promise) && !one.isOpen())) return opened(lane)
    if (!(one instanceof Promise) && one.stalled() > slow && one.waiting() >= maxWaiters) throw poolOverload()
    return one
  }

  function leastBusy(): Connection | Promise<Connection> {
    let least: Connection | null = null
    for (const [lane, one] of lanes.entries()) {
      if (one instanceof Promise) continue
      if (one === null || !one.isOpen()) {
        const opening = opened(lane)
        if (least === null && lane === most - 1) return opening
      } else if (least === null || one.waiting() < least.waiting()) least = one
    }
    return least ?? (lanes.find((one) => one instanceof Promise) as Promise<Connection>)
  }

  return {
    share: (statement) => {
      if (closed) throw closedPool() // nothing would close a connection that is opened now
      return areas ? ofArea(areas.of(statement)) : leastBusy()
    },
    usage: () => {
      const waiting = lanes.map((one) => (one === null || one instanceof Promise ? 0 : one.waiting()))
      return { most, busy: waiting.filter(Boolean).length, waiting: waiting.reduce((sum, own) => sum + own, 0) }
    },
    close: () => {
      closed = true
      const ignore = (): void => {}
      for (const one of lanes) void Promise.resolve(one).then((connection) => connection?.close(), ignore)
    },
  }
}

const closedPool = (): Error => Object.assign(new Error('The store is closed.'), { code: 'ECONNRESET' })

const poolOverload = (): Problem =>
  new Problem('overloaded', 'Too many requests wait for the store; nothing was changed. Try again later.')
