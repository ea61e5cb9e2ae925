/** Column: a value of the document in a typed column of its own, for indexes. Part 2, resources. */
import { defaultPrecision, lengthsOf } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { isObject } from '../fields/value-check.ts'
import { scaledInteger, sortableText } from '../formats/numbers.ts'
import type { Members } from './shape.ts'

/** A value in a column. */
export type Cell = string | number | bigint | null

/** A typed column with a copy of one value of the document, for an index. */
export interface Column {
  readonly name: string
  /** The field, with dots for a nested one. */
  readonly field: string
  readonly type: 'text' | 'integer'
  /** Identifies how values are computed. If it changes, a new column replaces this one. */
  readonly form: string
  /** Converts a value of the field to the value in the column. */
  readonly cell: (value: unknown) => Cell
  /** Whether every row that is written now has a value; older rows may have none. */
  readonly required: boolean
  /** The maximal length of a text that callers write; null for values that are always short. */
  readonly most: number | null
  /** Computes the value from the document, if no field has it: for a field of an older version. */
  readonly of?: (document: Members) => unknown
}

/** The text by which values of a field with `fold` are compared. R60. */
export const folded = (text: string): string => text.normalize('NFC').toLowerCase()

/** The column of a field; `optional` if an object around the field may be null. */
export function columnOf(name: string, field: Field, optional = false): Column {
  return {
    name: `by_${name}`,
    field: name,
    type: isInteger(field) ? 'integer' : 'text',
    form: formOf(field),
    cell: cellMaker(field),
    required: !optional && field.options.optional !== true,
    most: longestText(field),
  }
}

const writtenKinds: ReadonlySet<Field['kind']> = new Set(['text', 'email', 'url'])

/** Lower case can have more characters than upper case. */
function longestText(field: Field): number | null {
  if (!writtenKinds.has(field.kind)) return null
  return lengthsOf(field).max * (field.options.fold ? 3 : 1)
}

/** A column of a former declaration, restored from its stored form. */
export function rememberedColumn(
  name: string,
  { type, form, field }: { type: string; form: string; field: string },
): Column {
  const [kind, how = ''] = form.split(' ')
  const [precision, scale] = how.split('.').map(Number)
  const options = kind === 'decimal' ? { precision, scale } : { fold: how === 'folded' }
  const cell = cellMaker({ kind, options } as Field)
  return { name, field, type: /int/i.test(type) ? 'integer' : 'text', form, cell, required: false, most: null }
}

function isInteger({ kind, options }: Field): boolean {
  if (kind === 'decimal') return (options.precision ?? defaultPrecision) <= 18
  return kind === 'integer' || kind === 'bigint' || kind === 'boolean'
}

function formOf({ kind, options }: Field): string {
  if (kind === 'decimal') return `${kind} ${options.precision ?? defaultPrecision}.${options.scale ?? 0}`
  return options.fold ? `${kind} folded` : kind
}

/** Converts values so that they compare correctly: decimals to whole numbers of their smallest step, booleans to 0 and 1. */
function cellMaker({ kind, options }: Field): Column['cell'] {
  const { precision = defaultPrecision, scale = 0 } = options
  const number = (value: unknown) => clampToPrecision(scaledInteger(value as string, scale), precision)
  if (kind === 'decimal' && precision <= 18) return nullOr(number)
  if (kind === 'decimal') return nullOr((value) => sortableText(number(value), precision))
  if (kind === 'bigint') return nullOr((value) => BigInt(value as string))
  if (kind === 'boolean') return nullOr((value) => (value ? 1 : 0))
  if (options.fold) return nullOr((value) => folded(value as string))
  return nullOr((value) => value as Cell)
}

/** Limits a number to its digits, as a row of an earlier declaration may have more; such rows are sorted last. */
function clampToPrecision(value: bigint, precision: number): bigint {
  const most = 10n ** BigInt(precision) - 1n
  return value > most ? most : value < -most ? -most : value
}

const nullOr =
  (cell: (value: unknown) => Cell): Column['cell'] =>
  (value) =>
    (value ?? null) === null ? null : cell(value)

/** The value of a field, a nested one by its path. */
function valueAt(document: Record<string, unknown>, field: string): unknown {
  let value: unknown = document
  for (const name of field.split('.')) value = isObject(value) ? value[name] : undefined
  return value ?? null
}

/** The value of a column for a document. */
export const cellIn = (column: Column, document: Record<string, unknown>): Cell =>
  column.cell(column.of ? column.of(document) : valueAt(document, column.field))

export const cellsIn = (
  { columns }: { readonly columns: readonly Column[] },
  document: Record<string, unknown>,
): readonly Cell[] => columns.map((column) => cellIn(column, document))
