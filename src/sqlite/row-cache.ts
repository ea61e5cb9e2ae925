/** Row cache: keeps rows that were read until they are written. The cellar. */

import type { FoundRow, RowKey } from '../flow/found-row.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Read } from '../flow/plan.ts'
import type { Collection } from '../rows/collection.ts'
import { tombstoneId } from '../sql/compile.ts'
import type { WrittenKey } from '../store/context.ts'

export interface RowCache {
  readonly get: (plan: Read) => FoundRow | undefined
  readonly put: (plan: Read, outcome: Outcome) => void
  readonly invalidate: (row: WrittenKey) => void
  readonly clear: () => void
}

/** Caches rows up to a total number of characters; beyond it, starts again with an empty cache. */
export function rowCache(collections: ReadonlyMap<string, Collection>, maxCharacters = 2_097_152): RowCache {
  const known = new Map<string, Map<string, FoundRow>>()
  let characters = 0
  const nameOf = (collection: string, key: RowKey) => tombstoneId(collections.get(collection) as Collection, key)
  const forget = () => {
    known.clear()
    characters = 0
  }
  return {
    get: ({ collection, key }) => known.get(collection)?.get(nameOf(collection, key)),
    put: ({ collection, key }, outcome) => {
      if (outcome.is !== 'found') return
      const size = outcome.doc.length + (outcome.hidden?.length ?? 0)
      if (size > maxCharacters) return
      if (characters + size > maxCharacters) forget()
      characters += size
      const own = known.get(collection) ?? new Map()
      known.set(collection, own.set(nameOf(collection, key), outcome))
    },
    invalidate: ({ collection, key }) => key && known.get(collection)?.delete(nameOf(collection, key)),
    clear: forget,
  }
}
