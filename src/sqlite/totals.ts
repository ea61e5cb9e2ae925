/** Totals: caches how many rows match a list, until its collection is written. The cellar. */
import { countKey, type ListRows } from '../flow/plan.ts'
import type { Collection } from '../rows/collection.ts'

export interface SqliteTotals {
  /** The total of a list, if it is cached and still valid. */
  readonly get: (plan: ListRows) => number | null | undefined
  /** Changes with every write to the collections, also by other processes. */
  readonly mark: (collections: readonly string[]) => string
  /** Caches a total; the caller checks that nothing was written since it was counted. */
  readonly put: (plan: ListRows, total: number | null) => void
  /** Forgets the totals of a collection, and of those that its deletes cascade to. */
  readonly invalidate: (collection: string) => void
  readonly clear: () => void
}

/** Caches up to `maxTotals`; `outside` returns a value that changes when another process has written. */
export function sqliteTotals(
  collections: readonly Collection[],
  outside: () => unknown,
  maxTotals = 1000,
): SqliteTotals {
  const writes = new Map(collections.map(({ name }) => [name, 0]))
  const known = new Map<string, { readonly total: number | null; readonly writes: number }>()

  const bump = (name: string) => writes.set(name, (writes.get(name) ?? 0) + 1)

  return {
    get: (plan) => {
      if (dependsOnOthers(plan)) return undefined
      const found = known.get(countKey(plan))
      return found?.writes === writes.get(plan.collection) ? found?.total : undefined
    },
    mark: (names) => `${outside()} ${names.map((name) => writes.get(name)).join(' ')}`,
    put: (plan, total) => {
      if (maxTotals === 0 || dependsOnOthers(plan)) return
      if (known.size >= maxTotals) known.clear()
      known.set(countKey(plan), { total, writes: writes.get(plan.collection) ?? 0 })
    },
    invalidate: (collection) => {
      for (const name of withDependents(collections, collection)) bump(name)
    },
    clear: () => known.clear(),
  }
}

/** Whether a total depends on other collections too. */
const dependsOnOthers = ({ where }: ListRows): boolean => where.some(({ is }) => is === 'among' || is === 'any')

/** A collection, and those that its deletes cascade to. */
function withDependents(
  collections: readonly Collection[],
  name: string,
  found = new Set<string>(),
): ReadonlySet<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const { collection, onDelete } of collections.find((one) => one.name === name)?.dependents ?? []) {
    if (onDelete === 'cascade') withDependents(collections, collection, found)
  }
  return found
}
