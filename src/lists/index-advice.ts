/** Index advice: names filters with orders that no index serves, and the index that would. Part 4, list parameters. */

import { listInWords } from '../formats/naming.ts'
import { rowAlternatives } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { indexesOf, keyColumns } from '../rows/collection.ts'
import { type ListRules, listRules, type SortKey } from './list-rules.ts'

/** Sentences about orders and summaries that no index serves. */
export const listWarning = (resource: Resource): string[] => [
  ...orderWarning(resource),
  ...slowRules(resource).map(({ says }) => says),
  ...slowSummaries(resource).map(({ says }) => says),
]

/** One sentence if a filter makes some orders of the list slow; nothing if an index serves all of them. */
function orderWarning(resource: Resource): string[] {
  const slow = slowOrders(resource)
  if (slow.length === 0) return []
  const fields = [...new Set(slow.flatMap((one) => one.fields))]
  const orders = slow.length === 1 ? `${slow[0]?.says}` : `in ${slow.length} of its orders`
  return [
    `A list of ${resource.name} ${orders} reads more rows than it returns when it is filtered by ${listInWords(fields)}.`,
  ]
}

/** One sentence for each slow order and summary, with the indexes that would serve it. */
export const indexAdvice = (resource: Resource): string[] => [
  ...orderAdvice(resource),
  ...slowRules(resource).map(({ says, indexes }) => {
    const texts = indexes.map((all) => `[${all.map((one) => `'${one}'`).join(', ')}]`)
    return `${says} If it is requested often, declare indexes: [${texts.join(', ')}].`
  }),
  ...slowSummaries(resource).map(
    ({ says, fields }) =>
      `${says} If it is requested often, declare indexes: [[${fields.map((one) => `'${one}'`).join(', ')}]].`,
  ),
]

function orderAdvice(resource: Resource): string[] {
  return slowOrders(resource).map(({ says, terms, fields }) => {
    const indexes = fields.map(
      (field) => `[${[field, ...signedTerms(terms, field)].map((one) => `'${one}'`).join(', ')}]`,
    )
    return `A list of ${resource.name} ${says} that is filtered by ${listInWords(fields)} reads more rows than it returns. If it is requested often, declare indexes: [${indexes.join(', ')}].`
  })
}

/** The alternatives of the rule for reading that have no index for some orders. */
function slowRules(resource: Resource): { readonly says: string; readonly indexes: readonly (readonly string[])[] }[] {
  const alternatives = resource.methods.includes('list') ? (rowAlternatives(resource.access, 'list') ?? []) : []
  const { keys, defaultOrder, customSorts, sorts } = listRules(resource, new Map([[resource.name, resource]]))
  const { fields: declared, order = [], sorts: named = {} } = resource.declaration
  const orders = [
    { terms: order, says: 'in its usual order', by: defaultOrder },
    ...[...sorts]
      .filter(([field]) => Object.hasOwn(declared, field))
      .map(([field, by]) => ({ terms: [field], says: `sorted by ${field}`, by })),
    ...[...customSorts].map(([name, by]) => ({ terms: named[name] ?? [], says: `by custom_sort=${name}`, by })),
  ]
  return alternatives.flatMap((one) => {
    const fields = 'where' in one ? Object.keys(one.where) : ['id']
    if (fields.includes('id')) return []
    const columns = fields.map((field) => (keys.get(field) as SortKey).column)
    const slow = orders.filter(({ by }) => !isServed(resource, columns, by))
    if (slow.length === 0) return []
    const says = `A list of ${resource.name} that its access rule limits by ${listInWords(fields, 'and')} reads more rows than it returns ${listInWords(slow.map((each) => each.says))}.`
    return [{ says, indexes: slow.map(({ terms }) => [...fields, ...terms.filter((term) => !fields.includes(term))]) }]
  })
}

/** The summaries of which no index begins with the fields of the groups and has those of the values too. */
function slowSummaries(resource: Resource): { readonly says: string; readonly fields: readonly string[] }[] {
  const { keys } = listRules(resource, new Map([[resource.name, resource]]))
  const head = keyColumns(resource.collection).slice(0, -1)
  const indexes = indexesOf(resource.collection).map(({ columns }) => columns.map((name) => name.replace(/^-/, '')))
  return resource.summaries.flatMap(({ name, groups, values }) => {
    const fields = [...new Set([...groups, ...values].map(({ path }) => path))]
    const columns = fields.map((path) => (keys.get(path) as SortKey).column).filter((column) => !head.includes(column))
    const first = new Set(
      groups.map(({ path }) => keys.get(path)?.column).filter((one) => columns.includes(one as string)),
    )
    const isServed = indexes.some((index) => {
      const own = index.slice(head.length)
      return own.slice(0, first.size).every((column) => first.has(column)) && columns.every((one) => own.includes(one))
    })
    if (isServed || fields.length < 2) return []
    const says = `The summary ${name} of ${resource.name} reads whole rows, as no index has all of its fields.`
    return [{ says, fields }]
  })
}

interface SlowOrder {
  readonly says: string
  readonly terms: readonly string[]
  /** The filters that no index serves in this order. */
  readonly fields: readonly string[]
}

function slowOrders(resource: Resource): SlowOrder[] {
  const { order, sorts = {} } = resource.declaration
  if (!resource.methods.includes('list')) return []
  const own = listRules(resource, new Map([[resource.name, resource]]))
  const orders = [
    ...(order ? [{ says: 'in its declared order', terms: order, keys: own.defaultOrder }] : []),
    ...Object.entries(sorts).map(([name, terms]) => ({
      says: `by custom_sort=${name}`,
      terms,
      keys: own.customSorts.get(name) as readonly SortKey[],
    })),
  ]
  return orders.flatMap(({ says, terms, keys }) => {
    const slow = selectiveFilters(own).filter(([, column]) => !isServed(resource, [column], keys))
    return slow.length === 0 ? [] : [{ says, terms, fields: slow.map(([field]) => field) }]
  })
}

/** The fields whose filters match many rows: not times, which match hardly any, and not unique ones, which match one. */
function selectiveFilters({ filters, resource }: ListRules): [field: string, column: string][] {
  const { uniques, columns } = resource.collection
  const unique = uniques.filter(({ fields }) => fields.length === 1).map(({ columns }) => columns.at(-1))
  const moments = columns.filter(({ form }) => form === 'timestamp').map(({ name }) => name)
  const known = ['id', resource.collection.parent?.column, ...unique, ...moments]
  return [...filters]
    .map(([field, { column }]) => [field, column] as [string, string])
    .filter(([, column]) => !known.includes(column))
}

/** Whether an index begins with the columns of equal values and continues in the order, or in its reverse. */
function isServed({ collection }: Resource, equal: readonly string[], keys: readonly SortKey[]): boolean {
  const fixed = [...keyColumns(collection).slice(0, -1), ...equal]
  const wanted = keys
    .filter((key) => !fixed.includes(key.column))
    .map((key) => (key.descending ? '-' : '') + key.column)
  const reverse = wanted.map((name) => (name.startsWith('-') ? name.slice(1) : `-${name}`))
  return indexesOf(collection).some(({ columns }) => {
    const start = columns.slice(0, fixed.length).map((name) => name.replace(/^-/, ''))
    const rest = columns.slice(fixed.length)
    return (
      fixed.every((name) => start.includes(name)) &&
      [wanted, reverse].some((way) => way.every((name, i) => rest[i] === name))
    )
  })
}

/** The index terms after its first field: without signs if all have one direction, else with the id at the end. R59. */
function signedTerms(terms: readonly string[], field: string): string[] {
  const rest = terms.filter((term) => term.replace(/^-/, '') !== field)
  if (rest.every((term) => term.startsWith('-'))) return rest.map((term) => term.slice(1))
  return rest[0]?.startsWith('-') ? [...rest, '-id'] : rest
}
