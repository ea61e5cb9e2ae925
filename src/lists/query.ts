/** Reads the parameters of a list into a Query: filter, then sort, then paginate. Part 4, list parameters. */
import { invalidQuery, type Violation } from '../errors/problem.ts'
import type { World } from '../flow/call.ts'
import type { Query } from '../flow/intent.ts'
import type { Term } from '../flow/plan.ts'
import { conditions, filterOf } from './filter.ts'
import { nameViolations, type Parameters } from './parameters.ts'
import { listParameters, type Rules, windowNames } from './rules.ts'
import { order } from './sort.ts'
import { windowOf } from './window.ts'

/** What is asked of a list, or all that is wrong with it. `list` names the very list, owner included. R53, R154. */
export function query(given: Parameters, rules: Rules, list: string, world: World): Query {
  const { settings } = rules.resource
  const faults = nameViolations(given, (name) => isKnown(name, rules), rules.accepted, settings)
  const values = new Map<string, string>()
  for (const [name, value] of given) if (isKnown(name, rules) && !values.has(name)) values.set(name, value)
  const asked = [...values]
  const where = conditions(asked, rules, faults)
  const terms = order(values, rules, faults)
  const bound = boundTo(asked, terms, rules)
  const { style, window } = windowOf(values, { rules, list, bound, order: terms, world }, faults)
  if (faults.length > 0) throw invalidQuery(inOrder(faults, given))
  const { totals, countLimit } = settings.list.pagination
  const counted = totals === 'exact' && style !== 'cursor'
  return {
    where,
    order: terms,
    window,
    style,
    list,
    bound,
    given,
    countTo: counted ? (countLimit ?? Number.MAX_SAFE_INTEGER) : null,
  }
}

function isKnown(name: string, { fields, resource }: Rules): boolean {
  const filter = filterOf(name)
  if (name === 'version') return resource.settings.versions.carriers.includes('query')
  return filter === null ? listParameters.includes(name) : fields.has(filter.field)
}

/** Filters and sort in one form, whatever order they were given in, and what they mean today, as declarations change. R83. */
function boundTo(asked: Parameters, terms: readonly Term[], { columns, major }: Rules): string {
  const kept = asked
    .filter(([name]) => name !== 'version' && !windowNames.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([
    major,
    kept,
    terms.map(({ column, descending, nulls }) => [column, descending, nulls, columns.get(column)?.form]),
  ])
}

/** Violations in the order of the parameters. */
function inOrder(faults: readonly Violation[], given: Parameters): Violation[] {
  const places = new Map(given.map(([name], i) => [name, i] as const).reverse())
  const place = ({ name }: Violation) => places.get(name as string) ?? 0
  return faults.toSorted((a, b) => place(a) - place(b))
}
