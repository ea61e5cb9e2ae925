/** Resource maker: gives the functions of derived fields the types of the other fields. Part 2, fields. */
import type { Fields, Value } from '../fields/field.ts'
import type { ResourceDeclaration } from './declaration.ts'

type FunctionNames<F> = {
  [K in keyof F]: F[K] extends { readonly options: { readonly derived: true } } ? K : never
}[keyof F]

/** The fields that a function of a derived field receives: all that are not functions themselves. */
type SourceDocument<F> = { readonly [K in Exclude<keyof F, FunctionNames<F>>]: Value<F[K], object> }

type DerivedFunctions<F> = {
  readonly [K in FunctionNames<F>]: (document: SourceDocument<F>) => Value<F[K], object>
}

type OtherParts = Omit<ResourceDeclaration, 'fields' | 'derived'>

/**
 * A resource whose derived fields are functions of its other fields, typed by them. It returns its argument.
 * @example
 * 'order-lines': resource({
 *   fields: {
 *     quantity: f.integer({ min: 1 }),
 *     unitPrice: f.decimal({ scale: 2 }),
 *     amount: f.decimal({ scale: 2, derived: true }),
 *   },
 *   derived: { amount: ({ quantity, unitPrice }) => times(unitPrice, quantity) },
 *   access: 'public',
 * })
 */
export const resource = <const F extends Fields, const R extends OtherParts>(
  declaration: R & OtherParts & { readonly fields: F; readonly derived?: DerivedFunctions<F> },
): R & { readonly fields: F } => declaration
