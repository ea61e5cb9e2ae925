/** All rows: the rows of a resource of the service, page by page. Part 8. */
import type { RowKey } from '../flow/found-row.ts'
import type { FamilyRows } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'

const pageSize = 100

/** Reads the rows of an account, or of all, by their keys: no change of a row meanwhile moves it to a page that was read already. */
export async function* allRows(
  store: Store,
  collection: string,
  account: string | null | undefined,
): AsyncGenerator<FamilyRows['rows'][number]> {
  for (let after: RowKey | null = null, more = true; more; ) {
    const page = { after, limit: pageSize }
    const { rows } = (await store.execute({ do: 'rows', collection, account, page })) as FamilyRows
    yield* rows
    after = rows.at(-1)?.key ?? null
    more = rows.length === pageSize
  }
}
