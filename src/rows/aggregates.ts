/** Aggregates: values of a row that follow from the rows which belong or refer to it. Part 2, fields. */
import type { AggregateKind } from '../fields/aggregate.ts'
import { compare, minus, plus, round } from '../formats/decimal.ts'
import type { Members } from './shape.ts'

/** A field of a collection, and the rows that its value follows from. */
export interface StoredAggregate {
  readonly field: string
  readonly of: AggregateKind
  /** The collection of these rows, their column with the id of the row, and the field with that id. */
  readonly collection: string
  readonly column: string
  readonly by: string
  /** Their field whose values count; empty for a number of rows. */
  readonly source: string
  /** The kind of the field, and the digits after the point of a decimal. */
  readonly kind: string
  readonly scale: number
}

/** Returned if the new value can only be computed from all rows. */
export const unknownValue: unique symbol = Symbol('unknown')

const isNumber = (kind: string): boolean => kind === 'integer' || kind === 'bigint' || kind === 'decimal'

/** A number as the field stores it. */
const stored = ({ kind, scale }: StoredAggregate, value: string): unknown =>
  kind === 'integer' ? Number(value) : kind === 'decimal' ? round(value, scale) : value

const valueIn = ({ of, source }: StoredAggregate, row: Members | null): unknown =>
  row === null ? null : of === 'count' ? 1 : (row[source] ?? null)

/** Whether a value comes before another one in the order that the field looks for. */
function isBetter({ of, kind }: StoredAggregate, value: unknown, other: unknown): boolean {
  const [less, greater] = of === 'min' ? [value, other] : [other, value]
  if (isNumber(kind)) return compare(less as string, greater as string) < 0
  return String(less) < String(greater)
}

/** The value that follows from all rows. */
export function aggregateOf(one: StoredAggregate, rows: readonly Members[]): unknown {
  const values = rows.map((row) => valueIn(one, row)).filter((value) => value !== null)
  if (one.of === 'sum' || one.of === 'count')
    return stored(
      one,
      values.reduce<string>((total, value) => plus(total, value as string), '0'),
    )
  return values.reduce<unknown>((best, value) => (best === null || isBetter(one, value, best) ? value : best), null)
}

/**
 * The value after one row changed from `before` to `after` (null if it belonged to another row, or did not exist). The value
 * of a row that was not filled yet is null; that, and the loss of the least or greatest value, needs all rows.
 */
export function aggregateAfter(
  one: StoredAggregate,
  current: unknown,
  before: Members | null,
  after: Members | null,
): unknown {
  const [was, is] = [valueIn(one, before), valueIn(one, after)]
  if (one.of === 'sum' || one.of === 'count') {
    if (current === null || current === undefined) return unknownValue
    return stored(one, minus(plus(String(current), String(is ?? 0)), String(was ?? 0)))
  }
  if (current === null || current === undefined) return unknownValue
  if (is !== null && !isBetter(one, current, is)) return is
  return was !== null && !isBetter(one, current, was) ? unknownValue : current
}
