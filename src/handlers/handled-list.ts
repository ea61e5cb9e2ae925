/** Handled list: the list that a handler asks for, with the filters and sorts that its resource declares. Part 3, handlers. */
import type { Violation } from '../errors/problem.ts'
import type { ListRows } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import { filterConditions } from '../lists/filter.ts'
import { listRules } from '../lists/list-rules.ts'
import { readOrder } from '../lists/sort.ts'
import type { Resource } from '../resources/resource.ts'
import { HandlerFault } from './handler-fault.ts'

/** The parameters of a list, as handlers write them. */
export interface HandledList {
  readonly parent?: string
  readonly where?: Readonly<Record<string, unknown>>
  readonly sort?: string
  readonly limit?: number
}

/** The most rows that a handler may list. */
const mostListed = 1000

/** A minus sign before the field sorts in descending order. */
export function listOf(
  resource: Resource,
  { parent, where = {}, sort, limit = mostListed + 1 }: HandledList,
  { resources, account, time }: { resources: ReadonlyMap<string, Resource>; account: string | null; time: number },
): ListRows {
  if (!Number.isInteger(limit) || limit < 1 || limit > mostListed + 1)
    throw new HandlerFault(`It lists ${resource.name} with limit ${limit}; allowed are 1 to ${mostListed}.`)
  if (parent !== undefined && resource.parent === null)
    throw new HandlerFault(`It lists ${resource.name} of a parent, but ${resource.name} has none; use where.`)
  if (parent === undefined && resource.collection.composite)
    throw new HandlerFault(
      `It lists all ${resource.name}; these are listed below a ${resource.parent?.resource}: write parent.`,
    )
  const rules = listRules(resource, resources)
  const faults: Violation[] = []
  const conditions = filterConditions(Object.entries(where).flatMap(parametersOf), rules, faults)
  const descending = sort?.startsWith('-') === true
  const order = readOrder(
    new Map(
      sort === undefined
        ? []
        : [
            ['sort', sort.slice(descending ? 1 : 0)],
            ['order', descending ? 'desc' : 'asc'],
          ],
    ),
    rules,
    faults,
  )
  if (faults.length > 0)
    throw new HandlerFault(`It lists ${resource.name} wrongly: ${faults.map(({ message }) => message).join(' ')}`)
  return {
    ...{ do: 'list', collection: resource.name, time, where: conditions, order, prepared: new Prepared() },
    parent: parent === undefined ? null : { collection: resource.parent?.resource as string, id: parent },
    account: resource.collection.account === null ? null : account,
    window: { from: 'offset', offset: 0, limit },
    countTo: null,
    withPositions: false,
  }
}

/** A filter as parameters of a URL: a value, several of which one has to match, or an object of operators. */
function parametersOf([field, wanted]: readonly [field: string, wanted: unknown]): [name: string, value: string][] {
  if (wanted === undefined) return []
  if (wanted === null) return [[`${field}[null]`, 'true']]
  if (Array.isArray(wanted)) return [[field, `in:(${wanted.map(quotedMember).join(',')})`]]
  if (typeof wanted !== 'object') return [[`${field}[eq]`, String(wanted)]]
  return Object.entries(wanted).flatMap(([operator, value]) =>
    value === undefined ? [] : [[`${field}[${operator}]`, String(value)]],
  )
}

const quotedMember = (value: unknown): string => `"${String(value).replace(/["\\]/g, '\\$&')}"`
