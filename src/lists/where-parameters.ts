/** Where parameters: filters and sorts as handlers and clients write them, as parameters of a URL. Part 4, list parameters. */
import type { Flatten, ResolvedField, Value } from '../fields/field.ts'
import type { ConceptsOf, FieldsOf, FilterName, Get, ResourceName } from '../resources/infer.ts'

export type ListParameter = readonly [name: string, value: string]

/** The filters of a list, as its resource declares them. */
export type Where<D, R extends ResourceName<D>> = {
  readonly [N in FilterName<D, R> & string]?: Condition<FieldAt<FieldsOf<D, R>, ConceptsOf<D>, N>, ConceptsOf<D>>
}

type Condition<F, C> =
  Exclude<Value<F, C>, null> extends infer V
    ? V | readonly V[] | null | Operators<V, FormOf<Get<Get<F, 'options'>, 'filter', never>>>
    : never
type FormOf<Filter> = Filter extends readonly (infer Form)[] ? Form : Filter
/** One object type, as an intersection would take lists too. */
type Operators<V, Form> = Flatten<
  { readonly eq?: V; readonly null?: boolean } & ('range' extends Form
    ? { readonly gte?: V; readonly lte?: V }
    : unknown) & { readonly [O in Extract<Form, 'like' | 'gt' | 'lt' | 'ne'>]?: V }
>

/** The field at a dotted path. */
export type FieldAt<F, C, Path> = Path extends keyof F
  ? ResolvedField<F[Path], C>
  : Path extends `${infer A}.${infer B}`
    ? A extends keyof F
      ? ResolvedField<F[A], C> extends { readonly fields: infer N }
        ? FieldAt<N, C, B>
        : never
      : never
    : ManagedField
/** `id`, the id of the parent, and times. */
interface ManagedField {
  readonly kind: 'text'
  readonly options: { readonly filter: 'range' }
}

/** Makes the parameters of filters: each filter is one value, a list of alternatives, null, or an object of operators. */
export const whereParameters = (where: Readonly<Record<string, unknown>>): ListParameter[] =>
  Object.entries(where).flatMap(([field, wanted]) => parametersOf(field, wanted))

function parametersOf(field: string, wanted: unknown): ListParameter[] {
  if (wanted === undefined) return []
  if (wanted === null) return [[`${field}[null]`, 'true']]
  if (Array.isArray(wanted)) return [[field, `in:(${wanted.map(quotedMember).join(',')})`]]
  if (typeof wanted !== 'object') return [[`${field}[eq]`, String(wanted)]]
  return Object.entries(wanted).flatMap(([operator, value]) =>
    value === undefined ? [] : [[`${field}[${operator}]`, String(value)] as const],
  )
}

const quotedMember = (value: unknown): string => `"${String(value).replace(/["\\]/g, '\\$&')}"`

/** The parameter with filters of which one has to match. */
export function alternativeParameters(any: Readonly<Record<string, unknown>> | undefined): ListParameter[] {
  const filters = whereParameters(any ?? {})
  return filters.length === 0 ? [] : [['or', alternativesText(filters)]]
}

/** The characters that separate filters are escaped. */
const alternativesText = (filters: readonly ListParameter[]): string =>
  `(${filters.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join(';')})`

const escaped = (text: string): string => text.replace(/[%;()]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)

/** A minus sign before the field sorts in descending order. */
export function sortParameters(sort: string | undefined): ListParameter[] {
  if (sort === undefined) return []
  const descending = sort.startsWith('-')
  return [
    ['sort', sort.slice(descending ? 1 : 0)],
    ['order', descending ? 'desc' : 'asc'],
  ]
}

/** Without names all fields are answered. */
export const fieldParameters = (fields: readonly string[] = []): ListParameter[] =>
  fields.length === 0 ? [] : [['fields', fields.join(',')]]

/** The parameter with the names to embed. */
export const embedParameters = (embed: readonly string[] = []): ListParameter[] =>
  embed.length === 0 ? [] : [['embed', embed.join(',')]]

export const queryText = (parameters: readonly ListParameter[]): string =>
  parameters.length === 0 ? '' : `?${parameters.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`
