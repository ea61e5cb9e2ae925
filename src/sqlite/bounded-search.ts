/** Bounded search: reads a search on the event loop if so few rows match that it costs no more than a page. The store. */
import type { RunStatement } from '../catalog/steps.ts'
import type { ListRows } from '../flow/plan.ts'
import type { World } from '../flow/world.ts'
import { type Collection, wordColumns } from '../rows/collection.ts'
import { wordCount } from '../sql/search-index.ts'

/** How often each word, with those that it begins, may be in the index. */
const mostEntries = 2000
/** How many rows may match: as many as a large page has. */
const mostMatches = 200
/** How many characters may be searched for places of words: this takes some milliseconds. */
const mostCharacters = 4_000_000
/** From which average time in milliseconds reads are slow, of how many reads, and how many times as long none is tried again. */
const [slow, averaged, rest] = [5, 10, 100]

export interface BoundedSearches {
  /** The result of `read`; null if many rows might match, or if such reads have just been slow. */
  readonly readIfFew: <T>(collection: Collection, list: ListRows, read: () => T) => T | null
}

/**
 * Counts bound the work, except if many rows were deleted: the index keeps their entries for a while and skips them one by one.
 * Because of these, slow searches may take at most a hundredth of the time of the event loop.
 */
export function boundedSearches(run: RunStatement, { monotonic }: World): BoundedSearches {
  let until = Number.NEGATIVE_INFINITY
  let average = 0
  return {
    readIfFew: (collection, list, read) => {
      const started = monotonic()
      if (started < until) return null
      try {
        return matchesFew(run, collection, list) ? read() : null
      } finally {
        const took = monotonic() - started
        average += (took - average) / averaged
        if (average > slow) until = started + took * rest
      }
    },
  }
}

/** Whether few rows match the rarest word of a search, and no word is frequent. */
function matchesFew(run: RunStatement, collection: Collection, { where, account }: ListRows): boolean {
  const words = where.flatMap((one) => (one.is === 'search' ? one.words : []))
  if (words.length === 0) return false
  const length = wordColumns(collection).reduce((sum, { most }) => sum + (most ?? 0), 0)
  const count = wordCount(collection, mostEntries + 1)
  run(count.declare)
  let least = mostEntries
  for (const word of words) {
    const total = Number(run(count.of(word, account))[0]?.total)
    if (total > mostEntries) return false
    least = Math.min(least, total)
  }
  return least <= mostMatches && least * words.length * length <= mostCharacters
}
