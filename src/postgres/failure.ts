/** Failure: classifies errors of PostgreSQL and the network, and maps them to client errors. The store. */

import type { StoreContext } from '../catalog/context.ts'
import { outdatedNodeProblem } from '../catalog/old-nodes.ts'
import { conflictProblem, isRowConflict, unavailableProblem } from '../catalog/steps.ts'
import { Problem } from '../errors/problem.ts'
import type { Duplicate } from '../flow/outcome.ts'
import { truncatedName } from '../sql/dialect.ts'
import { uniqueIndexName } from '../sql/layout.ts'

/** An error of the driver: its code is an SQLSTATE of PostgreSQL, or a code of the network. */
interface DriverFailure {
  readonly code?: string
  readonly constraint?: string
  readonly table?: string
  readonly message?: string
}

const failureOf = (error: unknown): DriverFailure => (error instanceof Problem ? {} : ((error ?? {}) as DriverFailure))
const codeOf = (error: unknown): string => failureOf(error).code ?? ''
/** The SQLSTATE; empty for errors of the network or the driver. */
const sqlStateOf = (error: unknown): string => (/^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/.test(codeOf(error)) ? codeOf(error) : '')

/** The prepared statement is missing, as preparing it failed earlier in the pipeline, exists already, or is outdated. */
const isStatementUnprepared = (error: unknown): boolean =>
  ['26000', '42P05'].includes(sqlStateOf(error)) || isPlanOutdated(error)

/** Prepared before the table was changed. The connection would keep failing, so it is closed. */
export const isPlanOutdated = (error: unknown): boolean =>
  sqlStateOf(error) === '0A000' && /^cached plan /.test(failureOf(error).message ?? '')

/** Gives EPROTO to an error without a code: the driver met something unexpected. */
export const withCode = <T extends Error & { code?: string | undefined }>(error: T): T & { code: string } =>
  Object.assign(error, { code: error.code ?? 'EPROTO' })

/** Retryable: conflict, deadlock, lock timeout, a column dropped by a migration that just finished, or a failed preparation. */
export const isRetryable = (error: unknown): boolean =>
  isRowConflict(error) ||
  ['40001', '40P01', '55P03', '42703'].includes(sqlStateOf(error)) ||
  isStatementUnprepared(error)

const placeOfLock = (error: unknown): string | undefined => (error as { readonly where?: string }).where

/** The lock of a number was not released in time. */
export const isLockedNumber = (error: unknown): boolean =>
  sqlStateOf(error) === '55P03' && placeOfLock(error) === undefined

/** The lock of a row was not released in time; the server says which row. */
export const isLockedRow = (error: unknown): boolean =>
  sqlStateOf(error) === '55P03' && placeOfLock(error) !== undefined

const isTimeout = (error: unknown): boolean => ['57014', '55P03', '25P03', '25P04'].includes(sqlStateOf(error))

/** The connection is lost, and its last statement may or may not have been executed. */
export function isConnectionLost(error: unknown): boolean {
  const [code, state] = [codeOf(error), sqlStateOf(error)]
  if (state !== '') return state.startsWith('08') || ['57P01', '57P02', '57P03', '57P05', '25P03'].includes(state)
  return /^(?:E[A-Z_]+|CERT_|ERR_|UNABLE_|DEPTH_|SELF_)/.test(code)
}

/** A query of the server's state that this role may not run, or that failed inside the server. */
export const isDenied = (error: unknown): boolean => /^(?:42|XX)/.test(sqlStateOf(error))

/** An error of the final statement that leaves unknown whether it was executed. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  isConnectionLost(error) || sqlStateOf(error) === '40003' || /^(?:58|XX)/.test(sqlStateOf(error))

/** As `isOutcomeUnknown`, for Citus: the coordinator may have stopped waiting for a worker that still executes the statement. */
export const isWorkerOutcomeUnknown = (error: unknown): boolean =>
  isOutcomeUnknown(error) || sqlStateOf(error) === '57014'

/** The connection, the server or its disk failed: not the caller's fault, and it may pass. */
const isOutage = (error: unknown): boolean =>
  isConnectionLost(error) ||
  /^(?:08|53|57|58|XX)/.test(sqlStateOf(error)) ||
  ['25006', '28000', '28P01', '3D000'].includes(sqlStateOf(error))

const tooLate = 'The store took too long; nothing was changed. Try again later, or ask for less.'

/** Maps an error of the database to the client error. */
export function postgresFailure(error: unknown): unknown {
  if (codeOf(error) === '23514') return outdatedNodeProblem(error) // the floor against old nodes is the only CHECK
  if (isTimeout(error) || isStatementUnprepared(error)) return new Problem('timeout', tooLate, { cause: error })
  if (isRetryable(error)) return conflictProblem(error)
  return isOutage(error) ? unavailableProblem(error) : error
}

/** Another node is still carrying out a request with this key. R102. */
export const keyInProgress = (cause: unknown): Problem =>
  new Problem('idempotency-in-progress', 'The first request with this key is still running.', {
    cause,
    headers: { 'Retry-After': '1' },
  })

/**
 * The fields whose values are in use already, by the name of the violated constraint. The error of a worker of Citus has that
 * name only in its message, followed by the number of the shard.
 */
export function postgresDuplicate(error: unknown, { dialect, collections }: StoreContext): Duplicate | null {
  if (sqlStateOf(error) !== '23505') return null
  const { table, constraint, message = '' } = failureOf(error)
  const onShard = dialect.distribute !== null || constraint === undefined
  const name = onShard ? /constraint "(.+)_\d+"/.exec(message)?.[1] : constraint
  const all = [...collections.values()].map(({ collection }) => collection)
  const some = onShard ? all : all.filter((one) => truncatedName(one.table) === table)
  if (some.length === 0 || (onShard && (name === undefined || name.startsWith('bylaw_')))) return null
  for (const one of some) {
    const unique = one.uniques.find(({ columns }) => isIndexOfName(truncatedName(uniqueIndexName(one, columns)), name))
    if (unique) return { is: 'duplicate', fields: unique.fields, collection: one.name }
  }
  return { is: 'duplicate', fields: ['id'] }
}

/** Citus cuts a long name before the number of the shard, and adds a digest of eight digits. */
function isIndexOfName(index: string, name = ''): boolean {
  const [, start] = /^(.{40,})_[0-9a-f]{8}$/.exec(name) ?? []
  return index === name || (start !== undefined && index.startsWith(start))
}
