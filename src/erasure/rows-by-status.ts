/** Rows by status: all rows of a resource of the service, page by page. Part 8. */
import type { RowKey } from '../flow/found-row.ts'
import type { FamilyRows } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { Resource } from '../resources/resource.ts'

const pageSize = 100

/** Reads the rows of an account, or of all accounts. A row that changes to a later status meanwhile is read once or twice. */
export async function* rowsByStatus(
  store: Store,
  { name, byName }: Resource,
  account: string | null | undefined,
): AsyncGenerator<FamilyRows['rows'][number]> {
  for (const value of byName.get('status')?.field.values ?? []) {
    for (let after: RowKey | null = null, more = true; more; ) {
      const page = { after, limit: pageSize }
      const { rows } = (await store.execute({
        ...{ do: 'family', collection: name, column: 'by_status', value, account, page },
      })) as FamilyRows
      yield* rows
      after = rows.at(-1)?.key ?? null
      more = rows.length === pageSize
    }
  }
}
