/** Idempotency keys: stored in the transaction of the write that they belong to. The cellar. */

import type { Outcome, PriorClaim } from '../flow/outcome.ts'
import type { Claim, Read, Recall } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { claimTable } from '../sql/compile.ts'
import { type Dialect, shardCondition } from '../sql/dialect.ts'
import { declaredName, type StoreContext, storedName } from './context.ts'
import { type ResultRow, rowConflict, type Steps } from './steps.ts'

/** Finds what a key was used for; `free` if it was not used or has expired. */
export function* recallClaim(cellar: StoreContext, { claim }: Recall): Steps<Outcome> {
  const { dialect } = cellar
  const at = shardCondition(shardKeyOf(claim.hash), 2, dialect)
  const [row] = yield {
    text: `SELECT collection, parent, id, fingerprint, time, answer FROM ${claimTable} WHERE hash = ${dialect.mark(1)}${at.text}`,
    values: [claim.hash, ...at.values],
    autocommit: 'read',
  }
  return row && !isExpired(cellar, row, claim) ? priorClaimOf(cellar, row) : { is: 'free' }
}

/** The time that expiry is judged by, given the time of a plan, which may be ahead. */
export const expiresBy = ({ clockLead }: StoreContext, time: number): number => (clockLead ? time - clockLead() : time)

const isExpired = (cellar: StoreContext, { time }: ResultRow, { expired }: Claim): boolean =>
  expired !== null && Number(time) <= expiresBy(cellar, expired)

const priorClaimOf = (
  cellar: StoreContext,
  { collection, id, parent, fingerprint, answer }: ResultRow,
): PriorClaim => ({
  is: 'claimed',
  collection: declaredName(cellar, collection as string),
  id: id as string,
  parent: parent as string | null,
  fingerprint: fingerprint as string,
  answer: answer === null ? null : JSON.parse(answer as string),
})

/** Takes a key for a row; if the key is taken, returns the earlier claim. R101, R102, R106. */
export function* takeClaim(
  cellar: StoreContext,
  { collection, key }: Pick<Read, 'collection' | 'key'>,
  claim: Claim,
): Steps<PriorClaim | null> {
  const { dialect } = cellar
  const { hash, fingerprint, time } = claim
  const expired = claim.expired === null ? null : expiresBy(cellar, claim.expired)
  const called = storedName(cellar, collection)
  const home = dialect.distribute ? [shardKeyOf(hash)] : []
  const values = [...home, hash, called, key.parent, key.id, fingerprint, time]
  const { kept, renewed } = claimStatementsFor(dialect)
  const [taken] = yield expired === null ? { text: kept, values } : { text: renewed, values: [...values, expired] }
  if (taken) {
    if (expired !== null) yield* sweepClaims(cellar, called, { hash, expired })
    return null
  }
  const before = yield* recallClaim(cellar, { do: 'recall', claim })
  if (before.is !== 'claimed') throw rowConflict(claimTable) // it was taken, and has been released since
  return before
}

/** How to take a key that is kept forever, and one that may replace an expired key. */
interface ClaimStatements {
  readonly kept: string
  readonly renewed: string
}

const claimStatements = new WeakMap<Dialect, ClaimStatements>()

function claimStatementsFor(dialect: Dialect): ClaimStatements {
  const before = claimStatements.get(dialect)
  if (before) return before
  const told = ['collection', 'parent', 'id', 'fingerprint', 'time']
  const names = [...(dialect.distribute ? ['home'] : []), 'hash', ...told]
  const into = `INSERT INTO ${claimTable} (${names.join(', ')}) VALUES (${names.map((_, i) => dialect.mark(i + 1)).join(', ')})
    ON CONFLICT (${dialect.distribute ? 'home, hash' : 'hash'})`
  const anew = told.map((name) => `${name} = excluded.${name}`).join(', ')
  const old = `${claimTable}.time <= ${dialect.mark(names.length + 1)}`
  const made = {
    kept: `${into} DO NOTHING RETURNING hash`,
    renewed: `${into} DO UPDATE SET ${anew}, answer = NULL WHERE ${old} RETURNING hash`,
  }
  claimStatements.set(dialect, made)
  return made
}

/** Stores the first answer with its key, to replay it. R98. */
export function* keepAnswer(
  { dialect }: StoreContext,
  { hash }: Claim,
  answer: NonNullable<PriorClaim['answer']>,
): Steps<void> {
  const { mark } = dialect
  const at = shardCondition(shardKeyOf(hash), 3, dialect)
  yield {
    text: `UPDATE ${claimTable} SET answer = ${mark(1)} WHERE hash = ${mark(2)}${at.text}`,
    values: [JSON.stringify(answer), hash, ...at.values],
  }
}

const maxSwept = 10

/** Deletes some expired keys: more than the one that a creation adds, so that they cannot pile up. R106. */
function* sweepClaims(
  { dialect }: StoreContext,
  collection: string,
  { hash, expired }: Pick<Claim, 'hash' | 'expired'>,
): Steps<void> {
  const { mark } = dialect
  const at = shardCondition(shardKeyOf(hash), 4, dialect)
  const old = `SELECT hash FROM ${claimTable} WHERE collection = ${mark(1)} AND time <= ${mark(2)}${at.text} ORDER BY time LIMIT ${mark(3)}`
  const text = `DELETE FROM ${claimTable} WHERE hash IN (${old})${at.text}`
  yield { text, values: [collection, expired, maxSwept, ...at.values] }
}
