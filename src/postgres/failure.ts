/** Failures of PostgreSQL: which of them pass, which are a caller's, and what a caller is told. The cellar. */
import { Problem } from '../errors/problem.ts'
import type { Duplicate } from '../flow/outcome.ts'
import { truncatedName } from '../sql/dialect.ts'
import { uniqueIndexName } from '../sql/layout.ts'
import type { StoreContext } from '../store/context.ts'
import { outdatedNodeProblem } from '../store/old-nodes.ts'
import { isRowConflict } from '../store/steps.ts'

/** What the driver tells of a failure: the code is PostgreSQL's, or that of the network. */
interface DriverFailure {
  readonly code?: string
  readonly constraint?: string
  readonly table?: string
  readonly message?: string
}

const failureOf = (error: unknown): DriverFailure => (error instanceof Problem ? {} : ((error ?? {}) as DriverFailure))
const codeOf = (error: unknown): string => failureOf(error).code ?? ''
/** A code of PostgreSQL; the empty text for what the network or the driver tell. */
const sqlStateOf = (error: unknown): string => (/^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/.test(codeOf(error)) ? codeOf(error) : '')

/** What the connection has prepared is not, or no more, what was meant: before it was asked for, another statement failed to prepare it. */
const isStatementUnprepared = (error: unknown): boolean =>
  ['26000', '42P05'].includes(sqlStateOf(error)) || isPlanOutdated(error)

/** Prepared before the table was changed; the connection would say so for ever. */
export const isPlanOutdated = (error: unknown): boolean =>
  sqlStateOf(error) === '0A000' && /^cached plan /.test(failureOf(error).message ?? '')

/** A failure that neither the server nor the network gave a code: the driver met something that it did not expect. */
export const withCode = <T extends Error & { code?: string | undefined }>(error: T): T & { code: string } =>
  Object.assign(error, { code: error.code ?? 'EPROTO' })

/** Another transaction was in the way, a column of before went at the end of a change, or nothing was begun: the same plan can be carried out again. */
export const isRetryable = (error: unknown): boolean =>
  isRowConflict(error) ||
  ['40001', '40P01', '55P03', '42703'].includes(sqlStateOf(error)) ||
  isStatementUnprepared(error)

/** Ended by its time-out. */
const isTimeout = (error: unknown): boolean => ['57014', '55P03', '25P03', '25P04'].includes(sqlStateOf(error))

/** The connection is gone, and what was asked last may or may not have been done. */
export function isConnectionLost(error: unknown): boolean {
  const [code, state] = [codeOf(error), sqlStateOf(error)]
  if (state !== '') return state.startsWith('08') || ['57P01', '57P02', '57P03', '57P05', '25P03'].includes(state)
  return /^(?:E[A-Z_]+|CERT_|ERR_|UNABLE_|DEPTH_|SELF_)/.test(code)
}

/** A question about the server itself that this role may not ask, or whose answer could not be read. */
export const isDenied = (error: unknown): boolean => /^(?:42|XX)/.test(sqlStateOf(error))

/** A last step that failed so that it is not known whether it was done. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  isConnectionLost(error) || sqlStateOf(error) === '40003' || /^(?:58|XX)/.test(sqlStateOf(error))

/** The connection, the server or its disk: nothing that the caller did, and it may pass. */
const isOutage = (error: unknown): boolean =>
  isConnectionLost(error) ||
  /^(?:08|53|57|58|XX)/.test(sqlStateOf(error)) ||
  ['25006', '28000', '28P01', '3D000'].includes(sqlStateOf(error))

const tooBusy = 'Others keep changing the same rows; nothing was changed. Try again later.'
const tooLate = 'The store took too long; nothing was changed. Try again later, or ask for less.'
const unavailable = 'The store cannot do this at the moment; nothing was changed. Try again later.'

/** A failure of the database as what a caller is told. */
export function postgresFailure(error: unknown): unknown {
  if (codeOf(error) === '23514') return outdatedNodeProblem(error) // tables have no other check than their floor
  if (isTimeout(error) || isStatementUnprepared(error)) return new Problem('timeout', tooLate, { cause: error })
  if (isRetryable(error)) return new Problem('overloaded', tooBusy, { cause: error })
  return isOutage(error) ? new Problem('dependency-unavailable', unavailable, { cause: error }) : error
}

/** Another node is still making something with the key. R102. */
export const keyInProgress = (cause: unknown): Problem =>
  new Problem('idempotency-in-progress', 'The first request with this key is still running.', {
    cause,
    headers: { 'Retry-After': '1' },
  })

export const unknownOutcome = (cause: unknown): Problem =>
  new Problem(
    'dependency-unavailable',
    'The store failed at the last step: it is not known whether this was done. Repeat it with its idempotency key, or look whether it is there.',
    { cause },
  )

/** The values of which one is in use already, from the name of the constraint. */
export function postgresDuplicate(error: unknown, cellar: StoreContext): Duplicate | null {
  if (sqlStateOf(error) !== '23505') return null
  if (cellar.dialect.distribute) return duplicateOnShard(error, cellar)
  const { table, constraint } = failureOf(error)
  for (const { collection } of cellar.collections.values()) {
    if (truncatedName(collection.table) !== table) continue
    const unique = collection.uniques.find(
      ({ columns }) => truncatedName(uniqueIndexName(collection, columns)) === constraint,
    )
    return unique
      ? { is: 'duplicate', fields: unique.fields, collection: collection.name }
      : { is: 'duplicate', fields: ['id'] }
  }
  return null
}

/** Another machine tells the name alone, with the number of its part of the table behind it. */
function duplicateOnShard(error: unknown, { collections }: StoreContext): Duplicate | null {
  const name = /constraint "(.+)_\d+"/.exec(failureOf(error).message ?? '')?.[1]
  if (name === undefined || name.startsWith('bylaw_')) return null
  for (const { collection } of collections.values()) {
    const unique = collection.uniques.find(
      ({ columns }) => truncatedName(uniqueIndexName(collection, columns)) === name,
    )
    if (unique) return { is: 'duplicate', fields: unique.fields, collection: collection.name }
  }
  return { is: 'duplicate', fields: ['id'] }
}
