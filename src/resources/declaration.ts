/** What a service declares of a resource. Part 2, resources and their fields. */

import type { DeclaredError } from '../errors/catalogue.ts'
import type { Field, Fields } from '../fields/field.ts'
import { type Naming, singularOf, toCase } from '../formats/naming.ts'
import type { ResourceSettings, Settings } from '../settings.ts'

/** `public`, `authenticated`, or the name of a scope. */
export type AccessRule = string
export type Operation = 'list' | 'read' | 'create' | 'replace' | 'change' | 'remove'
export const operations: readonly Operation[] = ['list', 'read', 'create', 'replace', 'change', 'remove']

export type Access =
  | AccessRule
  | (Readonly<Partial<Record<Exclude<Operation, 'list'>, AccessRule>>> & { readonly write?: AccessRule })

/** How something that is published goes. Times are dates, or moments in UTC. */
interface Retirement {
  /** From when on callers are told to move. R198. */
  readonly deprecated?: string
  /** When it is planned to end. R200. */
  readonly sunset?: string
  /** Where it is described how to move, and what is promised to those who stay. R201. */
  readonly guide?: string
  readonly policy?: string
}

/** A published version: when it came, and when and how it goes. */
export interface VersionDeclaration extends Retirement {
  readonly released: string
  /** How deprecations are told, where not as the service tells them. R199. */
  readonly format?: 'true' | 'rfc9745'
  /** No longer served; a reason where it still has consumers. R203, R204. */
  readonly retired?: true | string
}

/** An operation that is to be left while its version stays. R198. */
export interface Deprecation extends Retirement {
  readonly deprecated: string
  /** What does the same instead. */
  readonly successor?: string
}

export type Deprecations = { readonly [O in Operation]?: Deprecation }

export interface ParentDeclaration {
  readonly resource: string
  /** What becomes of the children when the parent is deleted. R138. */
  readonly onDelete?: 'restrict' | 'cascade'
}

export interface ResourceDeclaration {
  /** What identifiers begin with; by default the singular of the resource's name. */
  readonly prefix?: string
  /** The singular of the name, where the derived word is wrong. */
  readonly singular?: string
  /** States that the name is a plural, where it does not look like one. */
  readonly plural?: true
  /** The resource that owns the items of this one. */
  readonly parent?: string | ParentDeclaration
  /** The field whose value identifies an item (below its parent, if there is one). */
  readonly key?: string
  readonly fields: Fields
  readonly access: Access
  /** What the account is called that an item belongs to: callers see the items of their own account, and no others. R170. */
  readonly owner?: string
  /** What is offered; by default everything. */
  readonly methods?: readonly Operation[]
  /** Operations that are to be left, and how they go. R198. */
  readonly deprecations?: Deprecations
  /** The default order: names of fields, descending ones with a minus sign. */
  readonly order?: readonly string[]
  /** Named orders for `custom_sort`. */
  readonly sorts?: { readonly [name: string]: readonly string[] }
  /** Composite indexes for lists that filter by one field and sort by another. */
  readonly indexes?: readonly (readonly string[])[]
  /** Fields that are unique together. */
  readonly uniques?: readonly (readonly string[])[]
  readonly settings?: ResourceSettings
}

export const resourceKeys = [
  'prefix',
  'singular',
  'plural',
  'parent',
  'key',
  'fields',
  'access',
  'owner',
  'methods',
  'deprecations',
  'order',
  'sorts',
  'indexes',
  'uniques',
  'settings',
] as const satisfies readonly (keyof ResourceDeclaration)[]

export type Concepts = { readonly [name: string]: Field }

/** What resources of one service share while they are made. */
export interface DeclarationContext {
  readonly resources: { readonly [name: string]: ResourceDeclaration }
  readonly concepts: Concepts
  readonly settings: Settings
}

/** The derived name of a parent's id in its children: `orderId`. */
export function parentFieldName(
  parent: string,
  declaration: ResourceDeclaration | undefined,
  settings: Settings,
): string {
  return toCase(`${declaration?.singular ?? singularOf(parent)}-id`, settings.naming)
}

/** A mistake in a declaration: where it is, what is wrong, and the mend. R219. */
export interface Mistake {
  readonly place: string
  readonly reason: string
  readonly mend: string
}

/** The field that a concept stands for: its structure, with the options of the place that uses it. R37. */
export function resolveConcepts(field: Field, concepts: Concepts): Field {
  if (field.kind === 'list') return { ...field, item: resolveConcepts(field.item as Field, concepts) }
  if (field.kind === 'object') {
    const fields = Object.entries(field.fields ?? {}).map(([name, one]) => [name, resolveConcepts(one, concepts)])
    return { ...field, fields: Object.fromEntries(fields) }
  }
  if (field.kind !== 'concept') return field
  const concept = concepts[field.target as string]
  if (!concept) return { kind: 'text', options: field.options } // reported as a mistake
  const made = resolveConcepts(concept, concepts)
  return { ...made, options: { ...made.options, ...field.options } }
}

export const parentDeclarationOf = ({ parent }: ResourceDeclaration): ParentDeclaration | undefined =>
  typeof parent === 'string' ? { resource: parent } : parent

/** What the account is called that items belong to: children belong to whom their parent belongs. Null where they belong to nobody. */
export function accountNameOf(resources: DeclarationContext['resources'], name: string): string | null {
  const declaration = resources[name]
  const parent = declaration && parentDeclarationOf(declaration)
  return (parent && accountNameOf(resources, parent.resource)) ?? declaration?.owner ?? null
}

/** The rule for an operation; a narrower name wins. */
export function ruleFor(access: Access, operation: Operation): AccessRule | undefined {
  if (typeof access === 'string') return access
  if (operation === 'list' || operation === 'read') return access.read
  return access[operation] ?? access.write
}

/** Whether a rule lets everybody whom another one lets. Two scopes cannot be compared. */
export const ruleCovers = (rule: AccessRule | undefined, other: AccessRule | undefined): boolean =>
  rule === 'public' || rule === other || (rule === 'authenticated' && other !== 'public')

/** Whether everybody who may replace items of a resource may read them too. */
export const isReadByWriters = ({ access }: { readonly access: Access }): boolean =>
  ruleCovers(ruleFor(access, 'read'), ruleFor(access, 'replace'))

/** Whose requests are counted together: those of a caller, of all callers of the tier, or of an address. R181. */
export const partitions = ['caller', 'tier', 'address'] as const
export type Partition = (typeof partitions)[number]

export interface DeclaredQuota {
  readonly quota: number
  /** An ISO 8601 duration; an hour unless said. */
  readonly window?: string
  readonly partition?: Partition
}

/** A tier: its quotas by name, of which `hourly` may be the number alone, and the features that its callers have. */
export interface DeclaredTier {
  readonly [quota: string]: number | DeclaredQuota | readonly string[]
}

export interface DeclaredTiers {
  readonly [tier: string]: DeclaredTier
}

export type Versions = { readonly [label: string]: VersionDeclaration }

/** What of a declaration versions can differ in. */
export interface VersionedDeclaration {
  readonly resources: { readonly [name: string]: ResourceDeclaration }
  readonly concepts?: Concepts
  readonly errors?: { readonly [type: string]: DeclaredError }
  readonly versions?: Versions
  readonly settings?: { readonly naming?: Naming }
}
