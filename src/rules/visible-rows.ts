/** Visible rows: the rows that exist for a caller whose access depends on the row. Part 5, authentication. */

import type { AbsentRow, ReadResult } from '../flow/found-row.ts'
import { Memo } from '../flow/memo.ts'
import type { Condition, RowTest, VisibleRows } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'

/** Rows that meet a test, by collection. */
export class TestedRows implements VisibleRows {
  readonly key: string
  readonly #tests: ReadonlyMap<string, RowTest>
  readonly #lists = new Memo<Prepared, Prepared>(100)

  constructor(tests: ReadonlyMap<string, RowTest>) {
    this.#tests = tests
    this.key = JSON.stringify(
      [...tests].map(([name, { any }]) => [name, any]),
      (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
    )
  }

  of(collection: string): RowTest | undefined {
    return this.#tests.get(collection)
  }

  conditionsFor(collection: string): readonly Condition[] {
    const any = this.of(collection)?.any
    if (!any) return []
    const [only, ...more] = any
    if (only === undefined) return [{ column: 'id', is: 'in', values: [] }] // no row at all
    return more.length === 0 ? only : [{ column: 'id', is: 'any', of: any }]
  }

  preparedFor(list: Prepared): Prepared {
    return this.#lists.get(list) ?? this.#lists.set(list, new Prepared())
  }

  seenAs(collection: string, current: ReadResult): ReadResult {
    if (current.is === 'missing') return current
    const isFound = current.is === 'found'
    const test = this.of(isFound ? collection : current.collection)
    if (!test || (isFound && test.matches(current.doc))) return current
    return isFound ? absent(collection, idIn(current.doc)) : absent(current.collection, current.id)
  }

  /** A copy with another test for a collection. */
  with(collection: string, test: RowTest): TestedRows {
    return new TestedRows(new Map([...this.#tests, [collection, test]]))
  }
}

const absent = (collection: string, id: string): AbsentRow => ({ is: 'missing', collection, id, revision: 0 })

const idIn = (doc: string): string => String((JSON.parse(doc) as { id: unknown }).id)
