/** The summaries of the services with lists, and the parameters of lists and summaries. */
import type { Ask } from './listed-services.ts'
import type { Filter } from './model.ts'

const numbers = ['count', 'huge', 'cost', 'mass', 'spot.depth'] as const
/** Groups by every kind of field, and values of every kind. */
export const summaries = {
  all: { sum: numbers, min: [...numbers, 'day'], max: [...numbers, 'day'], average: numbers },
  byFlag: { group: ['flag'], sum: ['mass', 'huge'], max: ['day'], average: ['mass', 'count'] },
  byWords: { group: ['word', 'name'] },
  byDays: { group: ['day', { month: 'day' }, { year: 'day' }], sum: ['cost'] },
  byNumbers: { group: ['huge', 'cost', 'mass', 'spot.depth'], min: ['huge'] },
  byTime: { group: [{ day: 'createdAt' }], max: ['createdAt'] },
} as const

function parameterOf([field, operator, value]: Filter): [name: string, value: string] {
  if (operator !== 'in') return [`${field}[${operator}]`, value as string]
  return [field, `in:(${(value as string[]).map((one) => `"${one.replace(/["\\]/g, '\\$&')}"`).join(',')})`]
}

/** The filters of a request, as parameters. */
export function filtersOf(ask: Ask): URLSearchParams {
  const query = new URLSearchParams()
  for (const filter of ask.filters) query.set(...parameterOf(filter))
  if (ask.any) {
    const escaped = (text: string) => text.replace(/[%;()]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
    query.set('or', `(${ask.any.map((filter) => parameterOf(filter).map(escaped).join('=')).join(';')})`)
  }
  if (ask.search) query.set('search', ask.search.join(' '))
  return query
}
