/** Handled list: the list that a handler asks for, with the filters and sorts that its resource declares. Part 3, handlers. */
import type { Violation } from '../errors/problem.ts'
import { Memo } from '../flow/memo.ts'
import type { ListRows } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import { filterConditions } from '../lists/filter.ts'
import { type ListRules, listRules } from '../lists/list-rules.ts'
import { readSort } from '../lists/sort.ts'
import { type ListParameter, sortParameters, whereParameters } from '../lists/where-parameters.ts'
import type { Resource } from '../resources/resource.ts'
import { HandlerFault, violationFault } from './handler-fault.ts'

/** The parameters of a list, as handlers write them. */
export interface HandledList {
  readonly parent?: string
  readonly where?: Readonly<Record<string, unknown>>
  readonly sort?: string
  readonly limit?: number
}

/** The most rows that a handler may list. */
const mostListed = 1000
/** How many lists are kept prepared, for all resources together. */
const mostPrepared = 500

/** The part of a list that its executions share: its filters, its order, and their compiled forms. */
type PreparedList = Pick<ListRows, 'where' | 'order' | 'prepared'>

/** Reads the lists that handlers ask for. A list with the same filters and order is prepared once. */
export class ListReader {
  readonly #resources: ReadonlyMap<string, Resource>
  readonly #rules = new Map<Resource, ListRules>()
  readonly #prepared = new Memo<string, PreparedList>(mostPrepared)

  constructor(resources: ReadonlyMap<string, Resource>) {
    this.#resources = resources
  }

  read(
    resource: Resource,
    { parent, where = {}, sort, limit = mostListed + 1, ...others }: HandledList,
    { account, time }: { readonly account: string | null; readonly time: number },
  ): ListRows {
    checkPlace(resource, parent)
    refuseUndefined(resource, where)
    for (const name of Object.keys(others))
      throw new HandlerFault(`It lists ${resource.name} with ${name}; allowed are parent, where, sort and limit.`)
    if (!Number.isInteger(limit) || limit < 1 || limit > mostListed + 1)
      throw new HandlerFault(`It lists ${resource.name} with limit ${limit}; allowed are 1 to ${mostListed}.`)
    return {
      ...{ do: 'list', collection: resource.name, time },
      ...this.#prepare(resource, whereParameters(where), sort),
      parent: parent === undefined ? null : { collection: resource.parent?.resource as string, id: parent },
      account: resource.collection.account === null ? null : account,
      window: { from: 'offset', offset: 0, limit },
      countTo: null,
      withPositions: false,
    }
  }

  #prepare(resource: Resource, filters: ListParameter[], sort: string | undefined): PreparedList {
    const name = JSON.stringify([resource.name, filters, sort])
    const existing = this.#prepared.get(name)
    if (existing) return existing
    const rules = this.#rulesOf(resource)
    const faults: Violation[] = []
    const where = filterConditions(filters, rules, faults)
    const order = readSort(new Map(sortParameters(sort)), rules, faults)
    if (faults.length > 0) throw violationFault(`It lists ${resource.name} wrongly`, faults)
    return this.#prepared.set(name, { where, order, prepared: new Prepared() })
  }

  #rulesOf(resource: Resource): ListRules {
    const rules = this.#rules.get(resource) ?? listRules(resource, this.#resources)
    this.#rules.set(resource, rules)
    return rules
  }
}

/** A filter that is undefined by mistake would be left out, and the handler would read rows that it did not want. */
function refuseUndefined({ name }: Resource, where: Readonly<Record<string, unknown>>): void {
  for (const [field, wanted] of Object.entries(where)) {
    const inside = typeof wanted === 'object' && wanted !== null ? Object.entries(wanted) : []
    const [part] = inside.find(([, value]) => value === undefined) ?? []
    if (wanted !== undefined && part === undefined) continue
    const place = part === undefined ? field : `${field}.${part}`
    throw new HandlerFault(
      `It lists ${name} where ${place} is undefined. Write null for items without a value, or leave ${place} out.`,
    )
  }
}

function checkPlace({ name, parent, collection }: Resource, parentId: string | undefined): void {
  if (parentId !== undefined && parent === null)
    throw new HandlerFault(`It lists ${name} of a parent, but ${name} has none; use where.`)
  if (parentId === undefined && collection.composite)
    throw new HandlerFault(`It lists all ${name}; these are listed below a ${parent?.resource}: write parent.`)
}
