/** Remembers how many rows matched, for as long as nothing was written to the collection. The cellar. */
import { countedBy, type List } from '../flow/plan.ts'
import type { Collection } from '../resources/collection.ts'

export interface Totals {
  /** The total of a list, if it is known and still true. */
  readonly known: (plan: List) => number | null | undefined
  /** Changes with every write to the collections, by whomever. */
  readonly mark: (collections: readonly string[]) => string
  /** Remembers a total that was counted when nothing was written in between. */
  readonly learn: (plan: List, total: number | null) => void
  /** Forgets the totals of a collection, and of all that may be deleted with it. */
  readonly written: (collection: string) => void
  readonly forget: () => void
}

const most = 1000

/** `outside` changes whenever another process has written. */
export function totals(collections: readonly Collection[], outside: () => unknown): Totals {
  const writes = new Map(collections.map(({ name }) => [name, 0]))
  const known = new Map<string, { readonly total: number | null; readonly writes: number }>()

  const bump = (name: string) => writes.set(name, (writes.get(name) ?? 0) + 1)

  return {
    known: (plan) => {
      if (isWide(plan)) return undefined
      const found = known.get(countedBy(plan))
      return found?.writes === writes.get(plan.collection) ? found?.total : undefined
    },
    mark: (names) => `${outside()} ${names.map((name) => writes.get(name)).join(' ')}`,
    learn: (plan, total) => {
      if (isWide(plan)) return
      if (known.size >= most) known.clear()
      known.set(countedBy(plan), { total, writes: writes.get(plan.collection) ?? 0 })
    },
    written: (collection) => {
      for (const name of reached(collections, collection)) bump(name)
    },
    forget: () => known.clear(),
  }
}

/** Whether a total depends on other collections too. */
const isWide = ({ where }: List): boolean => where.some(({ is }) => is === 'among' || is === 'any')

/** A collection and all those whose rows are deleted with its rows. */
function reached(collections: readonly Collection[], name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const { collection, onDelete } of collections.find((one) => one.name === name)?.dependents ?? []) {
    if (onDelete === 'cascade') reached(collections, collection, found)
  }
  return found
}
