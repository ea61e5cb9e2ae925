/** Aggregate: a field whose value is a sum, a count, a minimum or a maximum over other rows. Part 2, fields. */

export type AggregateKind = 'sum' | 'count' | 'min' | 'max'

/** How a derived field is computed from the rows of another resource. `sum`, `count`, `min` and `max` make it. */
export interface Aggregate<
  Of extends AggregateKind = AggregateKind,
  Resource extends string = string,
  Name extends string = string,
> {
  readonly of: Of
  /** The resource whose rows are children of the item, or refer to it. */
  readonly resource: Resource
  /** The field there; empty for `count`. */
  readonly field: Name
  /** The field there that refers to the item; needed only if there are several. */
  readonly by?: string
}

interface AggregateOptions {
  /** The field that refers to the item, if there are several: `by: 'orderId'`. */
  readonly by?: string
}

const aggregate =
  <Of extends AggregateKind>(of: Of) =>
  <const Resource extends string, const Name extends string>(
    resource: Resource,
    field: Name,
    options: AggregateOptions = {},
  ): Aggregate<Of, Resource, Name> =>
    Object.freeze({ of, resource, field, ...options })

/**
 * The sum of a field of the children, or of the items that refer here; zero if there are none.
 * @example f.decimal({ scale: 2, derived: sum('order-lines', 'amount') })
 */
export const sum = aggregate('sum')
/**
 * The least value of a field of the children, or of the items that refer here; null if there are none.
 * @example f.date({ optional: true, derived: min('payments', 'dueOn') })
 */
export const min = aggregate('min')
/**
 * The greatest value of a field of the children, or of the items that refer here; null if there are none.
 * @example f.timestamp({ optional: true, derived: max('messages', 'sentAt') })
 */
export const max = aggregate('max')
/**
 * The number of children, or of items that refer here.
 * @example f.integer({ derived: count('order-lines') })
 */
export const count = <const Resource extends string>(
  resource: Resource,
  options: AggregateOptions = {},
): Aggregate<'count', Resource, ''> => Object.freeze({ of: 'count', resource, field: '', ...options })
