/** Code: fields and values as the source code of a declaration, to be pasted. Part 9, versioning. */

import { lengthsOf } from '../fields/bounds.ts'
import type { FilterForm } from '../fields/field.ts'
import { usualFileSize } from '../fields/file-kind.ts'
import type { FieldTerms } from '../fields/kind.ts'
import { standardKinds } from '../fields/kinds.ts'

/** A field as a call of `f`. */
export function fieldCode(terms: FieldTerms): string {
  const options = valueCode(optionsSource(terms))
  const rest = options === '{}' ? '' : `, ${options}`
  switch (terms.kind) {
    case 'enum':
      return `f.enum(${valueCode(terms.values)}${rest})`
    case 'ref':
      return `f.ref(${valueCode(terms.to)}${rest})`
    case 'list':
      return `f.list(${fieldCode(terms.item as FieldTerms)}${rest})`
    case 'object':
      return `f.object({ ${Object.entries(terms.fields ?? {})
        .map(([name, one]) => `${name}: ${fieldCode(one)}`)
        .join(', ')} }${rest})`
    case 'file':
      return `f.file(${Object.keys(fileOptions(terms)).length === 0 ? '' : valueCode(fileOptions(terms))})`
    default:
      return `f.${terms.kind}(${options === '{}' ? '' : options})`
  }
}

/** Uploads write a file, so that it is always read-only and optional. */
function fileOptions({ values: types, ...terms }: FieldTerms): Record<string, unknown> {
  const { readOnly: _, optional: __, max, ...options } = optionsSource(terms)
  return { ...(max !== usualFileSize && { max }), ...(types && { types }), ...options }
}

const filterForms: readonly (readonly [FilterForm, readonly string[]])[] = [
  ['range', ['gte', 'lte']],
  ['like', ['like']],
  ['gt', ['gt']],
  ['lt', ['lt']],
  ['ne', ['ne']],
]

function optionsSource(terms: FieldTerms): Record<string, unknown> {
  const { kind, min, max, pattern, precision, scale, nullable, filter } = terms
  const { readOnly, writeOnly, read, write, immutable, unique, fold, search, sort, onDelete } = terms
  const usual = defaultBounds(terms)
  const extra = filterForms
    .filter(([, operators]) => operators.some((one) => filter?.includes(one)))
    .map(([form]) => form)
  const form = filter && (extra.length === 0 ? true : extra.length === 1 ? extra[0] : extra)
  const empty = (kind === 'list' && JSON.stringify(terms.default) === '[]') || kind === 'metadata'
  const all = {
    precision: precision === 18 ? undefined : precision,
    scale,
    min: min === usual.min ? undefined : min,
    max: max === usual.max ? undefined : max,
    pattern,
    optional: nullable,
    default: empty ? undefined : terms.default,
    ...{ readOnly, writeOnly, read, write, immutable, unique, fold, search },
    filter: form,
    sort,
    onDelete: onDelete === 'cascade' ? onDelete : undefined,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function defaultBounds({ kind, sort }: FieldTerms): { min?: number; max?: number } {
  if (kind === 'integer') return { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }
  const length = standardKinds[kind]?.length
  return length === undefined ? {} : lengthsOf({ options: sort ? { sort } : {} }, length)
}

/** A value as source code. */
export function valueCode(value: unknown): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (Array.isArray(value)) return `[${value.map(valueCode).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).map(
    ([name, one]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : valueCode(name)}: ${valueCode(one)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
