/** Undrop: restores dropped values while nodes serve requests. The cellar. */
import { admitUndrop, undropBatch } from '../rewrite/undrop.ts'
import type { UndropResult } from '../schema/migration.ts'
import { storeContext } from '../store/context.ts'
import { runStepsAsync } from '../store/steps.ts'
import {
  comparePostgresSchema,
  dialectOf,
  inFencedTransaction,
  type MigrationContext,
  withSchemaLease,
} from './migrate.ts'

/** Restores dropped values batch by batch, each in a transaction. */
export function undropPostgres(site: MigrationContext): Promise<UndropResult[]> {
  return withSchemaLease(site, async (work) => {
    const { ask, collections } = work
    const state = admitUndrop(await comparePostgresSchema(ask, work))
    const shelves = storeContext(collections, state, dialectOf(state.layout), () => false)
    const all: UndropResult[] = []
    const some = (after: readonly string[] | null) =>
      inFencedTransaction(work, () => runStepsAsync(undropBatch(shelves, after), ask))
    for (let batch = await some(null); ; batch = await some(batch.after)) {
      all.push(...batch.results)
      if (batch.after === null) return all
    }
  })
}
