/** Usage: counts in memory which caller uses which version, and writes the counts off the request path. Part 9, versions. */
import { rowsIn } from '../flow/outcome.ts'
import type { Store } from '../flow/store.ts'
import { type Table, type TableOperation, tablePlan } from '../flow/table.ts'
import type { ServiceWorld } from '../flow/world.ts'

export const usageTable: Table = {
  name: 'bylaw_uses',
  columns: { version: 'text?', caller: 'text?', requests: 'integer', last: 'integer' },
  key: ['version', 'caller'],
}

interface StoreAndWorld {
  readonly store: Pick<Store, 'execute'>
  readonly world: ServiceWorld
}

/** How often a version was used by a caller, and when last. */
export interface VersionUse {
  readonly version: string
  readonly caller: string
  readonly requests: number
  readonly last: number
}

const table = usageTable
const addUse: TableOperation = { do: 'add', table, sums: ['requests'], greatest: ['last'] }
/** Finds all recorded uses. */
export const findUses = tablePlan({ do: 'find', table, where: {}, order: ['version', '-last', 'caller'] })

/** The recorded uses of all versions. */
export const readVersionUses = async (store: Pick<Store, 'execute'>): Promise<readonly VersionUse[]> =>
  rowsIn(await store.execute(findUses)) as unknown as readonly VersionUse[]

const makePendingUses = () => new Map<string, VersionUse>()
const mostCounted = 10_000 // pairs of version and caller that are counted between two writes

/** Counts one use at `time`. */
export function countVersionUse(on: StoreAndWorld, version: string, caller: string, time: number): void {
  const all = on.world.state.of(makePendingUses, null)
  const name = `${version} ${caller}`
  const before = all.get(name)
  if (!before && all.size >= mostCounted) void flushUsage(on).catch(() => {})
  all.set(name, { version, caller, requests: (before?.requests ?? 0) + 1, last: time })
}

/** Writes the counts to the store; after a failed write, the counts are restored. */
export async function flushUsage({ store, world }: StoreAndWorld): Promise<void> {
  const all = world.state.of(makePendingUses, null)
  if (all.size === 0) return
  // In one order on every node, so that two nodes that lock the same rows cannot deadlock.
  const uses = [...all].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, use]) => use)
  all.clear()
  try {
    await store.execute({ do: 'several', writes: uses.map((use) => tablePlan(addUse, { ...use })) })
  } catch (error) {
    for (const one of uses) restoreCount(all, one)
    throw error
  }
}

function restoreCount(all: Map<string, VersionUse>, use: VersionUse): void {
  const name = `${use.version} ${use.caller}`
  const before = all.get(name)
  if (!before && all.size >= mostCounted) return
  const last = Math.max(use.last, before?.last ?? 0)
  all.set(name, { ...use, requests: use.requests + (before?.requests ?? 0), last })
}

/** Flushes the counts at an interval, and once more when the returned function stops it. */
export function flushUsageEvery(on: StoreAndWorld, interval: number): () => Promise<void> {
  const stop = on.world.every(interval, () => void flushUsage(on).catch(() => {}))
  return async () => {
    stop()
    await flushUsage(on).catch(() => {})
  }
}
