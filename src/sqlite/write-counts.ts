/** Write counts: counts the writes to each collection, and keeps the last ones, so that caches know if they are still valid. The store. */
import type { WriteNotice } from '../catalog/context.ts'
import type { ListedRows } from '../flow/store.ts'
import type { Collection } from '../rows/collection.ts'

export interface WriteCounts {
  readonly of: (collection: string) => number
  /** Changes with every write to the collections, also by other processes. */
  readonly mark: (collections: readonly string[]) => string
  readonly add: (written: WriteNotice) => void
  /** Whether the writes since a count do not affect a list. */
  readonly leave: (listed: ListedRows, since: number) => boolean
  /** As `leave`, since a mark of the list's collection alone. */
  readonly leaveSince: (listed: ListedRows, mark: string) => boolean
}

/** How many writes of a collection are kept; a list that is older counts as outdated. */
const mostKept = 256

interface KeptWrite {
  readonly id: string | undefined
  readonly changed: readonly string[] | undefined
}

/** `outside` returns a value that changes when another process has written. */
export function writeCounts(collections: readonly Collection[], outside: () => unknown): WriteCounts {
  const counts = new Map(collections.map(({ name }) => [name, 0]))
  const last = new Map(collections.map(({ name }) => [name, [] as KeptWrite[]]))
  const of = (name: string): number => counts.get(name) ?? 0

  function leave({ collection, columns, ids }: ListedRows, since: number): boolean {
    const [count, kept] = [of(collection), last.get(collection)]
    if (!kept || count - since > mostKept) return false
    for (let at = since; at < count; at++) {
      const { id, changed } = kept[at % mostKept] as KeptWrite
      if (id === undefined || !changed || ids?.has(id) || changed.some((column) => columns.has(column))) return false
    }
    return true
  }

  return {
    of,
    mark: (names) => `${outside()} ${names.map(of).join(' ')}`,
    add: ({ collection, key, changed }) => {
      const count = of(collection)
      counts.set(collection, count + 1)
      const kept = last.get(collection)
      if (kept) kept[count % mostKept] = { id: key?.id, changed } // a notice can be a whole plan, with its document
    },
    leave,
    leaveSince: (listed, mark) => {
      const [version, count] = mark.split(' ')
      return version === String(outside()) && leave(listed, Number(count))
    },
  }
}
