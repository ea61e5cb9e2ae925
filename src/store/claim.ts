/** Holds idempotency keys, in the transaction of what is made with them. The cellar. */
import type { Claimed, Outcome } from '../flow/outcome.ts'
import type { Claim, Read, Recall } from '../flow/plan.ts'
import { type Answer, type Cellar, moved, type Steps } from './cellar.ts'
import { keys } from './compile.ts'

/** What was made with a key, if it was used. */
export function* recall({ dialect: { mark } }: Cellar, { claim }: Recall): Steps<Outcome> {
  const [row] = yield {
    text: `SELECT collection, parent, id, fingerprint, time, answer FROM ${keys} WHERE hash = ${mark(1)}`,
    values: [claim.hash],
    lone: 'read',
  }
  return row && !isExpired(row, claim) ? claimed(row) : { is: 'free' }
}

const isExpired = ({ time }: Answer, { expired }: Claim): boolean => expired !== null && Number(time) <= expired

const claimed = ({ collection, id, parent, fingerprint, answer }: Answer): Claimed => ({
  is: 'claimed',
  collection: collection as string,
  id: id as string,
  parent: parent as string | null,
  fingerprint: fingerprint as string,
  answer: answer === null ? null : JSON.parse(answer as string),
})

/** Takes a key for a row; where it was taken before, tells for which one. R101, R102, R106. */
export function* hold(
  cellar: Cellar,
  { collection, key }: Pick<Read, 'collection' | 'key'>,
  claim: Claim,
): Steps<Claimed | null> {
  const { mark } = cellar.dialect
  const names = ['hash', 'collection', 'parent', 'id', 'fingerprint', 'time']
  const values = [claim.hash, collection, key.parent, key.id, claim.fingerprint, claim.time]
  const renewed = names.slice(1).map((name) => `${name} = excluded.${name}`)
  const text = `INSERT INTO ${keys} (${names.join(', ')}) VALUES (${names.map((_, i) => mark(i + 1)).join(', ')})
    ON CONFLICT (hash) DO UPDATE SET ${renewed.join(', ')}, answer = NULL WHERE ${keys}.time <= ${mark(7)} RETURNING hash`
  const [taken] = yield { text, values: [...values, claim.expired ?? -1] }
  if (taken) {
    if (claim.expired !== null) yield* sweep(cellar, collection, claim.expired)
    return null
  }
  const before = yield* recall(cellar, { do: 'recall', claim })
  if (before.is !== 'claimed') throw moved(keys) // it was taken, and given up since
  return before
}

/** Keeps the first answer with its key, to be given again. R98. */
export function* keep(
  { dialect: { mark } }: Cellar,
  { hash }: Claim,
  answer: NonNullable<Claimed['answer']>,
): Steps<void> {
  yield {
    text: `UPDATE ${keys} SET answer = ${mark(1)} WHERE hash = ${mark(2)}`,
    values: [JSON.stringify(answer), hash],
  }
}

const mostSwept = 10

/** Takes some keys that are no longer kept: more than one creation adds, so that they cannot pile up. R106. */
function* sweep({ dialect: { mark } }: Cellar, collection: string, expired: number): Steps<void> {
  const old = `SELECT hash FROM ${keys} WHERE collection = ${mark(1)} AND time <= ${mark(2)} ORDER BY time LIMIT ${mark(3)}`
  yield { text: `DELETE FROM ${keys} WHERE hash IN (${old})`, values: [collection, expired, mostSwept] }
}
