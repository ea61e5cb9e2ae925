/** Visible rows: which rows exist for a caller whose access depends on the row. Part 5, authentication. */

import type { AbsentRow, ReadResult } from './found-row.ts'
import { Memo } from './memo.ts'
import type { Condition, Create, Update } from './plan.ts'
import { Prepared } from './prepared.ts'

/** The rows of a collection that a caller may use: those that meet all conditions of one of the lists. */
export interface RowTest {
  readonly any: readonly (readonly Condition[])[]
  /** Whether a stored document meets them. */
  readonly matches: (doc: string) => boolean
}

/** The rows that exist for a caller, by collection. All rows of the other collections exist for it. */
export class VisibleRows {
  /** Equal for callers that see the same rows. */
  readonly key: string
  readonly #tests: ReadonlyMap<string, RowTest>
  /** The compiled forms of lists of these rows, by those of the lists of all rows. */
  readonly #lists = new Memo<Prepared, Prepared>(100)

  constructor(tests: ReadonlyMap<string, RowTest>) {
    this.#tests = tests
    this.key = JSON.stringify(
      [...tests].map(([name, { any }]) => [name, any]),
      (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
    )
  }

  /** The test of a collection; undefined if all of its rows exist for the caller. */
  of(collection: string): RowTest | undefined {
    return this.#tests.get(collection)
  }

  /** The conditions that a list of a collection has besides its own. */
  conditionsFor(collection: string): readonly Condition[] {
    const any = this.of(collection)?.any
    if (!any) return []
    const [only, ...more] = any
    if (only === undefined) return [{ column: 'id', is: 'in', values: [] }] // no row at all
    return more.length === 0 ? only : [{ column: 'id', is: 'any', of: any }]
  }

  /** The same with another test for a collection. */
  with(collection: string, test: RowTest): VisibleRows {
    return new VisibleRows(new Map([...this.#tests, [collection, test]]))
  }

  preparedFor(list: Prepared): Prepared {
    return this.#lists.get(list) ?? this.#lists.set(list, new Prepared())
  }

  /**
   * A row as the caller sees it: one outside of the rule does not exist. What a deleted row was is not kept, so nobody knows
   * whether it existed for the caller.
   */
  seenAs(collection: string, seen: ReadResult): ReadResult {
    if (seen.is === 'found')
      return (this.of(collection)?.matches(seen.doc) ?? true) ? seen : absent(collection, seen.doc)
    return seen.is === 'gone' && this.of(seen.collection)
      ? { ...neverThere, collection: seen.collection, id: seen.id }
      : seen
  }
}

const neverThere = { is: 'missing', revision: 0 } as const

const absent = (collection: string, doc: string): AbsentRow => ({
  ...neverThere,
  collection,
  id: String((JSON.parse(doc) as { id: unknown }).id),
})

/** What a caller may do in a request, where that depends on rows. */
export interface RowRights {
  readonly visible: VisibleRows
  /** Refuses a row that the caller sees and may not use for this. */
  readonly admit: (seen: ReadResult) => void
  /** Refuses a write that would leave a row outside of the caller's rules. */
  readonly admitWritten: (write: Create | Update) => void
}
