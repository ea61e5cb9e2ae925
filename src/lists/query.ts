/** Reads the parameters of a list into a Query: filter, then sort, then paginate. Part 4, list parameters. */
import type { Query } from '../flow/intent.ts'
import type { Resource } from '../resources/resource.ts'
import { noParameters } from './parameters.ts'

export function query(resource: Resource, target: string): Query {
  noParameters(target, resource.settings)
  const { list } = resource.settings
  return {
    where: [],
    order: [{ column: 'id', descending: false, nulls: 'last' }],
    window: { from: 'offset', offset: 0, limit: list.pageSize },
    total: list.pagination.totals === 'exact',
    asked: null,
  }
}
