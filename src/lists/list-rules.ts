/** List rules: the filters, sorts and parameters that a list accepts, prepared at start. Part 4, list parameters. */
import type { Violation } from '../errors/problem.ts'
import type { Field, FilterForm } from '../fields/field.ts'
import { fieldKind } from '../fields/kind.ts'
import { valueCheckOf } from '../fields/value-check.ts'
import type { PaginationStyle } from '../flow/intent.ts'
import { byRelevance, type Condition, type JoinedColumn } from '../flow/plan.ts'
import type { Comparison } from '../resources/change.ts'
import type { Resource } from '../resources/resource.ts'
import { type Cell, type Column, columnOf, wordColumns } from '../rows/collection.ts'
import { embeddableNames, embedReader } from './embed-names.ts'
import { fieldSelectionReader } from './field-selection.ts'

/** A field that rows can be filtered by. */
export interface FilterRule {
  readonly column: string
  readonly operators: readonly Operator[]
  readonly cell: (value: unknown) => Cell
  /** The value of a text in the type of the field, or a message if it is not of that type. */
  readonly read: (text: string) => { readonly value: unknown } | string
  /** The text itself, for bounds and patterns of texts. */
  readonly raw: FilterRule['read']
  readonly textual: boolean
  readonly fold: boolean
  /** In an older version: the conditions on current columns for a comparison; it returns null for an impossible one. */
  readonly conditions: ((is: Comparison['is'], value: unknown) => readonly Condition[] | null) | null
}

/** A column that filters compare values with. */
type ComparedColumn = Pick<FilterRule, 'column' | 'cell' | 'fold'>

export type Operator = 'eq' | 'null' | 'in' | FilterOperator
type FilterOperator = 'gte' | 'lte' | 'gt' | 'lt' | 'ne' | 'like'

/** The parameters of each pagination style. If they fit several styles, the first one applies. R76. */
export const styleParameters: Readonly<Record<PaginationStyle, readonly string[]>> = {
  page: ['page', 'page_size'],
  offset: ['limit', 'offset'],
  cursor: ['cursor', 'limit'],
}
export const windowParameters: readonly string[] = [...new Set(Object.values(styleParameters).flat())]
export const listParameterNames: readonly string[] = ['sort', 'order', 'nulls', 'custom_sort', ...windowParameters]
/** Parameters that settings turn on and off. */
const settableNames = ['or', 'fields'] as const
/** The parameter that resources declare. */
const embedName = 'embed'

/** Names that are never filters, even if a field has the same name. R55. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...listParameterNames,
  ...settableNames,
  embedName,
  'search',
  'version',
])

/** The parameter that filters by a field: with its operator if the name alone is reserved. R55. */
export const filterParameter = (field: string): string => (reservedNames.has(field) ? `${field}[eq]` : field)

/** A column that rows can be sorted by, and whether some rows may have no value in it. */
interface SortColumn {
  readonly column: string
  readonly type: Column['type']
  readonly form: string
  readonly nullable: boolean
}

export interface ListRules {
  readonly resource: Resource
  readonly filters: ReadonlyMap<string, FilterRule>
  /** The columns that only filters of older versions use: their own columns, and those of write-only and kept values. */
  readonly internalColumns: ReadonlyMap<string, ComparedColumn>
  /** All fields, so that the message about one without `filter` differs from the one about an unknown name. */
  readonly fields: ReadonlySet<string>
  readonly sorts: ReadonlyMap<string, readonly SortKey[]>
  /** All fields as keys of an order. */
  readonly keys: ReadonlyMap<string, SortKey>
  readonly customSorts: ReadonlyMap<string, readonly SortKey[]>
  /** The order of a request without `sort`. */
  readonly defaultOrder: readonly SortKey[]
  /** Columns by name, for reading positions from cursors. */
  readonly columns: ReadonlyMap<string, Pick<Column, 'type' | 'form'>>
  /** The names of all parameters, for messages. */
  readonly parameterNames: readonly string[]
  /** Reads the parameter `fields`. */
  readonly readFields: ReturnType<typeof fieldSelectionReader>
  /** Reads the parameter `embed`. */
  readonly readEmbed: ReturnType<typeof embedReader>
  /** The version that cursors are bound to. R83. */
  readonly major: number
  /** Set for exports, which have all rows and no pages. R238. */
  readonly whole?: true
}

/** One key of a declared order. */
export interface SortKey extends SortColumn {
  readonly descending: boolean
  /** Set if it is a column of another row. */
  readonly reach?: JoinedColumn
}

/** A field with its dotted path. */
interface NamedField {
  readonly name: string
  readonly field: Field
}

export function listRules(resource: Resource, resources: ReadonlyMap<string, Resource>, major = 1): ListRules {
  const all = resource.members.flatMap(withNestedFields)
  const embeddable = embeddableNames(resource, resources)
  const sortable = new Map(all.map((one) => [one.name, sortColumnOf(one, resource)]))
  const own = new Map([...sortable].map(([name, one]): [string, SortKey] => [name, { ...one, descending: false }]))
  const keys = (terms: readonly string[]) => terms.map((term) => sortKeyOf(term, sortable))
  const { order = ['id'], sorts = {} } = resource.declaration
  const hidden = new Set(resource.members.filter((one) => one.writeOnly).map(({ name }) => name))
  const beneath = resource.collection.columns.filter(({ field, of, isWords }) => !isWords && (of || hidden.has(field)))
  for (const { field, name: column, type, form } of beneath)
    own.set(field, { column, type, form: form.replace(/ (made|else) .*/, ''), nullable: true, descending: false })
  const filtered = all.filter(({ name, field }) => field.options.filter && !hidden.has(name))
  return {
    resource,
    filters: new Map(filtered.map((one) => [one.name, filterRuleOf(one, resource, resources)])),
    internalColumns: new Map(
      beneath.map(({ field, name: column, cell, form }) => [field, { column, cell, fold: /^\w+ folded/.test(form) }]),
    ),
    fields: new Set(all.map(({ name }) => name)),
    sorts: new Map(
      all
        .filter(({ name, field }) => field.options.sort && !hidden.has(name))
        .map(({ name }) => [name, [own.get(name) as SortKey]]),
    ),
    keys: own,
    customSorts: new Map(Object.entries(sorts).map(([name, terms]) => [name, keys(terms)])),
    defaultOrder: keys(order),
    columns: new Map([...[...own.values()].map((one) => [one.column, one] as const), ...relevanceColumns(resource)]),
    parameterNames: [
      ...filtered.map(({ name }) => filterParameter(name)),
      ...otherParameters(resource),
      ...(embeddable.length > 0 ? [embedName] : []),
    ],
    readFields: fieldSelectionReader(resource),
    readEmbed: embedReader(embeddable),
    major,
  }
}

/** The parameters that are not filters. R74. */
export function otherParameters({ settings, declaration, collection }: Resource): ReadonlySet<string> {
  const { styles } = settings.list.pagination
  const names = new Set(['sort', 'order', 'nulls', ...styles.flatMap((style) => styleParameters[style])])
  if (declaration.sorts) names.add('custom_sort')
  for (const name of settableNames) if (settings.list[name]) names.add(name)
  if (wordColumns(collection).length > 0) names.add('search')
  return names
}

/** The form of the word columns, on which cursors of lists by relevance depend. */
function relevanceColumns({ collection }: Resource): [string, Pick<Column, 'type' | 'form'>][] {
  const form = wordColumns(collection).map(({ field, form }) => `${field} ${form}`)
  return form.length === 0 ? [] : [[byRelevance.column, { type: 'integer', form: form.join() }]]
}

function withNestedFields({ name, field }: NamedField): NamedField[] {
  const inner = Object.entries(field.fields ?? {})
  return [
    { name, field },
    ...inner.flatMap(([own, below]) => withNestedFields({ name: `${name}.${own}`, field: below })),
  ]
}

/** The column of a field; those of ids are in the primary key. */
function listColumnOf(name: string, field: Field, { collection, parent, rules }: Resource): Column {
  const column = columnOf(name, field, rules.kinds)
  if (name === 'id') return { ...column, name: 'id' }
  return collection.composite && name === parent?.field ? { ...column, name: 'parent' } : column
}

/** Only fields that the service sets always have a value: a required field may have been optional when a row was written. */
function sortColumnOf({ name, field }: NamedField, resource: Resource): SortColumn {
  const { name: column, type, form } = listColumnOf(name, field, resource)
  const { key, parent, created, updated } = resource
  return { column, type, form, nullable: !['id', key, parent?.field, created, updated].includes(name) }
}

function sortKeyOf(term: string, sortable: ReadonlyMap<string, SortColumn>): SortKey {
  const descending = term.startsWith('-')
  return { ...(sortable.get(descending ? term.slice(1) : term) as SortColumn), descending }
}

const operatorsOfForms: Readonly<Record<FilterForm, readonly FilterOperator[]>> = {
  range: ['gte', 'lte'],
  like: ['like'],
  gt: ['gt'],
  lt: ['lt'],
  ne: ['ne'],
}

function filterRuleOf(
  { name, field }: NamedField,
  resource: Resource,
  resources: ReadonlyMap<string, Resource>,
): FilterRule {
  const { filter, fold } = field.options
  const declared = typeof filter === 'boolean' ? [] : ([filter].flat() as FilterForm[])
  const { name: column, cell } = listColumnOf(name, field, resource)
  return {
    column,
    operators: ['eq', 'null', 'in', ...declared.flatMap((form) => operatorsOfForms[form])],
    cell,
    read: idReaderOf(name, resource, resources) ?? valueReaderOf(name, field, resource, resources),
    raw: (text) => (text.includes('\u0000') ? `${name} must not have the character U+0000.` : { value: text }),
    textual: fieldKind(field.kind, resource.rules.kinds).length !== undefined,
    fold: fold === true,
    conditions: null,
  }
}

/** The reader of the id, or of the id of the parent; null for other fields. R72. */
function idReaderOf(name: string, own: Resource, resources: ReadonlyMap<string, Resource>): FilterRule['read'] | null {
  const named = name === 'id' ? own : name === own.parent?.field ? resources.get(own.parent.resource) : undefined
  if (!named) return null
  return (text) => (named.isId(text) ? { value: text } : `${name} must be the id of one of ${named.name}.`)
}

/** The reader of a text of the query in the type of a field, without its bounds. R72. */
function valueReaderOf(
  name: string,
  field: Field,
  { rules }: Resource,
  resources: ReadonlyMap<string, Resource>,
): FilterRule['read'] {
  const { precision, scale } = field.options
  const options = { ...(precision === undefined ? {} : { precision }), ...(scale === undefined ? {} : { scale }) }
  const isId = (to: string, text: string) => resources.get(to)?.isId(text) === true
  const check = valueCheckOf({ ...field, options }, { ...rules, isId })
  const [read, what] = fieldKind(field.kind, rules.kinds).parse ?? []
  return (text) => {
    const raw = read ? read(text) : text
    if (raw === undefined) return `${name} must be ${what}.`
    if (field.kind === 'text')
      return text.includes('\u0000') ? `${name} must not have the character U+0000.` : { value: text }
    const faults: Violation[] = []
    const value = check(raw, `/${name}`, faults)
    return faults[0] ? faults[0].message : { value }
  }
}
