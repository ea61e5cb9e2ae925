/** Counts which version is used by whom, in memory, and writes it to the store now and then, off the way of requests. Part 9, versions. */
import type { Use } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'

const counted = new WeakMap<Store, Map<string, Use>>()
const most = 10_000 // what is counted between two times of writing it down

/** Counts a request. */
export function count(store: Store, version: string, caller: string, time: number): void {
  const all = counted.get(store) ?? new Map<string, Use>()
  counted.set(store, all)
  const name = `${version} ${caller}`
  const before = all.get(name)
  if (!before && all.size >= most) void written(store).catch(() => {})
  all.set(name, { version, caller, requests: (before?.requests ?? 0) + 1, last: time })
}

/** Writes down what was counted; what the store does not take is counted on. */
export async function written(store: Store): Promise<void> {
  const all = counted.get(store)
  if (!all || all.size === 0) return
  counted.delete(store)
  try {
    await store.execute({ do: 'tally', uses: [...all.values()] })
  } catch (error) {
    for (const { version, caller, requests, last } of all.values()) again(store, { version, caller, requests, last })
    throw error
  }
}

function again(store: Store, use: Use): void {
  const all = counted.get(store) ?? new Map<string, Use>()
  counted.set(store, all)
  const name = `${use.version} ${use.caller}`
  const before = all.get(name)
  if (!before && all.size >= most) return
  const last = Math.max(use.last, before?.last ?? 0)
  all.set(name, { ...use, requests: use.requests + (before?.requests ?? 0), last })
}

/** Every few seconds, until it is stopped; the rest is written then. */
export function writing(store: Store, every: number): () => Promise<void> {
  const timer = setInterval(() => void written(store).catch(() => {}), every).unref()
  return async () => {
    clearInterval(timer)
    await written(store).catch(() => {})
  }
}
