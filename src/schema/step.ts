/** Step: one part of a schema change, as data. The store. */

/** When a step may run: an `expand` step is safe while old nodes run; a `contract` step waits until none of them does. */
export type StepPhase = 'expand' | 'contract'

/** One step of a schema change. */
export interface SchemaStep {
  readonly about: string
  readonly phase: StepPhase
  readonly sql: readonly string[]
  /** For operators: its locks, its duration, and its risks. */
  readonly note: string
  /** Its statements run one by one, outside a transaction. */
  readonly apart?: boolean
  /** Whether it makes the database refuse rows of the old shape; running it twice is safe. */
  readonly guards?: boolean
  /** A collection whose rows are rewritten in the current shape, with all index columns. */
  readonly fill?: Refill
  /** The collection whose transitions by the clock begin with it. */
  readonly timers?: string
  /** It may run only while no node runs, of any declaration. */
  readonly still?: boolean
  /** A table that must be empty, as the step would lose its rows. */
  readonly empty?: string
}

export interface Refill {
  readonly collection: string
  /** Set if the table has had this structure before: revisions go up, so that old ETags never match again. R121 */
  readonly again: boolean
  /** Whether old nodes may still run: each row keeps the document that they read. */
  readonly ahead?: boolean
  /** Whether old nodes wrote these rows during the upgrade, so that values that move out of them are the newer ones. */
  readonly latest?: boolean
  /** Whether only reservations of unique values and links of references are written. */
  readonly reserves?: boolean
}

/** The reason of a step that creates what the database has already; null for other errors. */
export function takenNameText(message: string): string | null {
  const name = /^(?:table|index|view|relation) "?(.*?)"? already exists$/.exec(message)?.[1]
  return name === undefined
    ? null
    : `it has a table, view or index ${name} that is not of this service. Rename that one, or name another database with --database.`
}
