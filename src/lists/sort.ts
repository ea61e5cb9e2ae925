/** Sort: turns the sort parameters into a total order. Part 4, sorting. */
import { shortName } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import { byRelevance, type Term } from '../flow/plan.ts'
import { listInWords } from '../formats/naming.ts'
import type { ListRules, SortKey } from './list-rules.ts'
import { queryViolation } from './query-string.ts'

/** The order of a list. Adds mistakes of the parameters to `faults`. R56 to R59. */
export function readSort(values: ReadonlyMap<string, string>, rules: ListRules, faults: Violation[]): readonly Term[] {
  const keys = sortKeysOf(values, rules, faults)
  const direction = readChoice(values, 'order', ['asc', 'desc'], faults)
  const nulls = readChoice(values, 'nulls', ['first', 'last'], faults)
  const sorted = values.has('sort') || values.has('custom_sort')
  for (const name of ['order', 'nulls']) {
    if (values.has(name) && !sorted)
      faults.push(
        queryViolation(
          'invalid-parameter-value',
          name,
          `${name} needs something to sort by: add sort${name === 'order' ? ' or custom_sort' : ''}.`,
        ),
      )
  }
  if (values.has('nulls') && values.has('custom_sort')) {
    faults.push(
      queryViolation(
        'invalid-parameter-value',
        'nulls',
        'nulls needs sort; a criterion of custom_sort has its own place for nulls.',
      ),
    )
  }
  const order = totalOrder(keys, direction === 'desc', nulls as 'first' | 'last' | undefined, rules)
  return values.has('search') && !sorted ? relevanceOrder : order
}

/** The order of a search without a sort. R59, R235. */
const relevanceOrder: readonly Term[] = [byRelevance, { column: 'id', descending: false, nulls: 'none' }]

function sortKeysOf(values: ReadonlyMap<string, string>, rules: ListRules, faults: Violation[]): readonly SortKey[] {
  const [sort, custom] = [values.get('sort'), values.get('custom_sort')]
  const order = sort === undefined ? undefined : sortByField(sort, rules, faults)
  const keys = custom === undefined ? undefined : sortByCriterion(custom, rules, faults)
  if (sort !== undefined && custom !== undefined)
    faults.push(
      queryViolation('unsupported-sort', 'custom_sort', 'custom_sort and sort exclude each other; give one of them.'),
    )
  return order ?? keys ?? rules.defaultOrder
}

function sortByField(sort: string, { sorts }: ListRules, faults: Violation[]): readonly SortKey[] | undefined {
  const names = [...sorts.keys()].join(', ')
  if (!sorts.has(sort))
    faults.push(
      queryViolation('unsupported-sort', 'sort', `\`${shortName(sort)}\` cannot be sorted by. Sortable: ${names}.`),
    )
  return sorts.get(sort)
}

function sortByCriterion(
  custom: string,
  { customSorts }: ListRules,
  faults: Violation[],
): readonly SortKey[] | undefined {
  const names = [...customSorts.keys()]
  const allowed = names.length === 0 ? 'There are none here; use sort.' : `Criteria: ${names.join(', ')}.`
  if (!customSorts.has(custom))
    faults.push(
      queryViolation(
        'unsupported-sort',
        'custom_sort',
        `\`${shortName(custom)}\` is not a criterion of this list. ${allowed}`,
      ),
    )
  return customSorts.get(custom)
}

function readChoice(
  values: ReadonlyMap<string, string>,
  name: string,
  allowed: readonly string[],
  faults: Violation[],
): string | undefined {
  const value = values.get(name)
  if (value !== undefined && !allowed.includes(value))
    faults.push(queryViolation('invalid-parameter-value', name, `${name} must be ${listInWords(allowed)}.`))
  return value
}

/** Every order ends in the id, in the direction of its first key. R57, R59. */
function totalOrder(
  keys: readonly SortKey[],
  reversed: boolean,
  nulls: 'first' | 'last' | undefined,
  { resource }: ListRules,
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
