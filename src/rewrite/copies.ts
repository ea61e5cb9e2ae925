/** Copies: loads and expires the copies of dropped values when a store is opened. The cellar. */

import type { Consent } from '../schema/hazard.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { StoreContext } from '../store/context.ts'
import { expireCopies, findCopyTable, readCopiedFields, watchedFields } from '../store/dropped-copies.ts'
import type { Steps } from '../store/steps.ts'
import { rememberRights } from './drop.ts'

const defaultRetention = 30 * 24 * 60 * 60 * 1000

/** Deletes expired copies, by a given time or by the clock of the database; null if copies cannot expire. */
export type ExpireCopies = ((due: number | null) => Steps<void>) | null

export function* prepareCopies(
  { dialect, collections: shelves }: StoreContext,
  consent: Consent,
  due: () => number | null,
): Steps<Pick<StoreContext, 'dropped'>> {
  const collections = [...shelves.values()].map(({ collection }) => collection)
  yield* rememberRights(dialect, collections)
  if ((yield findCopyTable(dialect)).length === 0) return {}
  const { retention = defaultRetention } = consent
  if (retention !== null) yield* expireCopies(dialect, retention, due())
  return { dropped: watchedFields(collections, yield* readCopiedFields()) }
}

export const copyExpiry = (
  dialect: Dialect,
  { dropped }: Pick<StoreContext, 'dropped'>,
  consent: Consent,
): ExpireCopies => {
  const { retention = defaultRetention } = consent
  return dropped && retention !== null ? (due) => expireCopies(dialect, retention, due) : null
}
