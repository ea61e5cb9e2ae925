/** Idempotency claims: keys that are stored in the transaction of the write that they belong to. The store. */

import {
  declaredName,
  type PreparedCollection,
  preparedCollection,
  type StoreContext,
  storedName,
  viewRecord,
} from '../catalog/context.ts'
import { rowConflict, type Steps } from '../catalog/steps.ts'
import { performTablePlan } from '../catalog/table-plans.ts'
import type { Outcome, PriorClaim } from '../flow/outcome.ts'
import type { Claim, Read, Recall } from '../flow/plan.ts'
import { type Table, type TableOperation, type TableRow, tablePlan } from '../flow/table.ts'
import { mentions, scannedRows } from './scanned-rows.ts'

export const claimTable: Table = {
  name: 'bylaw_keys',
  columns: {
    ...{ hash: 'text', collection: 'text', parent: 'text?', id: 'text' },
    ...{ fingerprint: 'text', time: 'integer', answer: 'text?' },
  },
  key: ['hash'],
  shardKey: 'hash',
  indexes: [{ name: 'time', columns: ['collection', 'time'] }],
}

const table = claimTable
const findKey: TableOperation = { do: 'find', table, where: { hash: 'hash' } }
const takeKey: TableOperation = { do: 'insert', table }
const takeExpiredKey: TableOperation = { do: 'insert', table, replaces: { time: { upTo: 'expired' } } }
const emptyKey: TableOperation = {
  ...{ do: 'set', table, where: { hash: 'hash' } },
  to: { answer: 'none', fingerprint: 'empty' },
}
const setAnswer: TableOperation = { do: 'set', table, where: { hash: 'hash' }, to: { answer: 'answer' } }
/** Deletes more keys than the one that a creation adds, so that expired ones cannot pile up. R106. */
const sweepKeys: TableOperation = {
  ...{ do: 'sweep', table, where: { collection: 'collection', time: { upTo: 'expired' } } },
  ...{ order: ['time'], limit: 10, near: 'hash' },
}

/** Finds the earlier claim of a key; `free` if the key was not used or has expired. */
export function* recallClaim(context: StoreContext, { claim }: Recall): Steps<Outcome> {
  const { rows } = yield* performTablePlan(context, tablePlan(findKey, { hash: claim.hash }))
  const [row] = rows
  return row && !isExpired(context, row, claim) ? priorClaimOf(context, row) : { is: 'free' }
}

/** The time for checks of expiry, from the time of a plan, which may be ahead of the real time. */
export const expiresBy = ({ clockLead }: StoreContext, time: number): number => (clockLead ? time - clockLead() : time)

const isExpired = (context: StoreContext, { time }: TableRow, { expired }: Claim): boolean =>
  expired !== null && Number(time) <= expiresBy(context, expired)

function priorClaimOf(context: StoreContext, { collection, id, parent, fingerprint, answer }: TableRow): PriorClaim {
  const name = declaredName(context, collection as string)
  return {
    is: 'claimed',
    collection: name,
    id: id as string,
    parent: parent as string | null,
    fingerprint: fingerprint as string,
    answer: answer === null ? null : answerNow(context, name, JSON.parse(answer as string)),
  }
}

/** An answer as it is stored: a row with its shape, or an output of an operation, or the answer of a batch or an import. */
interface StoredAnswer {
  readonly doc: string
  readonly revision: number
  readonly shape?: number
  /** The newest version when the output of an operation was stored; the version whose form the answer of a batch has. */
  readonly version?: string
}

/** A stored answer, converted to the current shape of its collection; null if only a newer node can read it. */
function answerNow(context: StoreContext, name: string, stored: StoredAnswer): PriorClaim['answer'] {
  const { doc, revision, shape, version } = stored
  const own = context.collections.get(name)
  if (own === undefined || shape === undefined) return { doc, revision, ...(version !== undefined && { version }) }
  if (shape > own.shape && !own.alike.has(shape)) return null
  return { doc: viewRecord(own, { doc, hidden: null, revision, shape }).doc, revision }
}

/** The text that is stored of an answer with a row. */
export const keptRowText = ({ shape }: Pick<PreparedCollection, 'shape'>, doc: string, revision: number): string =>
  JSON.stringify({ doc, revision, shape } satisfies StoredAnswer)

/** The text that is stored of an output. A service that declares no versions has the version `v1`. */
const keptOutputText = ({ collection }: PreparedCollection, doc: string): string =>
  JSON.stringify({ doc, revision: 0, version: collection.versions?.at(-1) ?? 'v1' } satisfies StoredAnswer)

/** Takes a key for a row; if the key is taken, returns the earlier claim. R101, R102, R106. */
export function* takeClaim(
  context: StoreContext,
  { collection, key }: Pick<Read, 'collection' | 'key'>,
  claim: Claim,
): Steps<PriorClaim | null> {
  const { hash, fingerprint, time } = claim
  const expired = claim.expired === null ? null : expiresBy(context, claim.expired)
  const { id, parent } = key
  const values = { hash, collection: storedName(context, collection), parent, id, fingerprint, time, expired }
  const run = expired === null ? takeKey : takeExpiredKey
  const { is, rows } = yield* performTablePlan(context, tablePlan(run, values))
  if (is === 'rows') {
    if (expired !== null) yield* performTablePlan(context, { do: 'table', run: sweepKeys, values })
    return null
  }
  const before = rows[0] as TableRow
  if (isExpired(context, before, claim)) throw rowConflict(table.name) // since it was found taken
  return priorClaimOf(context, before)
}

/** Stores the first answer with its key, to replay it: a row of a collection or, with revision 0, the output of an operation. R98. */
export function* keepAnswer(
  context: StoreContext,
  claim: Claim,
  name: string,
  { doc, revision }: Pick<StoredAnswer, 'doc' | 'revision'>,
): Steps<void> {
  const own = preparedCollection(context, name)
  yield* keepText(context, claim, revision === 0 ? keptOutputText(own, doc) : keptRowText(own, doc, revision))
}

/** Stores the answer of a batch or an import; the latter has no version. */
export const keepOther = (context: StoreContext, claim: Claim, doc: string, version?: string): Steps<void> =>
  keepText(
    context,
    claim,
    JSON.stringify({ doc, revision: 0, ...(version !== undefined && { version }) } satisfies StoredAnswer),
  )

function* keepText(context: StoreContext, { hash }: Claim, answer: string): Steps<void> {
  yield* performTablePlan(context, tablePlan(setAnswer, { hash, answer }))
}

/**
 * Empties the answers and the payload digests of keys: of requests that wrote a row, and of batches, imports and operations
 * whose answer names it. The keys stay used. Returns the number of keys.
 */
export function* emptyKeys(context: StoreContext, collection: string, id: string): Steps<number> {
  const own = storedName(context, collection)
  const rows = yield* scannedRows(context, {
    ...{ table: table.name, by: 'hash', from: '', columns: 'hash, collection, id, answer' },
    where: (bind) =>
      `fingerprint <> '' AND ((collection = ${bind(own)} AND id = ${bind(id)}) OR (answer IS NOT NULL AND ${mentions('answer', id, bind)}))`,
  })
  const expired = rows.filter((row) => {
    if (row.collection === own && row.id === id) return true
    const { doc, revision } = JSON.parse(String(row.answer)) as StoredAnswer
    return revision === 0 && hasText(JSON.parse(doc), id)
  })
  for (const { hash } of expired)
    yield* performTablePlan(context, tablePlan(emptyKey, { hash: String(hash), none: null, empty: '' }))
  return expired.length
}

/** Whether a text is among the values, at any depth. */
export const hasText = (value: unknown, text: string): boolean =>
  typeof value === 'object' && value !== null ? Object.values(value).some((one) => hasText(one, text)) : value === text
