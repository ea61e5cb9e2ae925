/** What a list of an older version accepts, in its own names, asked of the columns of today. Part 4, list parameters; part 9, versions. */
import type { Condition } from '../flow/plan.ts'
import type { Comparison } from '../resources/change.ts'
import { type Cell, folded } from '../resources/collection.ts'
import type { Resource } from '../resources/resource.ts'
import { parts } from './pattern.ts'
import type { Filterable, Key, Rules } from './rules.ts'

/** How an older version asks: null where something cannot be asked. */
export interface Asking {
  readonly ask: (comparison: Comparison) => readonly (Comparison | Among)[] | null
  readonly order: (term: string) => readonly string[] | null
  readonly rulesOf: (today: Resource) => Rules
}

/** A comparison of a field that another row has today, found by a field of the own one. */
interface Among {
  readonly by: string
  readonly today: Resource
  readonly comparison: Comparison
}

/** The rules of an older version over those of today. */
export function olderRules(own: Rules, today: Rules, asking: Asking): Rules {
  const { order = ['id'], sorts = {} } = own.resource.declaration
  const keys = (terms: readonly string[]) => terms.flatMap((term) => keysOf(term, today, asking) ?? [])
  const sortable = [...own.sorts.keys()].flatMap((name) => {
    const found = keysOf(name, today, asking)
    return found === null ? [] : [[name, found] as const]
  })
  return {
    ...own,
    filters: new Map([...own.filters].map(([field, one]) => [field, asked(field, one, today, asking)])),
    sorts: new Map(sortable),
    customs: new Map(Object.entries(sorts).map(([name, terms]) => [name, keys(terms)])),
    usual: keys(order),
    columns: today.columns,
    keys: today.keys,
  }
}

function keysOf(term: string, { keys }: Rules, { order }: Asking): readonly Key[] | null {
  const terms = order(term)
  const found = terms?.map((one) => {
    const key = keys.get(one.replace(/^-/, ''))
    return key && { ...key, descending: one.startsWith('-') }
  })
  return found?.every((one) => one !== undefined) ? found : null
}

function asked(field: string, own: Filterable, today: Rules, asking: Asking): Filterable {
  return {
    ...own,
    conditions: (is, value) => {
      const all = asking.ask({ field, is, value })?.map((one) => conditionIn(one, today, asking)) ?? [null]
      return all.some((one) => one === null) ? null : (all as Condition[])
    },
  }
}

function conditionIn(one: Comparison | Among, today: Rules, { rulesOf }: Asking): Condition | null {
  if (!('by' in one)) return conditionOf(one, today)
  const where = conditionOf(one.comparison, rulesOf(one.today))
  const column = today.keys.get(one.by)?.column
  return where && column !== undefined ? { column, is: 'among', table: one.today.collection.table, where } : null
}

/** A comparison of a field of today; null where that cannot be filtered by. */
function conditionOf({ field, is, value }: Comparison, { filters }: Rules): Condition | null {
  const filter = filters.get(field)
  if (!filter) return null
  const { column, cell, fold } = filter
  if (is === 'null') return { column, is: value === true ? 'null' : 'present' }
  if (is === 'in') {
    const values = [...new Set((value as readonly unknown[]).map(cell))]
    return values.length === 1 ? { column, is: 'eq', value: values[0] as Cell } : { column, is, values }
  }
  if (is !== 'like') return { column, is, value: cell(value) }
  const found = parts(value as string)
  return typeof found === 'string' ? null : { column, is, parts: fold ? found.map(folded) : found }
}
