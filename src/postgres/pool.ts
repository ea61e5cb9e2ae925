/** Pool: a few connections, some for one user at a time, some shared by all short statements. The cellar. */
import { Problem } from '../errors/problem.ts'
import type { ConnectionUsage, StoreUsage } from '../flow/store.ts'
import type { Cancel, World } from '../flow/world.ts'
import type { Connection } from './connect.ts'

export interface ConnectionPool {
  /** Lends a connection to one user at a time. */
  readonly use: <T>(act: (connection: Connection) => Promise<T>) => Promise<T>
  /** The same for coalesced statements. */
  readonly useCoalesced: ConnectionPool['use']
  /** A shared connection, for a short statement that neither waits for locks nor holds them. */
  readonly share: () => Connection | Promise<Connection>
  /** How many connections have ended so far, for whatever reason. */
  readonly losses: () => number
  readonly usage: () => StoreUsage
  /** Counts a batch of coalesced statements. */
  readonly countBatch: (statements: number) => void
  /** Closes all connections, after their users have finished. */
  readonly close: () => Promise<void>
}

interface PoolWaiter {
  readonly take: (connection: Promise<Connection>) => void
  readonly leave: Cancel
}

const maxShared = 2
/** Connections for coalesced writes, if there are enough: some are at work while the next batch is collected. */
const maxCoalesced = 3
/** How many callers may wait, per exclusive connection. */
const maxWaiters = 60

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
}

/** Divides the connections into exclusive, coalesced and shared ones. */
export function connectionPool(
  make: ConnectionMakers,
  { connections: most, patience, coalesces }: PoolLimits,
  { after }: Pick<World, 'after'>,
): ConnectionPool {
  let losses = 0
  const { totals, countBatch } = batchTotals()
  const counted = (connect: () => Promise<Connection>) => async (): Promise<Connection> => {
    const connection = await connect()
    void connection.ended.then(() => losses++)
    return connection
  }
  const short = Math.min(maxShared, most - 1)
  const several = coalesces && most - short - maxCoalesced >= minExclusive ? maxCoalesced : 0
  const whenLate = (act: () => void) => after(patience, act)
  const shared = sharedConnections(counted(make.shared), short)
  const own = exclusiveConnections(counted(make.own), most - short - several, whenLate)
  const joint = several === 0 ? own : exclusiveConnections(counted(make.shared), several, whenLate)
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

/** Connections that are lent to one user at a time. */
// long because: its steps share the connections and the queue
function exclusiveConnections(
  connect: () => Promise<Connection>,
  most: number,
  whenLate: (act: () => void) => Cancel,
): Pick<ConnectionPool, 'use' | 'close'> & UsedConnections {
  const free: Connection[] = []
  const queue: PoolWaiter[] = []
  const idle: (() => void)[] = []
  let used = 0
  let closed = false

  return {
    use: async (act) => {
      const connection = await taken()
      try {
        return await act(connection)
      } finally {
        if (connection.isOpen()) free.push(connection)
        if (closed) closeFree() // a request that came after the close
        next()
      }
    },
    usage: () => ({ most, busy: used, waiting: queue.length }),
    close: async () => {
      if (used > 0) await new Promise<void>((resolve) => idle.push(resolve))
      closed = true
      closeFree()
    },
  }

  function closeFree(): void {
    for (const connection of free.splice(0)) connection.close()
  }

  function taken(): Promise<Connection> {
    if (used < most) {
      used++
      return opened()
    }
    if (queue.length >= most * maxWaiters) throw poolOverload()
    return new Promise((take, fail) => {
      const leave = whenLate(() => {
        queue.splice(queue.indexOf(waiting), 1)
        fail(poolOverload())
      })
      const waiting: PoolWaiter = { take, leave }
      queue.push(waiting)
    })
  }

  async function opened(): Promise<Connection> {
    for (let one = free.pop(); one; one = free.pop()) if (one.isOpen()) return one
    try {
      return await connect()
    } catch (error) {
      next()
      throw error
    }
  }

  function next(): void {
    const waiting = queue.shift()
    if (waiting) {
      waiting.leave()
      waiting.take(opened())
      return
    }
    used--
    if (used === 0) for (const resolve of idle.splice(0)) resolve()
  }
}

/** Connections that all callers use at the same time; the least busy one is returned. */
function sharedConnections(
  connect: () => Promise<Connection>,
  most: number,
): { share: ConnectionPool['share']; close: () => void } & UsedConnections {
  const lanes: (Connection | Promise<Connection> | null)[] = Array.from({ length: most }, () => null)

  function opened(lane: number): Promise<Connection> {
    const opening = connect()
    lanes[lane] = opening
    const settle = (connection: Connection | null) => {
      lanes[lane] = connection
    }
    opening.then(settle, () => settle(null))
    return opening
  }

  return {
    share: () => {
      let least: Connection | null = null
      for (const [lane, one] of lanes.entries()) {
        if (one instanceof Promise) continue
        if (one === null || !one.isOpen()) {
          const opening = opened(lane)
          if (least === null && lane === most - 1) return opening
        } else if (least === null || one.waiting() < least.waiting()) least = one
      }
      return least ?? (lanes.find((one) => one instanceof Promise) as Promise<Connection>)
    },
    usage: () => {
      const waiting = lanes.map((one) => (one === null || one instanceof Promise ? 0 : one.waiting()))
      return { most, busy: waiting.filter(Boolean).length, waiting: waiting.reduce((sum, own) => sum + own, 0) }
    },
    close: () => {
      const ignore = (): void => {}
      for (const one of lanes) void Promise.resolve(one).then((connection) => connection?.close(), ignore)
    },
  }
}

const poolOverload = (): Problem =>
  new Problem('overloaded', 'Too many requests wait for the store; nothing was changed. Try again later.')
