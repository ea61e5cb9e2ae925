/** What a list of an older version accepts, in its own names, asked of the columns of today. Part 4, list parameters; part 9, versions. */
import type { Condition } from '../flow/plan.ts'
import type { Comparison } from '../resources/change.ts'
import { type Cell, folded } from '../resources/collection.ts'
import type { Resource } from '../resources/resource.ts'
import { parts } from './pattern.ts'
import type { Filterable, Key, Rules } from './rules.ts'

/** How an older version asks: null where something cannot be asked. */
export interface Asking {
  readonly ask: (comparison: Comparison) => readonly (Comparison | Reaching<Comparison>)[] | null
  readonly order: (term: string) => readonly (string | Reaching<string>)[] | null
  readonly rulesOf: (today: Resource) => Rules
}

/** What is asked of a row that a field of the own one leads to; `kept` is the own field that stands in its place where it leads to none. */
interface Reaching<T> {
  readonly by: string
  readonly today: Resource
  readonly kept: string | null
  readonly asks: readonly T[]
  readonly own: T
}

/** The rules of an older version over those of today. */
export function olderRules(own: Rules, today: Rules, asking: Asking): Rules {
  const { order = ['id'], sorts = {} } = own.resource.declaration
  const keys = (terms: readonly string[]) => terms.flatMap((term) => keysOf(term, today, asking) ?? [])
  const sortable = [...own.sorts.keys()].flatMap((name) => {
    const found = keysOf(name, today, asking)
    return found === null ? [] : [[name, found] as const]
  })
  const customs = Object.entries(sorts).map(([name, terms]) => [name, keys(terms)] as const)
  const usual = keys(order)
  const reached = [...sortable.map(([, all]) => all), ...customs.map(([, all]) => all), usual].flat()
  return {
    ...own,
    filters: new Map([...own.filters].map(([field, one]) => [field, asked(field, one, today, asking)])),
    sorts: new Map(sortable),
    customs: new Map(customs),
    usual,
    columns: new Map([
      ...today.columns,
      ...reached.filter(({ reach }) => reach).map((one) => [one.column, one] as const),
    ]),
    keys: today.keys,
  }
}

function keysOf(term: string, today: Rules, { order, rulesOf }: Asking): readonly Key[] | null {
  const found = order(term)?.flatMap((one): (Key | undefined)[] =>
    typeof one === 'string'
      ? [keyIn(one, today)]
      : one.asks.map((asked) => reachKey(asked, one, today, rulesOf(one.today))),
  )
  return found?.every((one) => one !== undefined) ? found : null
}

function keyIn(term: string, { keys }: Rules): Key | undefined {
  const key = keys.get(term.replace(/^-/, ''))
  return key && { ...key, descending: term.startsWith('-') }
}

/** An order by a column of the row that the own one leads to. */
function reachKey(
  term: string,
  { by, kept, today: other }: Reaching<string>,
  own: Rules,
  there: Rules,
): Key | undefined {
  const [link, key] = [own.keys.get(by)?.column, keyIn(term, there)]
  const { name: collection, columns } = other.collection
  if (link === undefined || !columns.some(({ name }) => name === key?.column)) return undefined
  const { column, type, form, descending } = key as Key
  const reach = { by: link, collection, column, type, kept: columnOf(kept, own) }
  return { column: `${link} ${column}`, type, form, descending, nullable: true, reach }
}

/** The column of a field, if it has one. */
function columnOf(field: string | null, { keys, resource }: Rules): string | null {
  const column = field === null ? undefined : keys.get(field)?.column
  return resource.collection.columns.find(({ name }) => name === column)?.name ?? null
}

function asked(field: string, own: Filterable, today: Rules, asking: Asking): Filterable {
  return {
    ...own,
    conditions: (is, value) => {
      const all = asking
        .ask({ field, is, value })
        ?.map((one) =>
          'asks' in one ? conditionBeyond(one, today, asking.rulesOf(one.today)) : conditionOf(one, today),
        ) ?? [null]
      return all.some((one) => one === null) ? null : (all as Condition[])
    },
  }
}

/** What is asked of another row; where none is led to, what the own one keeps is asked, and nothing is null. */
function conditionBeyond(
  { by, asks, today: { collection }, kept, own: plain }: Reaching<Comparison>,
  own: Rules,
  there: Rules,
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

/** A comparison of a field of today; null where that cannot be filtered by. */
function conditionOf({ field, is, value }: Comparison, { filters, beneath }: Rules): Condition | null {
  const filter = filters.get(field) ?? beneath.get(field)
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
