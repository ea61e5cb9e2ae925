/** Holds idempotency keys, in the transaction of what is made with them. The cellar. */
import { homeOf } from '../flow/home.ts'
import type { Claimed, Outcome } from '../flow/outcome.ts'
import type { Claim, Read, Recall } from '../flow/plan.ts'
import { type Answer, type Cellar, calledIn, moved, namedIn, type Steps } from './cellar.ts'
import { keys } from './compile.ts'
import { atHome, type Dialect } from './dialect.ts'

/** What was made with a key, if it was used. */
export function* recall(cellar: Cellar, { claim }: Recall): Steps<Outcome> {
  const { dialect } = cellar
  const at = atHome(homeOf(claim.hash), 2, dialect)
  const [row] = yield {
    text: `SELECT collection, parent, id, fingerprint, time, answer FROM ${keys} WHERE hash = ${dialect.mark(1)}${at.text}`,
    values: [claim.hash, ...at.values],
    lone: 'read',
  }
  return row && !isExpired(cellar, row, claim) ? claimed(cellar, row) : { is: 'free' }
}

/** The time that what is kept expires by, when a plan says that it is `time`. */
export const dueAt = ({ lead }: Cellar, time: number): number => (lead ? time - lead() : time)

const isExpired = (cellar: Cellar, { time }: Answer, { expired }: Claim): boolean =>
  expired !== null && Number(time) <= dueAt(cellar, expired)

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
  const expired = claim.expired === null ? null : dueAt(cellar, claim.expired)
  const called = calledIn(cellar, collection)
  const home = dialect.spread ? [homeOf(hash)] : []
  const values = [...home, hash, called, key.parent, key.id, fingerprint, time]
  const { kept, renewed } = takingIn(dialect)
  const [taken] = yield expired === null ? { text: kept, values } : { text: renewed, values: [...values, expired] }
  if (taken) {
    if (expired !== null) yield* sweep(cellar, called, { hash, expired })
    return null
  }
  const before = yield* recall(cellar, { do: 'recall', claim })
  if (before.is !== 'claimed') throw moved(keys) // it was taken, and given up since
  return before
}

/** How a key is taken that is kept forever, and one that may be taken anew. */
interface Taking {
  readonly kept: string
  readonly renewed: string
}

const takings = new WeakMap<Dialect, Taking>()

function takingIn(dialect: Dialect): Taking {
  const before = takings.get(dialect)
  if (before) return before
  const told = ['collection', 'parent', 'id', 'fingerprint', 'time']
  const names = [...(dialect.spread ? ['home'] : []), 'hash', ...told]
  const into = `INSERT INTO ${keys} (${names.join(', ')}) VALUES (${names.map((_, i) => dialect.mark(i + 1)).join(', ')})
    ON CONFLICT (${dialect.spread ? 'home, hash' : 'hash'})`
  const anew = told.map((name) => `${name} = excluded.${name}`).join(', ')
  const old = `${keys}.time <= ${dialect.mark(names.length + 1)}`
  const made = {
    kept: `${into} DO NOTHING RETURNING hash`,
    renewed: `${into} DO UPDATE SET ${anew}, answer = NULL WHERE ${old} RETURNING hash`,
  }
  takings.set(dialect, made)
  return made
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
function* sweep(
  { dialect }: Cellar,
  collection: string,
  { hash, expired }: Pick<Claim, 'hash' | 'expired'>,
): Steps<void> {
  const { mark } = dialect
  const at = atHome(homeOf(hash), 4, dialect)
  const old = `SELECT hash FROM ${keys} WHERE collection = ${mark(1)} AND time <= ${mark(2)}${at.text} ORDER BY time LIMIT ${mark(3)}`
  const text = `DELETE FROM ${keys} WHERE hash IN (${old})${at.text}`
  yield { text, values: [collection, expired, mostSwept, ...at.values] }
}
