/** Step: one part of a change of the schema, as data. The cellar. */

/**
 * When a step may be carried out: what `expand`s is safe while nodes of the former declaration run, what
 * `contract`s waits until all of them are gone.
 */
export type Phase = 'expand' | 'contract'

/** One step of a change of the schema. */
export interface SchemaStep {
  readonly about: string
  readonly phase: Phase
  readonly sql: readonly string[]
  /** What it locks, and what can go wrong. */
  readonly note: string
  /** Its statements run each for itself, outside of a transaction. */
  readonly apart?: boolean
  /** It refuses rows of before from now on; it may be carried out again. */
  readonly guards?: boolean
  /** A collection whose rows are written again: in today's shape, with every index column. */
  readonly fill?: Refill
  /** It can only be carried out while no node runs, of whatever declaration. */
  readonly still?: boolean
  /** A table that has to be empty, or the step would lose its rows. */
  readonly empty?: string
}

export interface Refill {
  readonly collection: string
  /** Whether the structure was written before, so that tags of that time must not name the new texts. R121 */
  readonly again: boolean
  /** Whether nodes of the declaration before still run: what they need of a row stays beside it. */
  readonly ahead?: boolean
  /** Whether rows of before were written since such nodes ran on, so that what they give is newer than what is there. */
  readonly latest?: boolean
  /** Whether nothing is written but the rows that reserve values, and those that tell of references. */
  readonly reserves?: boolean
}
