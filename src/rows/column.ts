/** Column: a value of a document in a plain typed column beside it. Part 2, resources. */
import { defaultPrecision, lengthsOf } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { isObject } from '../fields/value-check.ts'
import { scaledInteger, sortableText } from '../formats/numbers.ts'
import type { Members } from './shape.ts'

/** What a column holds. */
export type Cell = string | number | bigint | null

/** A plain typed column that repeats one value of the document, so that an index can be built over it. */
export interface Column {
  readonly name: string
  /** The field, with dots for a nested one. */
  readonly field: string
  readonly type: 'text' | 'integer'
  /** Names how its values are made: where that changes, the column is made anew. */
  readonly form: string
  /** Turns a value of the field into what the column holds. */
  readonly cell: (value: unknown) => Cell
  /** Whether every row that is written today has a value; one that was written before may have none. */
  readonly required: boolean
  /** The most characters of a text that callers write; null where values are short by nature. */
  readonly most: number | null
  /** What it is made of where no field has it: what an older version makes of the document. */
  readonly of?: (document: Members) => unknown
}

/** The text that a folded field is compared by. R60. */
export const folded = (text: string): string => text.normalize('NFC').toLowerCase()

/** The column of a field, which may be optional for what it lies in. */
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

/** Small letters can be more than the large ones were. */
function longestText(field: Field): number | null {
  if (!writtenKinds.has(field.kind)) return null
  return lengthsOf(field).max * (field.options.fold ? 3 : 1)
}

/** A column of a former declaration, which is remembered by what its values are made of. */
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

/** How a field's values are compared: decimals as whole numbers of their smallest step, booleans as 0 and 1. */
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

/** A number of so many digits; rows that were written when there were more are sorted behind all others. */
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

/** What a column holds of a document. */
export const cellIn = (column: Column, document: Record<string, unknown>): Cell =>
  column.cell(column.of ? column.of(document) : valueAt(document, column.field))

export const cellsIn = (
  { columns }: { readonly columns: readonly Column[] },
  document: Record<string, unknown>,
): readonly Cell[] => columns.map((column) => cellIn(column, document))
