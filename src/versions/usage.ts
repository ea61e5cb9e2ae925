/** Usage: counts in memory which caller uses which version, and writes the counts off the request path. Part 9, versions. */
import type { VersionUse } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { World } from '../flow/world.ts'

const pendingUses = new WeakMap<Store, Map<string, VersionUse>>()
const mostCounted = 10_000 // pairs of version and caller that are counted between two writes

export function countVersionUse(store: Store, version: string, caller: string, time: number): void {
  const all = pendingUses.get(store) ?? new Map<string, VersionUse>()
  pendingUses.set(store, all)
  const name = `${version} ${caller}`
  const before = all.get(name)
  if (!before && all.size >= mostCounted) void flushUsage(store).catch(() => {})
  all.set(name, { version, caller, requests: (before?.requests ?? 0) + 1, last: time })
}

/** Writes the counts to the store; after a failed write, the counts are restored. */
export async function flushUsage(store: Store): Promise<void> {
  const all = pendingUses.get(store)
  if (!all || all.size === 0) return
  pendingUses.delete(store)
  try {
    await store.execute({ do: 'tally', uses: [...all.values()] })
  } catch (error) {
    for (const { version, caller, requests, last } of all.values())
      restoreCount(store, { version, caller, requests, last })
    throw error
  }
}

function restoreCount(store: Store, use: VersionUse): void {
  const all = pendingUses.get(store) ?? new Map<string, VersionUse>()
  pendingUses.set(store, all)
  const name = `${use.version} ${use.caller}`
  const before = all.get(name)
  if (!before && all.size >= mostCounted) return
  const last = Math.max(use.last, before?.last ?? 0)
  all.set(name, { ...use, requests: use.requests + (before?.requests ?? 0), last })
}

/** Flushes the counts at an interval, and once more when the returned function stops it. */
export function flushUsageEvery(store: Store, interval: number, { every }: World): () => Promise<void> {
  const stop = every(interval, () => void flushUsage(store).catch(() => {}))
  return async () => {
    stop()
    await flushUsage(store).catch(() => {})
  }
}
