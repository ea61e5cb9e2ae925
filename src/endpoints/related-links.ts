/** Related links: the URLs of an item's owner, of the items it refers to, and of the lists of its children. R49. */
import type { CarriedVersion } from '../flow/call.ts'
import { toCase } from '../formats/naming.ts'
import { type AccessRule, ruleFor } from '../resources/declaration.ts'
import type { ItemAddress } from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import type { View } from './view.ts'

type Document = Readonly<Record<string, unknown>>

export type PathOf = (resource: Resource, key: ItemAddress, carried: CarriedVersion) => string

/** The links besides actions: to the owner, to referenced items, and to the lists of children. */
export interface LinkedRelations {
  readonly owner: { readonly name: string; readonly field: string; readonly resource: Resource } | null
  readonly references: readonly { readonly name: string; readonly field: string; readonly resource: Resource }[]
  readonly lists: readonly { readonly name: string; readonly path: string; readonly rule: AccessRule }[]
}

export function relationsOf(own: Resource, resources: ReadonlyMap<string, Resource>): LinkedRelations {
  const { naming } = own.settings
  const owner = own.parent && (resources.get(own.parent.resource) as Resource)
  const references = own.members.flatMap(({ name, field, writeOnly }) => {
    const resource = field.kind === 'ref' && !writeOnly ? resources.get(field.target as string) : undefined
    return resource?.methods.includes('read') ? [{ name: name.replace(/(Id|_id)$/, ''), field: name, resource }] : []
  })
  const lists = [...resources.values()].flatMap((one) => {
    const rule = ruleFor(one.access, 'list')
    const owned = one.parent?.resource === own.name && one.methods.includes('list') && rule !== undefined
    return owned ? [{ name: toCase(one.name, naming), path: one.name, rule }] : []
  })
  return {
    owner: owner?.methods.includes('read')
      ? { name: toCase(owner.singular, naming), field: own.parent?.field as string, resource: owner }
      : null,
    references,
    lists,
  }
}

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
  const to = (name: string, resource: Resource, id: unknown) =>
    typeof id === 'string' ? `,"${name}":"${pathOf(resource, { id, parent: null }, carried)}"` : ''
  return [
    owner ? to(owner.name, owner.resource, stored[owner.field] ?? shown[owner.field]) : '',
    ...references.map(({ name, field, resource }) => to(name, resource, shown[field])),
    ...lists.map(({ name, path, rule }) => (view.permitted.has(rule) ? `,"${name}":"${base}/${path}${query}"` : '')),
  ].join('')
}
