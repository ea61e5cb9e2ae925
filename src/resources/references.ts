/** References: which resources refer to which or are paired, how the referring rows are found, and how links name them. Part 2. */

import type { Field, Fields } from '../fields/field.ts'
import { linkOfField, type Naming, singularOf, toCase } from '../formats/naming.ts'
import type { Collection, Dependent, Reference } from '../rows/collection.ts'
import {
  type AccessRule,
  accountNameOf,
  type DeclarationContext,
  operations,
  parentDeclarationOf,
  parentFieldName,
  type ResourceDeclaration,
  resolveConcepts,
  type VersionedDeclaration,
} from './declaration.ts'

/**
 * Pairs of items of two resources, each linked with any number of the other: `PUT /orders/{orderId}/tags/{tagId}` links two.
 * @example 'order-tags': { between: ['orders', 'tags'], access: { read: 'public', write: 'orders:write' } }
 */
export interface PairDeclaration {
  /** The two resources: `between: ['orders', 'tags']`. */
  readonly between: readonly [string, string]
  /** The fields of a pair, in the member `_pair` of its items: `fields: { role: f.enum(['learner', 'tutor']) }`. */
  readonly fields?: Fields
  /** Who may read which items are linked, and who may link them: `access: { read: 'public', write: 'orders:write' }`. */
  readonly access: AccessRule | { readonly read: AccessRule; readonly write: AccessRule }
}

export const pairKeys = ['between', 'fields', 'access'] as const satisfies readonly (keyof PairDeclaration)[]

export type Pairs = { readonly [name: string]: PairDeclaration }

type NamedResources = DeclarationContext['resources']

/** The resource that pairs are stored in: a child of the first one, whose key is a reference to the second one. */
export function pairResource(
  { between: [first, second], fields, access }: PairDeclaration,
  resources: NamedResources,
  naming: Naming,
): ResourceDeclaration {
  const key = parentFieldName(second, resources[second], { naming })
  const owner = accountNameOf(resources, first) === null ? accountNameOf(resources, second) : null
  return {
    ...{ parent: { resource: first, onDelete: 'cascade' }, key },
    fields: { [key]: { kind: 'ref', target: second, options: { onDelete: 'cascade' } }, ...fields },
    ...{ access, methods: [], ...(owner !== null && { owner }) },
    settings: { deleted: { retention: 'PT0S' }, resource: { links: 'none' } }, // a pair may be linked again
  }
}

/**
 * The declaration of pairs that a resource was made of; null for any other resource, as the key of other resources cannot be
 * a reference.
 */
export function pairDeclarationOf({ parent, key, fields, access }: ResourceDeclaration): PairDeclaration | null {
  const above = typeof parent === 'object' ? parent.resource : parent
  const other = fields[key ?? '']
  if (key === undefined || other?.kind !== 'ref' || above === undefined) return null
  const { [key]: _, ...own } = fields
  const declared = Object.keys(own).length === 0 ? {} : { fields: own }
  return { between: [above, other.target as string], ...declared, access: access as PairDeclaration['access'] }
}

/** The parts of a resource that refer to others. */
interface ReferringResource extends Pick<Collection, 'composite' | 'account'> {
  readonly members: readonly { readonly name: string; readonly field: Field }[]
  readonly parent: { readonly resource: string; readonly field: string } | null
}

/** Indexes to find referring rows of all accounts and parents, as the other indexes begin with an account or a parent. */
export function referringColumns(
  { members, composite, account, parent }: ReferringResource,
  context: DeclarationContext,
): string[][] {
  if (!composite && account === null) return []
  const isShared = (target: string) => account === null || accountNameOf(context.resources, target) === null
  const refs = members.flatMap(({ name, field }) =>
    Object.keys(context.resources).flatMap((target) =>
      referenceSites(field, target, name)
        .filter(({ listed }) => !listed)
        .map(({ path }) => (isShared(target) ? [`by_${path}`] : ['account', `by_${path}`])),
    ),
  )
  const owner = parent && account !== null && isShared(parent.resource)
  return [
    ...refs.filter(([first]) => composite || first !== 'account'),
    ...(owner ? [[composite ? 'parent' : `by_${parent.field}`]] : []),
  ]
}

/** The collections that refer to a resource: its children, and those with references. */
export function dependentsOf(name: string, context: DeclarationContext): Dependent[] {
  return Object.entries(context.resources).flatMap(([collection, declaration]) => {
    const references = Object.entries(declaration.fields).flatMap(([field, declared]) =>
      declared.kind === 'concept' || mayRefer(declared)
        ? referringDependents(collection, field, resolveConcepts(declared, context.concepts), name)
        : [],
    )
    const all = [...childDependents(collection, declaration, name, context), ...references]
    return all.length > 0 && pairDeclarationOf(declaration) ? all.map((one) => ({ ...one, pairs: true })) : all
  })
}

/** How the children of a resource refer to it; none if a collection is not below it. */
function childDependents(
  collection: string,
  declaration: ResourceDeclaration,
  name: string,
  { resources, settings }: DeclarationContext,
): Dependent[] {
  const parent = parentDeclarationOf(declaration)
  if (parent?.resource !== name) return []
  const own = parentFieldName(name, resources[name], settings)
  const column = declaration.key === undefined ? `by_${own}` : 'parent'
  return [{ collection, column, ids: (child) => [child[own] as string], onDelete: parent.onDelete ?? 'restrict' }]
}

/** How a field refers to a resource: by the column of a reference, or by the documents if a list has the references. */
function referringDependents(collection: string, name: string, field: Field, target: string): Dependent[] {
  return referenceSites(field, target, name).map(({ path, listed, onDelete }) => ({
    collection,
    column: listed ? null : `by_${path}`,
    ids: (document) =>
      referencesIn(field, document[name], name).flatMap((one) => (siteOfReference(one) === path ? [one.id] : [])),
    onDelete,
  }))
}

/** Whether values of a field may have references. */
export const mayRefer = ({ kind }: Field): boolean => kind === 'ref' || kind === 'list' || kind === 'object'

export function referencesIn(field: Field, value: unknown, at: string): Reference[] {
  if (value === null || value === undefined) return []
  if (field.kind === 'ref') return [{ field: at, collection: field.target as string, id: value as string }]
  if (field.kind === 'list')
    return (value as unknown[]).flatMap((one, i) => referencesIn(field.item as Field, one, `${at}/${i}`))
  if (field.kind !== 'object') return []
  return Object.entries(field.fields ?? {}).flatMap(([name, inner]) =>
    referencesIn(inner, (value as Record<string, unknown>)[name], `${at}/${name}`),
  )
}

/** A reference in a field: its dotted path, and whether it is inside a list. */
interface ReferenceSite {
  readonly path: string
  readonly listed: boolean
  readonly onDelete: 'restrict' | 'cascade'
}

/** All references in a field to a resource. */
export function referenceSites(field: Field, target: string, path: string, listed = false): ReferenceSite[] {
  if (field.kind === 'ref' && field.target === target)
    return [{ path, listed, onDelete: field.options.onDelete ?? 'restrict' }]
  if (field.kind === 'list') return referenceSites(field.item as Field, target, path, true)
  if (field.kind !== 'object') return []
  return Object.entries(field.fields ?? {}).flatMap(([name, inner]) =>
    referenceSites(inner, target, `${path}.${name}`, listed),
  )
}

/** The dotted path of a reference, without indexes of lists. */
const siteOfReference = ({ field }: Reference): string => field.replace(/\/\d+/g, '').replaceAll('/', '.')

/** The parts of a resource that relate it to others. */
export interface RelatedResource extends Pick<ReferringResource, 'parent'> {
  readonly singular: string
  readonly key: string | null
  readonly members: readonly { readonly name: string; readonly field: Field; readonly writeOnly: boolean }[]
  readonly methods: readonly string[]
}

/** Another resource that `_links` and `embed` name: the parent, the target of a reference, or a list of children. R49, R232. */
export interface Relation {
  readonly name: string
  readonly by: 'parent' | 'field' | 'list'
  /** The field with the id, which children have if it is a list. */
  readonly field: string
  readonly resource: string
  /** Set if it is a list of paired items: the resource of the pairs. */
  readonly pair?: string
}

/** The two resources whose items a resource pairs; null if it is no resource of pairs. */
export function pairSides({ parent, key, members }: Omit<RelatedResource, 'methods' | 'singular'>) {
  const target = key === null ? undefined : members.find(({ name }) => name === key)?.field.target
  return parent && target !== undefined ? ([parent.resource, target] as const) : null
}

/** The fields that identify an item: its id, and the field of its owner or of both sides of a pair, if the id is unique only there. */
export const identifyingFields = (own: RelatedResource & { readonly collection: Pick<Collection, 'composite'> }) => [
  'id',
  ...(own.parent && own.collection.composite ? [own.parent.field] : []),
  ...(own.key !== null && pairSides(own) ? [own.key] : []),
]

/** The relations of an item to resources that can be read: the parent first, then references, then the lists of children. */
export function relationsOf(
  name: string,
  all: ReadonlyMap<string, RelatedResource>,
  naming: Naming,
): readonly Relation[] {
  const own = all.get(name)
  if (!own) return []
  const { parent, members } = own
  const isRead = (resource: string) => all.get(resource)?.methods.includes('read')
  const owner = parent && all.get(parent.resource)
  const refs = members.flatMap(({ name: field, field: { kind, target = '' }, writeOnly }): Relation[] =>
    kind === 'ref' && !writeOnly && isRead(target)
      ? [{ name: linkOfField(field), by: 'field', field, resource: target }]
      : [],
  )
  const lists = [...all].flatMap(([resource, one]): Relation[] => {
    const { parent: above, methods } = one
    const sides = pairSides(one)
    if (sides?.includes(name)) {
      const other = sides[0] === name ? sides[1] : sides[0]
      return [{ name: toCase(other, naming), by: 'list', field: '', resource: other, pair: resource }]
    }
    return above?.resource === name && methods.includes('list')
      ? [{ name: toCase(resource, naming), by: 'list', field: above.field, resource }]
      : []
  })
  return [
    ...(parent && owner && isRead(parent.resource)
      ? [{ name: toCase(owner.singular, naming), by: 'parent' as const, ...parent }]
      : []),
    ...refs,
    ...lists,
  ]
}

/** The related resources of declarations. */
export function relatedResources({
  resources,
  concepts = {},
  settings: { naming = 'camel' } = {},
}: Pick<VersionedDeclaration, 'resources' | 'concepts' | 'settings'>): ReadonlyMap<string, RelatedResource> {
  const relatedOf = (name: string, declaration: ResourceDeclaration): RelatedResource => {
    const parent = parentDeclarationOf(declaration)
    const field = parent && parentFieldName(parent.resource, resources[parent.resource], { naming })
    return {
      singular: declaration.singular ?? singularOf(name),
      key: declaration.key ?? null,
      parent: parent && field !== undefined ? { resource: parent.resource, field } : null,
      members: Object.entries(declaration.fields).map(([own, one]) => {
        const resolved = resolveConcepts(one, concepts)
        return { name: own, field: resolved, writeOnly: resolved.options.writeOnly === true }
      }),
      methods: declaration.methods ?? operations,
    }
  }
  return new Map(Object.entries(resources).map(([name, declaration]) => [name, relatedOf(name, declaration)]))
}

/** The names that `embed` can have: the declared ones, and the paths that nested ones begin with. */
export function embedNames(
  name: string,
  embed: ResourceDeclaration['embed'],
  all: ReadonlyMap<string, RelatedResource>,
  naming: Naming,
): readonly string[] {
  if (embed === undefined) return []
  if (embed === true) return relationsOf(name, all, naming).map((one) => one.name)
  return [...new Set(embed.flatMap((one) => (one.includes('.') ? [one.split('.', 1)[0] as string, one] : [one])))]
}
