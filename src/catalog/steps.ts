/** Steps: an operation of the store yields statements and receives their rows, on either database. The store. */
import { Detour } from '../errors/detour.ts'
import { Problem } from '../errors/problem.ts'
import type { Statement } from '../sql/statements.ts'

export type ResultRow = Readonly<Record<string, unknown>>

/** An operation that yields statements and receives their rows. */
export type Steps<T> = Generator<Statement, T, readonly ResultRow[]>

/** Runs a statement and returns its rows. */
export type RunStatement = (statement: Statement) => readonly ResultRow[]

/** Whether a statement only reads. It may lock what it reads. */
export const isReading = ({ text }: Pick<Statement, 'text'>): boolean => text.startsWith('SELECT')

/** Whether a statement may have written: one with RETURNING that returned no row wrote nothing, if it is a single one. */
export const hasWritten = (statement: Statement, rows: readonly ResultRow[]): boolean =>
  statement.text.startsWith('WITH') ||
  (!isReading(statement) && (rows.length > 0 || !statement.text.includes(' RETURNING ')))

/** Runs steps with statements that return at once. */
export function runSteps<T>(steps: Steps<T>, run: RunStatement): T {
  let step = steps.next()
  while (!step.done) {
    let rows: readonly ResultRow[]
    try {
      rows = run(step.value)
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(rows)
  }
  return step.value
}

/** Runs steps with asynchronous statements. */
export async function runStepsAsync<T>(
  steps: Steps<T>,
  run: (statement: Statement) => Promise<readonly ResultRow[]>,
): Promise<T> {
  let step = steps.next()
  while (!step.done) step = steps.next(await run(step.value))
  return step.value
}

/** As `runStepsAsync`, but sends `pipelined` statements without waiting for their answers: one round trip instead of one per row. */
export async function runPipelined<T>(
  steps: Steps<T>,
  run: (statement: Statement) => Promise<readonly ResultRow[]>,
): Promise<T> {
  const sent: Promise<unknown>[] = []
  const result = await runStepsAsync(steps, async (statement) => {
    const rows = run(statement)
    if (!statement.pipelined) return rows
    sent.push(rows)
    rows.catch(() => {}) // Promise.all reports it
    return []
  })
  await Promise.all(sent)
  return result
}

class RowConflict extends Detour {}

/** Thrown if a row has changed since it was read; the runner of the steps retries the operation. */
export const rowConflict = (collection: string): Error =>
  new RowConflict(`A row of ${collection} moved between being read and written.`)

export const isRowConflict = (error: unknown): boolean => error instanceof RowConflict

/** The refusal of an operation that met a conflict each time it was tried. */
export const conflictProblem = (cause: unknown): Problem =>
  new Problem('overloaded', 'Other requests keep changing the same rows; nothing was changed. Try again later.', {
    cause,
  })

export const unavailableProblem = (cause: unknown): Problem =>
  new Problem(
    'dependency-unavailable',
    'The store cannot do this at the moment; nothing was changed. Try again later.',
    { cause },
  )

/** The refusal of a write that failed while it was committed. */
export const unknownOutcome = (cause: unknown): Problem =>
  new Problem(
    'dependency-unavailable',
    'The store failed while committing: it is not known whether this was done. Repeat it only with its idempotency key, or with If-Match; otherwise check first whether it is there.',
    { cause },
  )

/** Runs steps without committing any write by itself, as others follow in the same transaction. */
export function* withoutAutocommit<T>(steps: Steps<T>): Steps<T> {
  let step = steps.next()
  while (!step.done) {
    const { text, values } = step.value
    let rows: readonly ResultRow[]
    try {
      rows = yield step.value.autocommit === 'write' ? { text, values } : step.value
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(rows)
  }
  return step.value
}
