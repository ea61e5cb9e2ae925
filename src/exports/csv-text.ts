/** CSV text: items as lines of RFC 4180, which spreadsheets read without running them as formulas. Part 4. R238. */
import type { Field } from '../fields/field.ts'
import { partsOf } from '../fields/file-kind.ts'
import type { FieldTree } from '../flow/intent.ts'
import { guardFormula } from '../formats/formula-guard.ts'
import type { Resource } from '../resources/resource.ts'
import type { View } from '../views/view.ts'

/** The fields of an item as columns; those of an object have columns of their own, named with dots. */
export type CsvColumns = readonly (readonly string[])[]

/** The columns of the fields that a view shows. */
export const csvColumns = (
  { members }: Pick<Resource, 'members'>,
  { unreadable, selected }: Pick<View, 'unreadable' | 'selected'>,
): CsvColumns =>
  members
    .filter(({ name, writeOnly }) => !writeOnly && !unreadable.has(name))
    .flatMap(({ name, field }) => columnsOf([name], field, selected?.tree ?? null))

function columnsOf(path: readonly string[], own: Field, tree: FieldTree | null): (readonly string[])[] {
  const name = path.at(-1) as string
  if (tree !== null && !tree.has(name)) return []
  const below = tree?.get(name) ?? null
  const fields = partsOf(own)
  if (fields === undefined) return [path]
  return Object.entries(fields).flatMap(([inner, field]) => columnsOf([...path, inner], field, below))
}

export const csvHeader = (columns: CsvColumns): string => lineOf(columns.map((path) => path.join('.')))

export const csvLines = (columns: CsvColumns, items: readonly unknown[]): string =>
  items.map((item) => lineOf(columns.map((path) => cellText(valueAt(item, path))))).join('')

const lineOf = (cells: readonly string[]): string => `${cells.join(',')}\r\n`

const valueAt = (item: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], item)

/** The text of a value: nothing for null, `""` for an empty text, JSON for lists and maps. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'object') return quotedText(JSON.stringify(value))
  return typeof value === 'string' ? quotedText(guardFormula(value)) : String(value)
}

/** Also texts with a semicolon or tab are quoted, which separate cells for spreadsheets of some countries. */
const quotedText = (text: string): string =>
  text === '' || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
