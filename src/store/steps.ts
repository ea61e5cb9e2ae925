/** Steps: an operation of the store yields statements and receives their rows, whoever runs them. The cellar. */
import type { Statement } from '../sql/compile.ts'

export type ResultRow = Readonly<Record<string, unknown>>

/** A story that asks for statements and is given their rows. */
export type Steps<T> = Generator<Statement, T, readonly ResultRow[]>

/** Runs a statement and gives its rows. */
export type RunStatement = (statement: Statement) => readonly ResultRow[]

/** Carries steps out, each as it is asked for. */
export function runSteps<T>(steps: Steps<T>, run: RunStatement): T {
  let step = steps.next()
  while (!step.done) step = steps.next(run(step.value))
  return step.value
}

/** Carries steps out where each statement has to be waited for. */
export async function runStepsAsync<T>(
  steps: Steps<T>,
  run: (statement: Statement) => Promise<readonly ResultRow[]>,
): Promise<T> {
  let step = steps.next()
  while (!step.done) step = steps.next(await run(step.value))
  return step.value
}

const rowConflicts = new WeakSet<object>()

/** Told where a row is no longer as it was read: whoever runs the steps begins again. */
export function rowConflict(collection: string): Error {
  const error = new Error(`A row of ${collection} moved between being read and written.`)
  rowConflicts.add(error)
  return error
}

export const isRowConflict = (error: unknown): boolean => rowConflicts.has(error as object)
