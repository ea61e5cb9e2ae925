/** Turns the sort parameters into a total order. Part 4, sorting. */
import { brief } from '../errors/place.ts'
import type { Violation } from '../errors/problem.ts'
import type { Term } from '../flow/plan.ts'
import { oneOf } from '../resources/naming.ts'
import { wrong } from './parameters.ts'
import type { Key, Rules } from './rules.ts'

/** The order of a list; what is wrong with the parameters is reported. R56 to R59. */
export function order(given: ReadonlyMap<string, string>, rules: Rules, faults: Violation[]): readonly Term[] {
  const keys = keysOf(given, rules, faults)
  const direction = one(given, 'order', ['asc', 'desc'], faults)
  const nulls = one(given, 'nulls', ['first', 'last'], faults)
  const sorted = given.has('sort') || given.has('custom_sort')
  for (const name of ['order', 'nulls']) {
    if (given.has(name) && !sorted)
      faults.push(
        wrong(
          'invalid-parameter-value',
          name,
          `${name} needs something to sort by: add sort${name === 'order' ? ' or custom_sort' : ''}.`,
        ),
      )
  }
  if (given.has('nulls') && given.has('custom_sort')) {
    faults.push(
      wrong(
        'invalid-parameter-value',
        'nulls',
        'nulls goes with sort; a criterion of custom_sort places nulls by itself.',
      ),
    )
  }
  return total(keys, direction === 'desc', nulls as 'first' | 'last' | undefined, rules)
}

function keysOf(given: ReadonlyMap<string, string>, rules: Rules, faults: Violation[]): readonly Key[] {
  const [sort, custom] = [given.get('sort'), given.get('custom_sort')]
  const found = sort === undefined ? undefined : sortable(sort, rules, faults)
  const keys = custom === undefined ? undefined : criterion(custom, rules, faults)
  if (sort !== undefined && custom !== undefined)
    faults.push(wrong('unsupported-sort', 'custom_sort', 'custom_sort and sort exclude each other; give one of them.'))
  return found ?? keys ?? rules.usual
}

function sortable(sort: string, { sorts }: Rules, faults: Violation[]): readonly Key[] | undefined {
  const names = [...sorts.keys()].join(', ')
  if (!sorts.has(sort))
    faults.push(wrong('unsupported-sort', 'sort', `\`${brief(sort)}\` cannot be sorted by. Sortable: ${names}.`))
  return sorts.get(sort)
}

function criterion(custom: string, { customs }: Rules, faults: Violation[]): readonly Key[] | undefined {
  const names = [...customs.keys()]
  const allowed = names.length === 0 ? 'There are none here; use sort.' : `Criteria: ${names.join(', ')}.`
  if (!customs.has(custom))
    faults.push(
      wrong('unsupported-sort', 'custom_sort', `\`${brief(custom)}\` is not a criterion of this list. ${allowed}`),
    )
  return customs.get(custom)
}

function one(
  given: ReadonlyMap<string, string>,
  name: string,
  allowed: readonly string[],
  faults: Violation[],
): string | undefined {
  const value = given.get(name)
  if (value !== undefined && !allowed.includes(value))
    faults.push(wrong('invalid-parameter-value', name, `${name} must be ${oneOf(allowed)}.`))
  return value
}

/** Every order ends in the identifier, in the direction of its first key. R57, R59. */
function total(
  keys: readonly Key[],
  reversed: boolean,
  nulls: 'first' | 'last' | undefined,
  { resource }: Rules,
): readonly Term[] {
  const { nullsDefault } = resource.settings.list
  const terms = keys.map(({ column, descending, nullable, reach }): Term => {
    const down = descending !== reversed
    const usual = nullsDefault === 'sql' ? (down ? 'first' : 'last') : nullsDefault
    const term: Term = { column, descending: down, nulls: nullable ? (nulls ?? usual) : 'none' }
    return reach ? { ...term, reach } : term
  })
  const unique = terms.findIndex(({ column }) => column === 'id')
  if (unique >= 0) return terms.slice(0, unique + 1)
  return [...terms, { column: 'id', descending: terms[0]?.descending ?? false, nulls: 'none' }]
}
