/** Copies: what a store knows of dropped values when it is opened, and how they expire. The cellar. */
import type { Cellar, Steps } from '../store/cellar.ts'
import type { Dialect } from '../store/dialect.ts'
import { copiedFields, expireCopies, findDropped, watchedIn } from '../store/dropped.ts'
import { rememberRights } from './drop.ts'
import type { Consent } from './hazard.ts'

const usual = 30 * 24 * 60 * 60 * 1000

/** Takes expired copies, by the time that has certainly come, or by the clock of the database; null where there is nothing to take. */
export type Expire = ((due: number | null) => Steps<void>) | null

export function* copiesIn(
  { dialect, shelves }: Cellar,
  consent: Consent,
  due: () => number | null,
): Steps<Pick<Cellar, 'dropped'>> {
  const collections = [...shelves.values()].map(({ collection }) => collection)
  yield* rememberRights(dialect, collections)
  if ((yield findDropped(dialect)).length === 0) return {}
  const { retention = usual } = consent
  if (retention !== null) yield* expireCopies(dialect, retention, due())
  return { dropped: watchedIn(collections, yield* copiedFields()) }
}

export const expiring = (dialect: Dialect, { dropped }: Pick<Cellar, 'dropped'>, consent: Consent): Expire => {
  const { retention = usual } = consent
  return dropped && retention !== null ? (due) => expireCopies(dialect, retention, due) : null
}
