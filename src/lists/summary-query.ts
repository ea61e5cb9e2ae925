/** Summary query: reads the parameters of a summary, which are the filters of its list. Part 4, filtering. R236. */
import { invalidQuery } from '../errors/problem.ts'
import type { ListQuery } from '../flow/intent.ts'
import type { ListRows } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import type { ListOffer } from '../flow/route.ts'
import { filterConditions, parseFilterName } from './filter.ts'
import { inParameterOrder } from './list-query.ts'
import { filterParameter, type ListRules, otherParameters } from './list-rules.ts'
import { listOffer } from './offer.ts'
import { nameViolations, parametersOf } from './query-string.ts'
import { searchConditions } from './search.ts'

/** The parameters that choose rows, apart from the filters. */
const filtering = ['or', 'search']

/** Makes the reader of the query of a summary, whose rows have the order of the given columns. Throws all mistakes at once. */
export function summaryQueryReader(rules: ListRules, order: ListRows['order'], most: number) {
  const { settings } = rules.resource
  const others = [...otherParameters(rules.resource)].filter((name) => filtering.includes(name))
  const accepted = [...[...rules.filters.keys()].map(filterParameter), ...others]
  const isKnown = (name: string): boolean => {
    const filter = parseFilterName(name)
    if (name === 'version') return settings.versions.carriers.includes('query')
    return filter === null ? others.includes(name) : rules.fields.has(filter.field)
  }
  return (target: string): ListQuery => {
    const parameters = parametersOf(target)
    const faults = nameViolations(parameters, isKnown, accepted, settings)
    const known = new Map(parameters.filter(([name]) => isKnown(name)).toReversed())
    const words = searchConditions(known.get('search'), faults)
    const where = [...filterConditions([...known].toReversed(), rules, faults), ...words]
    if (faults.length > 0) throw invalidQuery(inParameterOrder(faults, parameters))
    const window = { from: 'offset', offset: 0, limit: most } as const
    return {
      ...{ where, order, window, parameters, fields: null, embed: null, countTo: null, style: 'offset' },
      ...{ list: '', bound: '', prepared: new Prepared() },
    }
  }
}

/** The parameters of a summary, for its description. */
export const summaryOffer = (rules: ListRules): ListOffer => {
  const { filters, parameters } = listOffer(rules)
  return { filters, sorts: [], customs: [], parameters: parameters.filter((name) => filtering.includes(name)) }
}
