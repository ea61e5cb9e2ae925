/** Failures of PostgreSQL: which of them pass, which are a caller's, and what a caller is told. The cellar. */
import { Problem } from '../errors/problem.ts'
import type { Duplicate } from '../flow/outcome.ts'
import { type Cellar, isMoved } from '../store/cellar.ts'
import { shortened } from '../store/dialect.ts'
import { uniqueName } from '../store/schema.ts'

/** What the driver tells of a failure: the code is PostgreSQL's, or that of the network. */
interface Failure {
  readonly code?: string
  readonly constraint?: string
  readonly table?: string
  readonly message?: string
}

const codeOf = (error: unknown): string => (error as Failure | null)?.code ?? ''

/** Another transaction was in the way, and nothing was done: the same plan can be carried out again. */
export const isPassing = (error: unknown): boolean =>
  isMoved(error) || codeOf(error) === '40001' || codeOf(error) === '40P01'

/** Ended by its time-out, or by waiting for a lock. */
const isLate = (error: unknown): boolean => ['57014', '55P03', '25P03', '25P04'].includes(codeOf(error))

const sqlState = /^[0-9A-Z]{5}$/

/** The connection, the server or its disk: nothing that the caller did, and it may pass. */
function isOutage(error: unknown): boolean {
  const code = codeOf(error)
  if (sqlState.test(code) && !code.startsWith('E'))
    return ['08', '53', '57', '58', 'XX'].includes(code.slice(0, 2)) || code === '25006'
  return (
    !(error instanceof Problem) &&
    (isOfNetwork(code) ||
      /^Connection terminated|timeout|not queryable|Query read/.test((error as Failure).message ?? ''))
  )
}

const isOfNetwork = (code: string): boolean =>
  /^(?:E[A-Z_]+|CERT_|ERR_TLS|ERR_SSL|UNABLE_|DEPTH_ZERO|SELF_SIGNED)/.test(code)

/** A failure of the database as what a caller is told. */
export function told(error: unknown): unknown {
  if (isPassing(error))
    return new Problem('overloaded', 'Others keep changing the same rows; nothing was changed. Try again later.', {
      cause: error,
    })
  if (isLate(error))
    return new Problem('timeout', 'The store took too long; nothing was changed. Try again later, or ask for less.', {
      cause: error,
    })
  if (!isOutage(error)) return error
  return new Problem(
    'dependency-unavailable',
    'The store cannot do this at the moment; nothing was changed. Try again later.',
    { cause: error },
  )
}

/** The values of which one is in use already, from the name of the constraint. */
export function duplicate(error: unknown, cellar: Cellar): Duplicate | null {
  if (codeOf(error) !== '23505') return null
  const { table, constraint } = error as Failure
  for (const { collection } of cellar.shelves.values()) {
    if (shortened(collection.table) !== table) continue
    const unique = collection.uniques.find(({ columns }) => shortened(uniqueName(collection, columns)) === constraint)
    return { is: 'duplicate', fields: unique?.fields ?? ['id'] }
  }
  return null
}
