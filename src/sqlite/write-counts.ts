/** Write counts: how often each collection was written to, by which caches know what is still valid. The cellar. */
import type { Collection } from '../rows/collection.ts'

export interface WriteCounts {
  readonly of: (collection: string) => number
  /** Changes with every write to the collections, also by other processes. */
  readonly mark: (collections: readonly string[]) => string
  /** Counts a write to a collection, and to those that its deletes cascade to. */
  readonly add: (collection: string) => void
}

/** `outside` returns a value that changes when another process has written. */
export function writeCounts(collections: readonly Collection[], outside: () => unknown): WriteCounts {
  const counts = new Map(collections.map(({ name }) => [name, 0]))
  const of = (name: string): number => counts.get(name) ?? 0
  return {
    of,
    mark: (names) => `${outside()} ${names.map(of).join(' ')}`,
    add: (collection) => {
      for (const name of withDependents(collections, collection)) counts.set(name, of(name) + 1)
    },
  }
}

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
