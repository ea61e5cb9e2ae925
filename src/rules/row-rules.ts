/** Row rules: access rules whose alternatives allow a part of the items, made ready for callers. Part 5, authentication. */

import { type Caller, permits } from '../flow/caller.ts'
import type { Condition, RowTest } from '../flow/plan.ts'
import type { RowRule } from '../flow/route.ts'
import {
  dependsOnRows,
  type Operation,
  type RowAlternatives,
  type RowConditions,
  rowAlternatives,
  ruleFor,
  scopesIn,
} from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { deliveryResource, endpointResource, isWebhookResource } from '../resources/service-fields.ts'
import { caller as callerMarker } from '../resources/states.ts'
import { type Cell, type Column, cellIn } from '../rows/collection.ts'
import { TestedRows } from './visible-rows.ts'

/** The row rule of an operation on items of a resource as it is stored; undefined if its rule is the same for all items. */
export const rowRuleOf = (resource: Resource, operation: Operation): RowRule | undefined =>
  rowRuleWith(resource, rowAlternatives(resource.access, operation))

export const rowRuleWith = (resource: Resource, alternatives: RowAlternatives | undefined): RowRule | undefined =>
  alternatives && { resource, alternatives }

/** Whether the access to items of a resource depends on the item. */
export const hasRowRules = ({ access }: Pick<Resource, 'access'>): boolean => dependsOnRows(access)

/** The scope that allows an operation on all items; undefined if there is none. */
export const scopeForAllRows = ({ access }: Pick<Resource, 'access'>, operation: Operation): string | undefined => {
  const alternatives = rowAlternatives(access, operation)
  return alternatives ? scopesIn(alternatives)[0] : ruleFor(access, operation)
}

/** The rows that a rule allows a caller; null if it allows all of them. */
export function rowTest(
  { resource: { collection }, alternatives }: RowRule,
  { id, scopes, unrestricted }: Pick<Caller, 'id' | 'scopes' | 'unrestricted'>,
): RowTest | null {
  if (unrestricted || alternatives.some((one) => 'scope' in one && scopes.has(one.scope))) return null
  const tests = alternatives.flatMap((one) =>
    'where' in one
      ? [Object.entries(one.where).map(([field, value]) => cellTest(columnOf(collection.columns, field), value, id))]
      : [],
  )
  return {
    any: tests.map((all) => all.map(({ condition }) => condition)),
    matches: (doc) => {
      const document = JSON.parse(doc) as Record<string, unknown>
      return tests.some((all) => all.every(({ isMet }) => isMet(document)))
    },
  }
}

/** The column of ids, which is not among the columns of fields. */
const idColumn: Pick<Column, 'name' | 'field' | 'cell'> = { name: 'id', field: 'id', cell: (value) => value as Cell }

const columnOf = (columns: readonly Column[], field: string): Pick<Column, 'name' | 'field' | 'cell'> =>
  columns.find((one) => one.field === field && !one.of && !one.isWords) ?? idColumn

/** The test that a column has a value, as a condition of statements and as a function of documents. */
function cellTest(
  column: Pick<Column, 'name' | 'field' | 'cell'>,
  value: unknown,
  id: string,
): { readonly condition: Condition; readonly isMet: (document: Record<string, unknown>) => boolean } {
  const cell = column.cell(isCallerMarker(value) ? id : value)
  const { name } = column
  return {
    condition: cell === null ? { column: name, is: 'null' } : { column: name, is: 'eq', value: cell },
    isMet: (document) => cellIn(column as Column, document) === cell,
  }
}

const isCallerMarker = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (value as typeof callerMarker).marker === callerMarker.marker

/** A rule in words, by the names of a version. */
export const rowRuleText = (
  { alternatives }: Pick<RowRule, 'alternatives'>,
  namesOf: (field: string) => readonly string[] = (field) => [field],
): string =>
  alternatives
    .map((one) => ('scope' in one ? one.scope : `items where ${conditionsText(one.where, namesOf)}`))
    .join(' or ')

export const conditionsText = (where: RowConditions, namesOf: (field: string) => readonly string[]): string =>
  Object.entries(where)
    .map(([field, value]) => {
      const name = namesOf(field)[0] ?? field
      return `${name} is ${isCallerMarker(value) ? 'the id of the caller' : JSON.stringify(value)}`
    })
    .join(' and ')

/** The rules of a service that depend on rows. */
export interface RuledResources {
  readonly resources: ReadonlyMap<string, Resource>
  /** The rows that exist for a caller, cached with the caller object; undefined if they do not depend on rows. */
  readonly visibleTo: (caller: Caller) => TestedRows | undefined
}

/** The resources of a service, if an access rule of one of them depends on rows; else null. */
export function ruledResources(resources: ReadonlyMap<string, Resource>): RuledResources | null {
  if (![...resources.values()].some(hasRowRules)) return null
  const byCaller = new WeakMap<Caller, { readonly visible: TestedRows | undefined }>()
  return {
    resources,
    visibleTo: (caller) => {
      const kept = byCaller.get(caller) ?? { visible: visibleRows(resources, caller) }
      byCaller.set(caller, kept)
      return kept.visible
    },
  }
}

/** The rows that exist for a caller: those that it may read. Undefined if that does not depend on rows. */
export function visibleRows(resources: ReadonlyMap<string, Resource>, caller: Caller): TestedRows | undefined {
  const isKnown = permits(caller, 'authenticated')
  const tests = [...resources.values()].flatMap((one) => {
    const rule = rowRuleOf(one, 'read')
    const test = rule && (isKnown ? rowTest(rule, caller) : noRow)
    return test ? [[one.collection.name, test] as const] : []
  })
  if (tests.length === 0) return undefined
  const isEvented = tests.some(([name]) => resources.get(name)?.collection.eventPrefix !== undefined)
  return new TestedRows(new Map([...tests, ...(isEvented ? webhookTests(resources) : [])]))
}

/**
 * Endpoints of webhooks and their deliveries exist only for callers that may read all items with events: deliveries show events
 * of all items that the maker of the endpoint may read.
 */
const webhookTests = (resources: ReadonlyMap<string, Resource>) =>
  [endpointResource, deliveryResource].flatMap((name) => {
    const own = resources.get(name)
    return own && isWebhookResource(own.declaration) ? [[name, noRow] as const] : []
  })

const noRow: RowTest = { any: [], matches: () => false }
