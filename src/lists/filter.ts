/** Turns filter parameters into conditions. Part 4, filtering. */
import { brief } from '../errors/place.ts'
import type { Violation } from '../errors/problem.ts'
import type { Condition } from '../flow/plan.ts'
import { folded } from '../resources/collection.ts'
import { type Parameters, wrong } from './parameters.ts'
import { parts } from './pattern.ts'
import { type Filterable, type Operator, parameterOf, type Rules, reserved } from './rules.ts'
import { members } from './set.ts'

const bracketed = /^([^[\]]+)\[([^[\]]*)\]$/

/** What a parameter filters by; null where it is no filter. R55, R63. */
export function filterOf(name: string): { field: string; operator: string | null } | null {
  const [, field, operator] = bracketed.exec(name) ?? []
  if (field !== undefined && operator !== undefined) return { field, operator }
  return reserved.has(name) ? null : { field: name, operator: null }
}

/** The conditions of all filters; what is wrong with them is reported. */
export function conditions(given: Parameters, rules: Rules, faults: Violation[]): Condition[] {
  const { maxFilters } = rules.resource.settings.list
  const filters = given.filter(([name]) => filterOf(name) !== null)
  const [beyond] = filters.slice(maxFilters)
  if (beyond) {
    const message = `${filters.length} filters are given; at most ${maxFilters} can be at a time.`
    faults.push(wrong('unsupported-filter', beyond[0], message))
  }
  return filters.flatMap(([name, value]) => {
    const read = condition(name, value, rules)
    if ('message' in read) faults.push(read)
    else return 'column' in read ? [read] : read
    return []
  })
}

type Read = Condition | readonly Condition[] | Violation

function condition(name: string, value: string, rules: Rules): Read {
  const { field, operator } = filterOf(name) as { field: string; operator: string | null }
  const filter = rules.filters.get(field)
  if (!filter) return unfilterable(name, field, rules)
  if (operator === null) {
    return value.startsWith('in:(') ? inSet(name, value, filter, rules) : compared(name, 'eq', value, filter)
  }
  if (operator === 'in' || !filter.operators.includes(operator as Operator)) {
    const allowed = filter.operators.filter((one) => one !== 'in').map((one) => `${field}[${one}]`)
    const bare = parameterOf(field) === field ? [field] : []
    return wrong(
      'unsupported-operator',
      name,
      `${field} has no filter [${brief(operator)}]. Allowed: ${[...bare, ...allowed].join(', ')}.`,
    )
  }
  if (operator === 'null') return absence(name, value, filter)
  if (operator === 'like') return alike(name, value, filter)
  return compared(name, operator as 'eq', value, filter)
}

function unfilterable(name: string, field: string, { filters }: Rules): Violation {
  const message = `${field} cannot be filtered by. Filterable: ${[...filters.keys()].map(parameterOf).join(', ')}.`
  return wrong('unsupported-filter', name, message)
}

function compared(name: string, is: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte', text: string, filter: Filterable): Read {
  const read = filter.textual && is !== 'eq' && is !== 'ne' ? filter.raw(text) : filter.read(text)
  if (typeof read === 'string') return wrong('invalid-parameter-value', name, read)
  if (filter.conditions) return filter.conditions(is, read.value) ?? unanswerable(name)
  return { column: filter.column, is, value: filter.cell(read.value) }
}

/** R194: an older version may ask what the fields of today cannot answer. */
const unanswerable = (name: string): Violation =>
  wrong('unsupported-filter', name, `${name} cannot be answered any more in this version.`)

function inSet(name: string, text: string, { column, cell, read, conditions }: Filterable, { resource }: Rules): Read {
  const given = members(text, resource.settings.list.maxSetSize)
  if (typeof given === 'string') return wrong('invalid-parameter-value', name, given)
  const values = given.map(read)
  const bad = values.findIndex((one) => typeof one === 'string')
  if (bad >= 0) return wrong('invalid-parameter-value', name, `Member ${bad + 1} of the set is wrong: ${values[bad]}`)
  const found = values.map((one) => (one as { value: unknown }).value)
  if (conditions) return conditions('in', found) ?? unanswerable(name)
  return { column, is: 'in', values: [...new Set(found.map(cell))] }
}

function absence(name: string, text: string, { column, conditions }: Filterable): Read {
  if (conditions && (text === 'true' || text === 'false'))
    return conditions('null', text === 'true') ?? unanswerable(name)
  if (text === 'true') return { column, is: 'null' }
  if (text === 'false') return { column, is: 'present' }
  return wrong('invalid-parameter-value', name, `${name} must be true or false.`)
}

function alike(name: string, text: string, { column, fold, raw, conditions }: Filterable): Read {
  const read = raw(text)
  const found = typeof read === 'string' ? read : parts(text)
  if (typeof found === 'string') return wrong('invalid-parameter-value', name, found)
  if (conditions) return conditions('like', text) ?? unanswerable(name)
  return { column, is: 'like', parts: fold ? found.map(folded) : found }
}
