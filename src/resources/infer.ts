/** What a declaration says about types: rows, inputs and patches are inferred from it. Part 2, fields. */

/** Refuses, at the place itself, what the declaration names but does not have. */
export type Checked<D> = D extends object ? unknown : never
