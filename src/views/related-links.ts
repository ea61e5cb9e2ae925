/** Related links: the URLs of an item's owner, of the items it refers to, and of the lists of its children. R49. */
import type { CarriedVersion } from '../flow/call.ts'
import { type AccessRule, ruleFor } from '../resources/declaration.ts'
import type { ItemAddress } from '../resources/document.ts'
import { revisionSegment } from '../resources/own-operations.ts'
import { relationsOf } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import type { View } from './view.ts'

type Document = Readonly<Record<string, unknown>>

export type PathOf = (resource: Resource, key: ItemAddress, carried: CarriedVersion) => string

/** A link to the item that a field names, for callers that may read it. */
interface LinkedItem {
  readonly name: string
  readonly field: string
  readonly resource: Resource
  readonly rule: AccessRule
}

/** The links besides actions: to the owner, to referenced items, to the lists of children, and to revisions. */
export interface LinkedRelations {
  readonly owner: LinkedItem | null
  readonly references: readonly LinkedItem[]
  readonly lists: readonly LinkedList[]
}

interface LinkedList {
  readonly name: string
  readonly path: string
  readonly rule: AccessRule
  /** The rule for the pairs of a list of paired items. */
  readonly also?: AccessRule
}

export function linkedRelations(own: Resource, resources: ReadonlyMap<string, Resource>): LinkedRelations {
  const all = relationsOf(own.name, resources, own.settings.naming).flatMap((one) => {
    const resource = resources.get(one.resource) as Resource
    const rule = ruleFor(resource.access, one.by === 'list' ? 'list' : 'read')
    const also = one.pair && ruleFor((resources.get(one.pair) as Resource).access, 'read')
    return rule === undefined ? [] : [{ ...one, path: one.resource, resource, rule, ...(also && { also }) }]
  })
  return {
    owner: all.find(({ by }) => by === 'parent') ?? null,
    references: all.filter(({ by }) => by === 'field'),
    lists: [...all.filter(({ by }) => by === 'list'), ...revisionsOf(own)],
  }
}

const revisionsOf = ({ declaration: { history } }: Resource): LinkedRelations['lists'] =>
  history ? [{ name: revisionSegment, path: revisionSegment, rule: history.read }] : []

/** Identifies the rules that decide these links, besides the item and the caller. */
export const relationForm = ({ owner, references, lists }: LinkedRelations): object => [
  ...[...(owner ? [owner] : []), ...references].map((one) => [one.name, one.field, one.resource.name, one.rule]),
  ...lists.map(({ name, path, rule, also }) => [name, path, rule, also]),
]

export interface LinkPlace {
  readonly view: View
  readonly carried: CarriedVersion
  readonly base: string
  readonly query: string
  readonly pathOf: PathOf
}

export function relationLinks(
  { owner, references, lists }: LinkedRelations,
  { view, carried, base, query, pathOf }: LinkPlace,
  shown: Document,
  stored: Document,
): string {
  const to = ({ name, resource, rule }: LinkedItem, id: unknown) =>
    typeof id === 'string' && view.permitted.has(rule)
      ? `,"${name}":"${pathOf(resource, { id, parent: null }, carried)}"`
      : ''
  return [
    owner ? to(owner, stored[owner.field] ?? shown[owner.field]) : '',
    ...references.map((one) => to(one, shown[one.field])),
    ...lists.map(({ name, path, rule, also = rule }) =>
      view.permitted.has(rule) && view.permitted.has(also) ? `,"${name}":"${base}/${path}${query}"` : '',
    ),
  ].join('')
}
