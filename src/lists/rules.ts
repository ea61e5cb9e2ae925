/** What a list accepts, prepared at start: its filters, its sorts and its parameters. Part 4, list parameters. */
import type { Violation } from '../errors/problem.ts'
import { type Cell, type Column, columnOf } from '../resources/collection.ts'
import type { Field, FilterForm } from '../resources/field.ts'
import type { Resource } from '../resources/resource.ts'
import { checkOf } from '../resources/values.ts'

/** A field that rows can be filtered by. */
export interface Filterable {
  readonly column: string
  readonly operators: readonly Operator[]
  readonly cell: (value: unknown) => Cell
  /** The value of a text in the field's type; a sentence where it is not of that type. */
  readonly read: (text: string) => { readonly value: unknown } | string
  /** The text itself, for bounds and patterns of texts. */
  readonly raw: Filterable['read']
  readonly textual: boolean
  readonly fold: boolean
}

export type Operator = 'eq' | 'null' | 'in' | FilterOperator
type FilterOperator = 'gte' | 'lte' | 'gt' | 'lt' | 'ne' | 'like'

export const listParameters = [
  'sort',
  'order',
  'nulls',
  'custom_sort',
  'limit',
  'offset',
  'page',
  'page_size',
  'cursor',
] as const

/** What rows can be ordered by: a column, and whether there are rows without a value. */
export interface Sortable {
  readonly column: string
  readonly type: Column['type']
  readonly nullable: boolean
}

export interface Rules {
  readonly resource: Resource
  readonly filters: ReadonlyMap<string, Filterable>
  /** All fields that there are, to tell those that cannot be filtered by from mere typing mistakes. */
  readonly fields: ReadonlySet<string>
  readonly sorts: ReadonlyMap<string, Sortable>
  readonly customs: ReadonlyMap<string, readonly Key[]>
  /** The order where none is asked for. */
  readonly usual: readonly Key[]
  /** Column types by name, for reading places from cursors. */
  readonly types: ReadonlyMap<string, Column['type']>
}

/** One key of a declared order. */
export interface Key extends Sortable {
  readonly descending: boolean
}

/** A field with the name it has in lists, dots included, and whether every row has a value for it. */
interface Named {
  readonly name: string
  readonly field: Field
  readonly present: boolean
}

export function rules(resource: Resource, resources: ReadonlyMap<string, Resource>): Rules {
  const all = resource.members.flatMap(({ name, field }) =>
    named({ name, field, present: field.options.optional !== true }),
  )
  const sortable = new Map(all.map((one) => [one.name, sortableOf(one)]))
  const keys = (terms: readonly string[]) => terms.map((term) => keyOf(term, sortable))
  const { order = ['id'], sorts = {} } = resource.declaration
  return {
    resource,
    filters: new Map(
      all.filter(({ field }) => field.options.filter).map((one) => [one.name, filterable(one, resource, resources)]),
    ),
    fields: new Set(all.map(({ name }) => name)),
    sorts: new Map(all.filter(({ field }) => field.options.sort).map((one) => [one.name, sortableOf(one)])),
    customs: new Map(Object.entries(sorts).map(([name, terms]) => [name, keys(terms)])),
    usual: keys(order),
    types: new Map([...sortable.values()].map(({ column, type }) => [column, type])),
  }
}

function named(one: Named): Named[] {
  const inner = Object.entries(one.field.kind === 'object' ? (one.field.fields ?? {}) : {})
  const below = inner.flatMap(([name, field]) =>
    named({ name: `${one.name}.${name}`, field, present: one.present && field.options.optional !== true }),
  )
  return [one, ...below]
}

function sortableOf({ name, field, present }: Named): Sortable {
  const { name: column, type } = columnOf(name, field)
  return name === 'id' ? { column: 'id', type: 'text', nullable: false } : { column, type, nullable: !present }
}

function keyOf(term: string, sortable: ReadonlyMap<string, Sortable>): Key {
  const descending = term.startsWith('-')
  return { ...(sortable.get(descending ? term.slice(1) : term) as Sortable), descending }
}

const forms: Readonly<Record<FilterForm, readonly FilterOperator[]>> = {
  range: ['gte', 'lte'],
  like: ['like'],
  gt: ['gt'],
  lt: ['lt'],
  ne: ['ne'],
}

function filterable({ name, field }: Named, resource: Resource, resources: ReadonlyMap<string, Resource>): Filterable {
  const { filter, fold } = field.options
  const declared = typeof filter === 'boolean' ? [] : ([filter].flat() as FilterForm[])
  const { name: column, cell } = columnOf(name, field)
  return {
    column: name === 'id' ? 'id' : column,
    operators: ['eq', 'null', 'in', ...declared.flatMap((form) => forms[form])],
    cell,
    read: name === 'id' ? idReader(resource) : reader(name, field, resource, resources),
    raw: (text) => (text.includes('\u0000') ? `${name} must not have the character U+0000.` : { value: text }),
    textual: ['text', 'email', 'url'].includes(field.kind),
    fold: fold === true,
  }
}

function idReader({ isId, name }: Resource): Filterable['read'] {
  return (text) => (isId(text) ? { value: text } : `id must be the id of one of ${name}.`)
}

/** How a text of the query string is read in the type of a field; bounds do not count. R72. */
function reader(
  name: string,
  field: Field,
  { settings }: Resource,
  resources: ReadonlyMap<string, Resource>,
): Filterable['read'] {
  const { precision, scale } = field.options
  const options = { ...(precision === undefined ? {} : { precision }), ...(scale === undefined ? {} : { scale }) }
  const check = checkOf({ ...field, options }, { settings, isId: (to, text) => resources.get(to)?.isId(text) === true })
  return (text) => {
    if (field.kind === 'integer' && !/^-?(0|[1-9][0-9]*)$/.test(text)) return `${name} must be a whole number.`
    if (field.kind === 'boolean' && text !== 'true' && text !== 'false') return `${name} must be true or false.`
    if (field.kind === 'text')
      return text.includes('\u0000') ? `${name} must not have the character U+0000.` : { value: text }
    const faults: Violation[] = []
    const value = check(
      field.kind === 'integer' ? Number(text) : field.kind === 'boolean' ? text === 'true' : text,
      `/${name}`,
      faults,
    )
    return faults[0] ? faults[0].message : { value }
  }
}
