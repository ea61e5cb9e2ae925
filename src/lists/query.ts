/** Reads the parameters of a list into a Query: filter, then sort, then paginate. Part 4, list parameters. */
import { invalidQuery, type Violation } from '../errors/problem.ts'
import type { World } from '../flow/call.ts'
import type { Query } from '../flow/intent.ts'
import { conditions, filterOf } from './filter.ts'
import { nameViolations, type Parameters } from './parameters.ts'
import { listParameters, type Rules } from './rules.ts'
import { order } from './sort.ts'
import { windowOf } from './window.ts'

const windowParameters: readonly string[] = ['limit', 'offset', 'page', 'page_size', 'cursor']

/** What is asked of a list, or all that is wrong with it. `list` names the very list, owner included. R53, R154. */
export function query(given: Parameters, rules: Rules, list: string, world: World): Query {
  const { settings } = rules.resource
  const ignored = (name: string) =>
    settings.query.ignored.includes(name) || (settings.query.unknown === 'ignore' && !isKnown(name, rules))
  const faults = nameViolations(given, () => true, listParameters, settings)
  const asked = given.filter(([name], i) => !ignored(name) && given.findIndex(([other]) => other === name) === i)
  const values = new Map(asked)
  const where = conditions(asked, rules, faults)
  const terms = order(values, rules, faults)
  const kept = asked.filter(([name]) => !windowParameters.includes(name))
  const bound = boundTo(kept)
  const { style, window } = windowOf(values, { rules, list, bound, order: terms, world }, faults)
  if (faults.length > 0) throw invalidQuery(inOrder(faults, given))
  const { totals, countLimit } = settings.list.pagination
  const counted = totals === 'exact' && style !== 'cursor'
  return {
    where,
    order: terms,
    window,
    style,
    bound,
    kept,
    countTo: counted ? (countLimit ?? Number.MAX_SAFE_INTEGER) : null,
  }
}

function isKnown(name: string, { filters, fields }: Rules): boolean {
  const filter = filterOf(name)
  return filter === null || filters.has(filter.field) || fields.has(filter.field)
}

/** Filters and sort in one form, whatever order they were given in. R83. */
const boundTo = (kept: Parameters): string =>
  kept.length === 0 ? '' : JSON.stringify(kept.toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** Violations in the order of the parameters. */
function inOrder(faults: readonly Violation[], given: Parameters): Violation[] {
  const place = ({ name }: Violation) => given.findIndex(([one]) => one === name)
  return faults.toSorted((a, b) => place(a) - place(b))
}
