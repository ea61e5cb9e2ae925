/** List query: reads the parameters of a list: filter, then sort, then paginate. Part 4, list parameters. */
import { invalidQuery, type Violation } from '../errors/problem.ts'
import type { ListQuery } from '../flow/intent.ts'
import { Memo } from '../flow/memo.ts'
import type { Condition, Term } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { filterConditions, parseFilterName } from './filter.ts'
import { type ListRules, listParameterNames, windowParameters } from './list-rules.ts'
import { nameViolations, parametersOf, type QueryParameters, targetPath } from './query-string.ts'
import { searchConditions } from './search.ts'
import { readSort } from './sort.ts'
import { readWindow, windowAtCursor } from './window.ts'

/** Limits of the cache: the number of its targets, and the length of each. */
const [mostKnown, mostText] = [500, 500]

/**
 * Reads the query of a target, and caches it without its cursor, so that all pages of a walk share one entry. It is cached at
 * its second request: queries whose values always differ would only fill the cache, with their compiled statements.
 */
export function listQueryReader(rules: ListRules): (target: string, world: ServiceWorld) => ListQuery {
  const queries = new Memo<string, ListQuery>(mostKnown)
  const once = new Memo<string, true>(mostKnown)
  return (target, world) => {
    const at = splitCursor(target)
    const text = at === null ? target : at.text
    const before = queries.get(text)
    const again = before && (at === null ? before : atCursor(before, at.cursor, rules, world))
    if (again) return again
    const query = readListQuery(parametersOf(target), rules, listName(target), world)
    const isHidden = at === null && query.parameters.some(([name]) => name === 'cursor') // percent-encoded
    if (isHidden || text.length > mostText) return query
    if (before) return query
    if (once.get(text)) return queries.set(text, query)
    once.set(text, true)
    return query
  }
}

/** The cursor of a target, and the target without it; null if there is no cursor, or a percent-encoded one. */
function splitCursor(target: string): { readonly cursor: string; readonly text: string } | null {
  const from = target.indexOf('?') + 1
  const name = target.startsWith('cursor=', from) ? from : target.indexOf('&cursor=', from) + 1
  if (from === 0 || name === 0) return null
  const start = name + 'cursor='.length
  const end = target.indexOf('&', start)
  const rest = end < 0 ? target.length : end
  const cursor = target.slice(start, rest)
  return /^[\w-]*$/.test(cursor) ? { cursor, text: target.slice(0, start) + target.slice(rest) } : null
}

/** The cached query at another cursor; null if that is invalid, so that the caller reads and reports everything. */
function atCursor(before: ListQuery, cursor: string, rules: ListRules, world: ServiceWorld): ListQuery | null {
  const { list, bound, order, parameters, window } = before
  const faults: Violation[] = []
  const placed = windowAtCursor(cursor, window.limit, { rules, list, bound, order, world }, faults)
  if (faults.length > 0) return null
  return {
    ...before,
    window: placed,
    parameters: parameters.map((one) => (one[0] === 'cursor' ? [one[0], cursor] : one)),
  }
}

/** The name of a list, with its parent: the decoded path, so that percent-encoding makes no difference. */
const listName = (target: string): string =>
  targetPath(target).split('/').filter(Boolean).map(decodeURIComponent).join('/')

/** The query of a list; throws all its mistakes at once. `list` is its name, with its parent. R53, R154. */
export function readListQuery(
  parameters: QueryParameters,
  rules: ListRules,
  list: string,
  world: ServiceWorld,
): ListQuery {
  const { settings } = rules.resource
  const { parameterNames } = rules
  const isKnown = (name: string) => listParameterNames.includes(name) || parameterNames.includes(name)
  const { values, where, faults } = readConditions(parameters, rules, isKnown, parameterNames)
  const terms = readSort(values, rules, faults)
  const bound = cursorBound([...values], terms, rules)
  const fields = rules.readFields(values.get('fields'), faults)
  const embed = rules.readEmbed(values.get('embed'), faults)
  const { style, window } = readWindow(values, { rules, list, bound, order: terms, world }, faults)
  if (faults.length > 0) throw invalidQuery(inParameterOrder(faults, parameters))
  const { totals, countLimit } = settings.list.pagination
  const counted = totals === 'exact' && style !== 'cursor'
  return {
    where,
    fields,
    embed,
    order: terms,
    window,
    style,
    list,
    bound,
    parameters,
    prepared: new Prepared(),
    countTo: counted ? (countLimit ?? Number.MAX_SAFE_INTEGER) : null,
  }
}

/**
 * Reads the filters, the search and the values of all known parameters; `isKnown` accepts the names that are not filters.
 * Adds a fault for each mistake.
 */
export function readConditions(
  parameters: QueryParameters,
  rules: ListRules,
  isKnown: (name: string) => boolean,
  accepted: readonly string[],
): {
  readonly values: ReadonlyMap<string, string>
  readonly where: readonly Condition[]
  readonly faults: Violation[]
} {
  const { fields, resource } = rules
  const isParameter = (name: string): boolean => {
    const filter = parseFilterName(name)
    if (name === 'version') return resource.settings.versions.carriers.includes('query')
    return filter === null ? isKnown(name) : fields.has(filter.field)
  }
  const faults = nameViolations(parameters, isParameter, accepted, resource.settings)
  const values = new Map<string, string>()
  for (const [name, value] of parameters) if (isParameter(name) && !values.has(name)) values.set(name, value)
  const where = [...filterConditions([...values], rules, faults), ...searchConditions(values.get('search'), faults)]
  return { values, where, faults }
}

/** Filters and sort in a canonical order, with the forms of the columns, which a new declaration may change. R83. */
function cursorBound(parameters: QueryParameters, terms: readonly Term[], { columns, major }: ListRules): string {
  const kept = parameters
    .filter(([name]) => name !== 'version' && !windowParameters.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([
    major,
    kept,
    terms.map(({ column, descending, nulls }) => [column, descending, nulls, columns.get(column)?.form]),
  ])
}

/** Violations in the order of the parameters. */
export function inParameterOrder(faults: readonly Violation[], parameters: QueryParameters): Violation[] {
  const places = new Map(parameters.map(([name], i) => [name, i] as const).reverse())
  const place = ({ name }: Violation) => places.get(name as string) ?? 0
  return faults.toSorted((a, b) => place(a) - place(b))
}
