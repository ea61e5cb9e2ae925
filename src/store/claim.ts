/** Holds idempotency keys, in the transaction of what is made with them. The cellar. */
import { homeOf } from '../flow/home.ts'
import type { Claimed, Outcome } from '../flow/outcome.ts'
import type { Claim, Read, Recall } from '../flow/plan.ts'
import { type Answer, type Cellar, calledIn, moved, namedIn, type Steps } from './cellar.ts'
import { keys } from './compile.ts'
import { atHome, newRow } from './dialect.ts'

/** What was made with a key, if it was used. */
export function* recall(cellar: Cellar, { claim }: Recall): Steps<Outcome> {
  const { dialect } = cellar
  const at = atHome(homeOf(claim.hash), 2, dialect)
  const [row] = yield {
    text: `SELECT collection, parent, id, fingerprint, time, answer FROM ${keys} WHERE hash = ${dialect.mark(1)}${at.text}`,
    values: [claim.hash, ...at.values],
    lone: 'read',
  }
  return row && !isExpired(row, claim) ? claimed(cellar, row) : { is: 'free' }
}

const isExpired = ({ time }: Answer, { expired }: Claim): boolean => expired !== null && Number(time) <= expired

const claimed = (cellar: Cellar, { collection, id, parent, fingerprint, answer }: Answer): Claimed => ({
  is: 'claimed',
  collection: namedIn(cellar, collection as string),
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
  const { dialect } = cellar
  const { hash, fingerprint, time } = claim
  const told = { collection: calledIn(cellar, collection), parent: key.parent, id: key.id, fingerprint, time }
  const { text: into, values } = newRow(keys, { hash, ...told }, homeOf(hash), dialect)
  const renewed = Object.keys(told).map((name) => `${name} = excluded.${name}`)
  const text = `${into}
    ON CONFLICT (${dialect.spread ? 'home, hash' : 'hash'}) DO UPDATE SET ${renewed.join(', ')}, answer = NULL WHERE ${keys}.time <= ${dialect.mark(values.length + 1)} RETURNING hash`
  const [taken] = yield { text, values: [...values, claim.expired ?? -1] }
  if (taken) {
    if (claim.expired !== null) yield* sweep(cellar, calledIn(cellar, collection), claim)
    return null
  }
  const before = yield* recall(cellar, { do: 'recall', claim })
  if (before.is !== 'claimed') throw moved(keys) // it was taken, and given up since
  return before
}

/** Keeps the first answer with its key, to be given again. R98. */
export function* keep({ dialect }: Cellar, { hash }: Claim, answer: NonNullable<Claimed['answer']>): Steps<void> {
  const { mark } = dialect
  const at = atHome(homeOf(hash), 3, dialect)
  yield {
    text: `UPDATE ${keys} SET answer = ${mark(1)} WHERE hash = ${mark(2)}${at.text}`,
    values: [JSON.stringify(answer), hash, ...at.values],
  }
}

const mostSwept = 10

/** Takes some keys that are no longer kept: more than one creation adds, so that they cannot pile up. R106. */
function* sweep({ dialect }: Cellar, collection: string, { hash, expired }: Claim): Steps<void> {
  const { mark } = dialect
  const at = atHome(homeOf(hash), 4, dialect)
  const old = `SELECT hash FROM ${keys} WHERE collection = ${mark(1)} AND time <= ${mark(2)}${at.text} ORDER BY time LIMIT ${mark(3)}`
  const text = `DELETE FROM ${keys} WHERE hash IN (${old})${at.text}`
  yield { text, values: [collection, expired, mostSwept, ...at.values] }
}
