/** Older rules: list rules of an older version, translated to current columns. Part 4, list parameters; part 9, versions. */
import type { Condition } from '../flow/plan.ts'
import type { Comparison } from '../resources/change.ts'
import type { Resource } from '../resources/resource.ts'
import { type Cell, folded } from '../rows/collection.ts'
import { likePatternParts } from './like-pattern.ts'
import type { FilterRule, ListRules, SortKey } from './list-rules.ts'

/** Translates filters and sorts of an older version to current fields; null for an impossible one. */
export interface QueryTranslation {
  readonly ask: (comparison: Comparison) => readonly (Comparison | JoinedRowQuery<Comparison>)[] | null
  readonly order: (term: string) => readonly (string | JoinedRowQuery<string>)[] | null
  readonly rulesOf: (today: Resource) => ListRules
}

/** A query on the row that the field `by` links to; `kept` is the own field with the value while there is no link. */
interface JoinedRowQuery<T> {
  readonly by: string
  readonly today: Resource
  readonly kept: string | null
  readonly asks: readonly T[]
  readonly own: T
}

/** The rules of an older version, based on the current ones. */
export function olderRules(own: ListRules, today: ListRules, asking: QueryTranslation): ListRules {
  const { order = ['id'], sorts = {} } = own.resource.declaration
  const keys = (terms: readonly string[]) => terms.flatMap((term) => translateOrder(term, today, asking) ?? [])
  const sortable = [...own.sorts.keys()].flatMap((name) => {
    const translated = translateOrder(name, today, asking)
    return translated === null ? [] : [[name, translated] as const]
  })
  const customs = Object.entries(sorts).map(([name, terms]) => [name, keys(terms)] as const)
  const usual = keys(order)
  const sortKeys = [...sortable.map(([, all]) => all), ...customs.map(([, all]) => all), usual].flat()
  return {
    ...own,
    filters: new Map([...own.filters].map(([field, one]) => [field, olderFilterRule(field, one, today, asking)])),
    sorts: new Map(sortable),
    customSorts: new Map(customs),
    defaultOrder: usual,
    columns: new Map([
      ...today.columns,
      ...sortKeys.filter(({ reach }) => reach).map((one) => [one.column, one] as const),
    ]),
    keys: today.keys,
  }
}

function translateOrder(
  term: string,
  today: ListRules,
  { order, rulesOf }: QueryTranslation,
): readonly SortKey[] | null {
  const keys = order(term)?.flatMap((one): (SortKey | undefined)[] =>
    typeof one === 'string'
      ? [sortKeyIn(one, today)]
      : one.asks.map((param) => joinedSortKey(param, one, today, rulesOf(one.today))),
  )
  return keys?.every((one) => one !== undefined) ? keys : null
}

function sortKeyIn(term: string, { keys }: ListRules): SortKey | undefined {
  const key = keys.get(term.replace(/^-/, ''))
  return key && { ...key, descending: term.startsWith('-') }
}

/** A sort key in the row that this row links to. */
function joinedSortKey(
  term: string,
  { by, kept, today: other }: JoinedRowQuery<string>,
  own: ListRules,
  there: ListRules,
): SortKey | undefined {
  const [link, key] = [own.keys.get(by)?.column, sortKeyIn(term, there)]
  const { name: collection, columns } = other.collection
  if (link === undefined || !columns.some(({ name }) => name === key?.column)) return undefined
  const { column, type, form, descending } = key as SortKey
  const reach = { by: link, collection, column, type, kept: storedColumnOf(kept, own) }
  return { column: `${link} ${column}`, type, form, descending, nullable: true, reach }
}

/** The stored column of a field; null if it has none. */
function storedColumnOf(field: string | null, { keys, resource }: ListRules): string | null {
  const column = field === null ? undefined : keys.get(field)?.column
  return resource.collection.columns.find(({ name }) => name === column)?.name ?? null
}

function olderFilterRule(field: string, own: FilterRule, today: ListRules, asking: QueryTranslation): FilterRule {
  return {
    ...own,
    conditions: (is, value) => {
      const all = asking
        .ask({ field, is, value })
        ?.map((one) =>
          'asks' in one ? joinedCondition(one, today, asking.rulesOf(one.today)) : conditionOf(one, today),
        ) ?? [null]
      return all.some((one) => one === null) ? null : (all as Condition[])
    },
  }
}

/** A condition on the linked row; without a link, on the value that this row keeps, which is null if it keeps none. */
function joinedCondition(
  { by, asks, today: { collection }, kept, own: plain }: JoinedRowQuery<Comparison>,
  own: ListRules,
  there: ListRules,
): Condition | null {
  const column = own.keys.get(by)?.column
  const all = asks.map((one) => conditionOf(one, there))
  if (column === undefined || all.some((one) => one === null)) return null
  const among: Condition = { column, is: 'among', collection: collection.name, where: all as Condition[] }
  const none: Condition = { column, is: 'null' }
  const instead = kept === null ? null : conditionOf({ ...plain, field: kept }, own)
  if (instead) return { column, is: 'any', of: [[among], [none, instead]] }
  return plain.is === 'null' && plain.value === true ? { column, is: 'any', of: [[among], [none]] } : among
}

/** The condition for a comparison with a current field; null if the field has no filter. */
function conditionOf({ field, is, value }: Comparison, { filters, internalColumns }: ListRules): Condition | null {
  const filter = filters.get(field) ?? internalColumns.get(field)
  if (!filter) return null
  const { column, cell, fold } = filter
  if (is === 'null') return { column, is: value === true ? 'null' : 'present' }
  if (is === 'in') {
    const values = [...new Set((value as readonly unknown[]).map(cell))]
    return values.length === 1 ? { column, is: 'eq', value: values[0] as Cell } : { column, is, values }
  }
  if (is !== 'like') return { column, is, value: cell(value) }
  const parts = likePatternParts(value as string)
  return typeof parts === 'string' ? null : { column, is, parts: fold ? parts.map(folded) : parts }
}
