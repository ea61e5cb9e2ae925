/** Offer: the filters and sorts of a list for its description. Those of older versions are tried out. Part 4, filtering. */

import type { Field } from '../fields/field.ts'
import type { ListOffer } from '../flow/route.ts'
import { fieldByPath } from '../resources/resource.ts'
import { type FilterRule, type ListRules, type Operator, otherParameters } from './list-rules.ts'

export const listOffer = ({ filters, sorts, customSorts, resource }: ListRules): ListOffer => ({
  filters: [...filters].map(([field, filter]) => ({
    field,
    operators: filter.operators.filter((operator) => isAnswered(filter, operator, fieldByPath(resource.byName, field))),
  })),
  sorts: [...sorts.keys()],
  customs: [...customSorts.keys()],
  parameters: [...otherParameters(resource)],
})

/** A sample text for each kind of field. */
const sampleTexts = [
  ...['a', '1', 'true', '2026-01-31', '2026-01-31T09:30:00Z', 'P1D', '2026-01-31/P1D', 'IT', 'EUR'],
  ...['ann@example.com', 'https://example.com'],
]

/** Whether an operator can be translated to current columns; assumed if no sample fits or the translation throws. R194. */
function isAnswered({ conditions, read, raw, textual }: FilterRule, operator: Operator, field?: Field): boolean {
  if (conditions === null) return true
  const compare = textual && !['eq', 'ne', 'in'].includes(operator) ? raw : read
  const sample = [...(field?.values ?? []), ...sampleTexts].map(compare).find((one) => typeof one !== 'string')
  if (operator !== 'null' && sample === undefined) return true
  const value = operator === 'null' ? true : sample?.value
  try {
    return conditions(operator, operator === 'in' ? [value] : value) !== null
  } catch {
    return true
  }
}
