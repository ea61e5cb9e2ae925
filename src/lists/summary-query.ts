/** Summary query: reads the parameters of a summary, which are the filters of its list. Part 4, filtering. R236. */
import { invalidQuery } from '../errors/problem.ts'
import type { ListQuery } from '../flow/intent.ts'
import type { ListRows } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import type { ListOffer } from '../flow/route.ts'
import { inParameterOrder, readConditions } from './list-query.ts'
import { filterParameter, type ListRules, otherParameters } from './list-rules.ts'
import { listOffer } from './offer.ts'
import { parametersOf } from './query-string.ts'

/** The parameters that choose rows, apart from the filters. */
const filtering = ['or', 'search']

/** Makes the reader of the query of a summary, whose rows have the order of the given columns. Throws all mistakes at once. */
export function summaryQueryReader(rules: ListRules, order: ListRows['order'], most: number) {
  const others = [...otherParameters(rules.resource)].filter((name) => filtering.includes(name))
  const accepted = [...[...rules.filters.keys()].map(filterParameter), ...others]
  return (target: string): ListQuery => {
    const parameters = parametersOf(target)
    const { where, faults } = readConditions(parameters, rules, (name) => others.includes(name), accepted)
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
