/** Filters: turns filter parameters into conditions. Part 4, filtering. */
import { shortName } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import type { Condition } from '../flow/plan.ts'
import { folded } from '../rows/collection.ts'
import { readAlternatives } from './alternatives.ts'
import { likePatternParts } from './like-pattern.ts'
import { type FilterRule, filterParameter, type ListRules, type Operator, reservedNames } from './list-rules.ts'
import { type QueryParameters, queryViolation } from './query-string.ts'
import { setMembers } from './set.ts'

const bracketPattern = /^([^[\]]+)\[([^[\]]*)\]$/

/** The field and the operator of a filter parameter; null if the parameter is not a filter. R55, R63. */
export function parseFilterName(name: string): { field: string; operator: string | null } | null {
  const [, field, operator] = bracketPattern.exec(name) ?? []
  if (field !== undefined && operator !== undefined) return { field, operator }
  return reservedNames.has(name) ? null : { field: name, operator: null }
}

/** The conditions of all filters. Adds their mistakes to `faults`. */
export function filterConditions(parameters: QueryParameters, rules: ListRules, faults: Violation[]): Condition[] {
  const { maxFilters } = rules.resource.settings.list
  const filters = parameters.filter(([name]) => parseFilterName(name) !== null)
  const any = parameters.find(([name]) => name === 'or')
  const alternatives = any ? readAlternatives(any[1]) : []
  const count = filters.length + alternatives.length
  const beyond = filters[maxFilters] ?? any
  if (beyond && typeof alternatives !== 'string' && count > maxFilters) {
    const message = `${count} filters are given; at most ${maxFilters} are allowed.`
    faults.push(queryViolation('unsupported-filter', beyond[0], message))
  }
  const all = filters.flatMap(([name, value]) => {
    const read = readFilter(name, value, rules)
    if (!('message' in read)) return read
    faults.push(read)
    return []
  })
  if (!any) return all
  if (typeof alternatives !== 'string') return [...all, anyOf(alternatives, rules, faults)]
  faults.push(queryViolation('invalid-parameter-value', 'or', alternatives))
  return all
}

/** The condition that at least one of the filters of `or` is met. The column of the condition has no meaning. R234. */
function anyOf(alternatives: QueryParameters, rules: ListRules, faults: Violation[]): Condition {
  const of = alternatives.map(([name, value]) => {
    const filter = parseFilterName(name)
    const read = filter ? readFilter(name, value, rules) : unknownFilter(name, name, rules)
    if (!('message' in read)) return [read].flat()
    const { type, message } = read
    const field = shortName(filter?.field ?? name)
    faults.push(queryViolation(type, 'or', message.includes(field) ? message : `${field}: ${message}`))
    return []
  })
  return { column: 'id', is: 'any', of }
}

type FilterResult = Condition | readonly Condition[] | Violation

function readFilter(name: string, value: string, rules: ListRules): FilterResult {
  const { field, operator } = parseFilterName(name) as { field: string; operator: string | null }
  const filter = rules.filters.get(field)
  if (!filter) return unknownFilter(name, field, rules)
  if (operator === null) {
    return value.startsWith('in:(') ? readSet(name, value, filter, rules) : readComparison(name, 'eq', value, filter)
  }
  if (operator === 'in' || !filter.operators.includes(operator as Operator)) {
    const allowed = filter.operators.filter((one) => one !== 'in').map((one) => `${field}[${one}]`)
    const bare = filterParameter(field) === field ? [field] : []
    return queryViolation(
      'unsupported-operator',
      name,
      `${field} has no filter [${shortName(operator)}]. Allowed: ${[...bare, ...allowed].join(', ')}.`,
    )
  }
  if (operator === 'null') return readNullFilter(name, value, filter)
  if (operator === 'like') return readLikeFilter(name, value, filter)
  return readComparison(name, operator as 'eq', value, filter)
}

function unknownFilter(name: string, field: string, { filters }: ListRules): Violation {
  const message = `${shortName(field)} cannot be filtered by. Filterable: ${[...filters.keys()].map(filterParameter).join(', ')}.`
  return queryViolation('unsupported-filter', name, message)
}

function readComparison(
  name: string,
  is: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte',
  text: string,
  filter: FilterRule,
): FilterResult {
  const read = filter.textual && is !== 'eq' && is !== 'ne' ? filter.raw(text) : filter.read(text)
  if (typeof read === 'string') return queryViolation('invalid-parameter-value', name, read)
  if (filter.conditions) return filter.conditions(is, read.value) ?? unanswerableFilter(name)
  return { column: filter.column, is, value: filter.cell(read.value) }
}

/** R194: the current fields cannot answer every filter of an older version. */
const unanswerableFilter = (name: string): Violation =>
  queryViolation(
    'unsupported-filter',
    name,
    `${name} is no longer supported in this version. Leave it out, or use a later version.`,
  )

function readSet(
  name: string,
  text: string,
  { column, cell, read, conditions }: FilterRule,
  { resource }: ListRules,
): FilterResult {
  const members = setMembers(text, resource.settings.list.maxSetSize)
  if (typeof members === 'string') return queryViolation('invalid-parameter-value', name, members)
  const values = members.map(read)
  const bad = values.findIndex((one) => typeof one === 'string')
  if (bad >= 0)
    return queryViolation('invalid-parameter-value', name, `Member ${bad + 1} of the set is wrong: ${values[bad]}`)
  const sound = values.map((one) => (one as { value: unknown }).value)
  if (conditions) return conditions('in', sound) ?? unanswerableFilter(name)
  return { column, is: 'in', values: [...new Set(sound.map(cell))] }
}

function readNullFilter(name: string, text: string, { column, conditions }: FilterRule): FilterResult {
  if (conditions && (text === 'true' || text === 'false'))
    return conditions('null', text === 'true') ?? unanswerableFilter(name)
  if (text === 'true') return { column, is: 'null' }
  if (text === 'false') return { column, is: 'present' }
  return queryViolation('invalid-parameter-value', name, `${name} must be true or false.`)
}

function readLikeFilter(name: string, text: string, { column, fold, raw, conditions }: FilterRule): FilterResult {
  const read = raw(text)
  const parts = typeof read === 'string' ? read : likePatternParts(text)
  if (typeof parts === 'string') return queryViolation('invalid-parameter-value', name, parts)
  if (conditions) return conditions('like', text) ?? unanswerableFilter(name)
  return { column, is: 'like', parts: fold ? parts.map(folded) : parts }
}
