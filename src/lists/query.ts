/** Reads the parameters of a list into a Query: filter, then sort, then paginate. Part 4, list parameters. */
import { invalidQuery, type Violation } from '../errors/problem.ts'
import type { World } from '../flow/call.ts'
import type { Query } from '../flow/intent.ts'
import type { Term } from '../flow/plan.ts'
import { conditions, filterOf } from './filter.ts'
import { nameViolations, type Parameters, parameters, pathOf } from './parameters.ts'
import { listParameters, type Rules, windowNames } from './rules.ts'
import { order } from './sort.ts'
import { placedAt, windowOf } from './window.ts'

/** As many texts are remembered, none of them longer. */
const [mostKnown, mostText] = [500, 500]

/** Reads what targets ask of a list. What the pages of a list have in common is read once, as they differ in their cursors. */
export function queries(rules: Rules): (target: string, world: World) => Query {
  const known = new Map<string, Query>()
  return (target, world) => {
    const at = cursorIn(target)
    const text = at === null ? target : at.text
    const before = known.get(text)
    const again = before && (at === null ? before : turnedTo(before, at.cursor, rules, world))
    if (again) return again
    const found = query(parameters(target), rules, listOf(target), world)
    const isHidden = at === null && found.given.some(([name]) => name === 'cursor') // it is escaped
    if (isHidden || text.length > mostText) return found
    if (known.size >= mostKnown) known.clear()
    known.set(text, found)
    return found
  }
}

/** The cursor of a target, and the target without it; null where there is none in plain letters. */
function cursorIn(target: string): { readonly cursor: string; readonly text: string } | null {
  const from = target.indexOf('?') + 1
  const name = target.startsWith('cursor=', from) ? from : target.indexOf('&cursor=', from) + 1
  if (from === 0 || name === 0) return null
  const start = name + 'cursor='.length
  const end = target.indexOf('&', start)
  const rest = end < 0 ? target.length : end
  const cursor = target.slice(start, rest)
  return /^[\w-]*$/.test(cursor) ? { cursor, text: target.slice(0, start) + target.slice(rest) } : null
}

/** The same list at another cursor; null where that is none of its own, which is told with all else that is wrong. */
function turnedTo(before: Query, cursor: string, rules: Rules, world: World): Query | null {
  const { list, bound, order, given, window } = before
  const faults: Violation[] = []
  const placed = placedAt(cursor, window.limit, { rules, list, bound, order, world }, faults)
  if (faults.length > 0) return null
  return { ...before, window: placed, given: given.map((one) => (one[0] === 'cursor' ? [one[0], cursor] : one)) }
}

/** The path names a list, owner included, however it is escaped. */
const listOf = (target: string): string => pathOf(target).split('/').filter(Boolean).map(decodeURIComponent).join('/')

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
