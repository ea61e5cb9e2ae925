/** Column: a value of the document in a typed column of its own, for indexes. Part 2, resources. */
import { lengthsOf, mostSearched } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { type Cell, type CellForm, type FieldKinds, fieldKind } from '../fields/kind.ts'
import { isObject } from '../fields/value-check.ts'
import { foldingVersion, wordsOf } from '../formats/search-words.ts'
import { isSameJson, type Members } from './shape.ts'

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
  /** Set if only summaries read it, so that it has no index of its own. */
  readonly unindexed?: true
  /** Computes the value from the document, if no field has it: for a field of an older version. */
  readonly of?: (document: Members) => unknown
  /** Set if it has the words of a field, which only `search` reads. R235. */
  readonly isWords?: true
}

/** The text by which values of a field with `fold` are compared. R60. */
export const folded = (text: string): string => text.normalize('NFC').toLowerCase()

/** The column of a field; `optional` if an object around the field may be null. */
export function columnOf(name: string, field: Field, kinds: FieldKinds, optional = false): Column {
  const { length } = fieldKind(field.kind, kinds)
  const { fold } = field.options
  return {
    name: `by_${name}`,
    field: name,
    ...columnForm(field, kinds),
    required: !optional && field.options.optional !== true,
    most: length === undefined ? null : lengthsOf(field, length).max * (fold ? 3 : 1), // lower case can be longer
  }
}

/**
 * The column with the words of a field: each once, with a space before it. If the folding of words changes, a new column
 * replaces it, which is filled before it is used. R235.
 */
export const wordColumnOf = (name: string, longest: number): Column => ({
  name: `words_${name}`,
  field: `${wordsMark}${name}`,
  type: 'text',
  form: `${wordsForm}${foldingVersion}`,
  of: (document) => valueAt(document, name),
  cell: (value) => wordsCell(value, longest),
  required: false,
  most: null,
  isWords: true,
})

/** The mark of columns of words in the names of their fields, which declared names never contain. */
const [wordsMark, wordsForm] = ['words:', 'search ']

/** The columns of words of a collection. */
export const wordColumns = ({ columns }: { readonly columns: readonly Column[] }): readonly Column[] =>
  columns.filter(({ isWords }) => isWords)

const bytesOfCharacter = 10

/**
 * The words of a text or of a list of texts. Some ligatures are folded to many letters; the last words of texts that are full
 * of them are left out, as an index entry has a largest size.
 */
function wordsCell(value: unknown, longest: number): Cell {
  const words = new Set([value ?? []].flat().flatMap((text) => wordsOf(text as string)))
  const all = [...words].map((word) => ` ${word}`).join('')
  const most = longest * bytesOfCharacter
  if (Buffer.byteLength(all) <= most) return all === '' ? null : all
  const cut = Buffer.from(all).toString('utf8', 0, most)
  return cut.slice(0, cut.lastIndexOf(' '))
}

/** A column of a former declaration, restored from its stored form. */
export function rememberedColumn(
  name: string,
  { type, form, field }: { type: string; form: string; field: string },
  kinds: FieldKinds,
): Column {
  if (form.startsWith(wordsForm))
    return { ...wordColumnOf(field.slice(wordsMark.length), mostSearched), name, field, form }
  const [kind, how = ''] = form.split(' ')
  const [precision, scale] = how.split('.').map(Number)
  const options = how === 'folded' ? { fold: true } : how === '' ? {} : { precision, scale }
  const { cell } = columnForm({ kind, options } as Field, kinds)
  return { name, field, type: /int/i.test(type) ? 'integer' : 'text', form, cell, required: false, most: null }
}

/** How the values of a field are kept, so that they compare correctly; null stays null. */
function columnForm({ kind, options }: Field, kinds: FieldKinds): Pick<Column, 'type' | 'form' | 'cell'> {
  const usual = options.fold ? foldedForm : plainForm
  const { type, how, cell } = kinds[kind]?.cell?.(options) ?? usual
  const form = how === undefined ? kind : `${kind} ${how}`
  return { type, form, cell: (value) => ((value ?? null) === null ? null : cell(value)) }
}

const plainForm: CellForm = { type: 'text', cell: (value) => value as Cell }
const foldedForm: CellForm = { type: 'text', how: 'folded', cell: (value) => folded(value as string) }

/** The value of a field, a nested one by its path. */
function valueAt(document: Record<string, unknown>, field: string): unknown {
  if (!field.includes('.')) return document[field] ?? null
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

/** The values of columns after a change of a document; words of texts that stay are not made again, as that takes longer than the rest. */
export const cellsAfter = (
  { columns }: { readonly columns: readonly Column[] },
  document: Record<string, unknown>,
  { before, cells }: { readonly before: Record<string, unknown>; readonly cells: readonly Cell[] },
): readonly Cell[] =>
  columns.map((column, i) =>
    column.isWords && isSameJson(column.of?.(before), column.of?.(document))
      ? (cells[i] as Cell)
      : cellIn(column, document),
  )

export function compareCells(a: Cell, b: Cell): number {
  if (typeof a === 'string' || typeof b === 'string')
    return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
  const [one, other] = [BigInt(a ?? 0), BigInt(b ?? 0)]
  return one < other ? -1 : one > other ? 1 : 0
}
