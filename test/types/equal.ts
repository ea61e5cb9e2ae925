/** Compares types: a wrong claim does not compile. */

/** Whether two types are the same, modifiers included. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only for `true`. */
export type Proof<T extends true> = T
