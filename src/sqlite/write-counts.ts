/** Write counts: counts the writes to each collection, so that caches know if they are still valid. The cellar. */
import type { Collection } from '../rows/collection.ts'

export interface WriteCounts {
  readonly of: (collection: string) => number
  /** Changes with every write to the collections, also by other processes. */
  readonly mark: (collections: readonly string[]) => string
  readonly add: (collection: string) => void
}

/** `outside` returns a value that changes when another process has written. */
export function writeCounts(collections: readonly Collection[], outside: () => unknown): WriteCounts {
  const counts = new Map(collections.map(({ name }) => [name, 0]))
  const of = (name: string): number => counts.get(name) ?? 0
  return {
    of,
    mark: (names) => `${outside()} ${names.map(of).join(' ')}`,
    add: (name) => counts.set(name, of(name) + 1),
  }
}
