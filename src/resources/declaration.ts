/** Declaration: the options of a resource, and of tiers, versions and concepts. Part 2, resources and their fields. */
// long because: it is the declaration of a resource, with the meaning of its rules

import type { DeclaredError } from '../errors/catalogue.ts'
import type { Field, Fields } from '../fields/field.ts'
import type { FieldKinds } from '../fields/kind.ts'
import type { DeclaredSummaries } from '../fields/summary.ts'
import { isObject } from '../fields/value-check.ts'
import { type Naming, singularOf, toCase } from '../formats/naming.ts'
import type { ResourceSettings, Settings } from '../settings.ts'
import type { DeclaredOperations, HistoryDeclaration, ScheduleDeclaration } from './own-operations.ts'
import type { StatesDeclaration } from './states.ts'

/** `'public'` (everybody), `'authenticated'` (every known caller) or the name of a declared scope. */
export type AccessRule = string
/** The operations of a resource: GET of the list and of an item, POST, PUT, PATCH and DELETE. */
export type Operation = 'list' | 'read' | 'create' | 'replace' | 'change' | 'remove'
export const operations: readonly Operation[] = ['list', 'read', 'create', 'replace', 'change', 'remove']

/** Fields of an item with the values that they must have: constants, or `caller` for the id of the caller. */
export type RowConditions = { readonly [field: string]: unknown }

/**
 * A rule that depends on the item: each alternative allows all items to callers with a scope, or all known callers the items
 * that have these values.
 * @example [{ scope: 'orders:all' }, { where: { assigneeId: caller } }]
 */
export type RowAlternatives = readonly ({ readonly scope: string } | { readonly where: RowConditions })[]

/**
 * The access rules of a resource: one for all operations, or one for each. `read` is for lists and items, `write` for all
 * changes; `create`, `replace`, `change` and `remove` override `write`. A list of alternatives depends on the item.
 * @example access: { read: 'public', write: 'orders:write', remove: 'orders:admin' }
 */
export type Access =
  | AccessRule
  | (Readonly<Partial<Record<Exclude<Operation, 'list'>, AccessRule | RowAlternatives>>> & {
      readonly write?: AccessRule | RowAlternatives
    })

/** When a version or an operation is deprecated and ends. Times are dates, or moments in UTC. */
interface Retirement {
  /** From this time on answers have the header `Deprecation`: `deprecated: '2026-01-01'`. R198. */
  readonly deprecated?: string
  /** The planned end, for the header `Sunset`: `sunset: '2027-12-31'`. R200. */
  readonly sunset?: string
  /** The URL of the migration guide: `guide: 'https://docs.example.com/v2'`. R201. */
  readonly guide?: string
  /** The URL of the sunset policy: `policy: 'https://docs.example.com/sunset'`. R201. */
  readonly policy?: string
}

/**
 * A version: when it was released, and when it is deprecated and ends.
 * @example v1: { released: '2025-01-15', deprecated: '2026-01-01', sunset: '2027-12-31' }
 */
export interface VersionDeclaration extends Retirement {
  /** When clients can first use it; until then it is answered as an unknown version: `released: '2026-01-15'`. */
  readonly released: string
  /** The form of the header `Deprecation`; by default the setting `deprecation.format`: `format: 'rfc9745'`. R199. */
  readonly format?: 'true' | 'rfc9745'
  /** It is no longer served; with a reason if it still has consumers: `retired: 'all were notified'`. R203, R204. */
  readonly retired?: true | string
}

/**
 * The deprecation of one operation whose version stays. R198.
 * @example remove: { deprecated: '2026-01-01', sunset: '2027-12-31', successor: '/trash' }
 */
export interface Deprecation extends Retirement {
  /** From this time on its answers have the header `Deprecation`: `deprecated: '2026-01-01'`. */
  readonly deprecated: string
  /** The URL to use instead: `successor: '/trash'`. */
  readonly successor?: string
}

/** Deprecations by operation. */
export type Deprecations = { readonly [O in Operation]?: Deprecation }

/** The parent of a resource, if not only its name is declared. */
export interface ParentDeclaration {
  /** The name of the parent resource: `resource: 'orders'`. */
  readonly resource: string
  /** Deleting a parent with children: `'restrict'` (default) refuses it, `'cascade'` deletes the children too. R138. */
  readonly onDelete?: 'restrict' | 'cascade'
  /** The states of the parent in which children can be created, changed and removed: `while: ['draft']`. */
  readonly while?: readonly string[]
}

/**
 * A resource: its fields, its access rules, and options that differ from the defaults.
 * @example books: { prefix: 'bok', fields: { title: f.text({ max: 200 }) }, access: 'public' }
 */
export interface ResourceDeclaration {
  /** What an item is called in texts; by default the singular of the name: `title: 'Purchase'`. */
  readonly title?: string
  /** What an item is, for the API's description: `description: 'An order of a customer, with its lines.'`. */
  readonly description?: string
  /** The part of ids before the underscore; by default the singular of the name: `prefix: 'ord'` makes `ord_…`. */
  readonly prefix?: string
  /** The singular of the name, if the derived word is wrong: `singular: 'staff-member'`. */
  readonly singular?: string
  /** Confirms that the name is a plural although it does not look like one: `plural: true`. */
  readonly plural?: true
  /**
   * The resource that the items are children of: they are created below one of its items and have its id.
   * @example parent: { resource: 'orders', onDelete: 'cascade' }
   */
  readonly parent?: string | ParentDeclaration
  /** The field whose value is the id of an item, below its parent if there is one: `key: 'number'`. */
  readonly key?: string
  /** The fields of an item; `id`, `createdAt` and `updatedAt` are added: `fields: { text: f.text() }`. */
  readonly fields: Fields
  /**
   * The functions of derived fields, each of the other fields; `resource()` gives them their types.
   * @example derived: { amount: ({ quantity, price }) => times(price, quantity) }
   */
  readonly derived?: { readonly [field: string]: (document: never) => unknown }
  /** The states of an item, and the transitions between them: `states: { field: 'status', initial: 'draft', transitions: … }`. */
  readonly states?: StatesDeclaration
  /**
   * Operations whose handlers read, write and return an output.
   * @example operations: { quotes: { at: 'collection', output: { total: f.decimal({ scale: 2 }) } } }
   */
  readonly operations?: DeclaredOperations
  /** Times at which operations start: `schedules: { nightly: { cron: '0 2 * * *', run: 'exports' } }`. */
  readonly schedules?: { readonly [name: string]: ScheduleDeclaration }
  /** The access rules: `access: { read: 'public', write: 'orders:write' }`. */
  readonly access: Access
  /** The name of the account that items belong to; callers see only items of their account: `owner: 'customerId'`. R170. */
  readonly owner?: string
  /** The offered operations; all of them by default: `methods: ['list', 'read', 'create']`. */
  readonly methods?: readonly Operation[]
  /** Deprecated operations: `deprecations: { remove: { deprecated: '2026-01-01' } }`. R198. */
  readonly deprecations?: Deprecations
  /**
   * What a read can embed (`?embed=customer`): `true` for the parent, all references and the lists of children, or their names
   * as in `_links`, also those of what is embedded: `embed: ['customer', 'lines.product']`.
   */
  readonly embed?: true | readonly string[]
  /** The order of lists without `sort`, by default that of creation; a minus sign is descending: `order: ['-price']`. */
  readonly order?: readonly string[]
  /** Named orders: `sorts: { value: ['price', '-year'] }` for `?custom_sort=value`. */
  readonly sorts?: { readonly [name: string]: readonly string[] }
  /** Summaries of the list, each at a URL of its own: `summaries: { byStatus: { group: ['status'], sum: ['total'] } }`. */
  readonly summaries?: DeclaredSummaries
  /** Whether the list also answers with all of its items, as lines of JSON or CSV: `exports: true`. R238. */
  readonly exports?: boolean
  /** Whether `POST /orders/imports` creates an item of each line of JSON or CSV, however many: `imports: true`. R238. */
  readonly imports?: boolean
  /** Indexes for lists that filter by one field and sort by another: `indexes: [['status', 'title']]`. */
  readonly indexes?: readonly (readonly string[])[]
  /** Fields whose values together are unique: `uniques: [['street', 'number']]`. */
  readonly uniques?: readonly (readonly string[])[]
  /** Whether changes of items are recorded as events; by default as the service declares it: `events: false`. R206. */
  readonly events?: boolean
  /** Keeps all revisions of its items: `history: { read: 'orders:audit' }`. */
  readonly history?: HistoryDeclaration
  /** Settings of this resource, which replace those of the service: `settings: { list: { pageSize: 10 } }`. */
  readonly settings?: ResourceSettings
}

export const resourceKeys = [
  'title',
  'description',
  'prefix',
  'singular',
  'plural',
  'parent',
  'key',
  'fields',
  'states',
  'derived',
  'operations',
  'schedules',
  'access',
  'owner',
  'methods',
  'deprecations',
  'embed',
  'order',
  'sorts',
  'summaries',
  'exports',
  'imports',
  'indexes',
  'uniques',
  'events',
  'history',
  'settings',
] as const satisfies readonly (keyof ResourceDeclaration)[]

/** Concepts by name: structures that several resources share. */
export type Concepts = { readonly [name: string]: Field }

/** The parts of a declaration that every resource of the service needs. */
export interface DeclarationContext {
  readonly resources: { readonly [name: string]: ResourceDeclaration }
  readonly concepts: Concepts
  readonly settings: Settings
  readonly kinds: FieldKinds
  /** Whether resources have events unless they declare otherwise. */
  readonly events?: boolean
}

/** The settings and the kinds of fields, which are the same for all resources of a service in every version. */
export type ResourceRules = Pick<DeclarationContext, 'settings' | 'kinds'>

/** The derived name of a parent's id in its children: `orderId`. */
export function parentFieldName(
  parent: string,
  declaration: ResourceDeclaration | undefined,
  settings: Pick<Settings, 'naming'>,
): string {
  return toCase(`${declaration?.singular ?? singularOf(parent)}-id`, settings.naming)
}

/**
 * A mistake in a declaration. The error that `service` throws has all of them in `mistakes`. R219.
 * @example
 * const mistake: Mistake = {
 *   place: 'resources.orders.fields.total',
 *   reason: '`min` (5) is above `max` (1).',
 *   mend: 'Write the smaller one as `min`.',
 * }
 */
export interface Mistake {
  /** The path in the declaration. */
  readonly place: string
  /** The reason why it is a mistake. */
  readonly reason: string
  /** How to fix it. */
  readonly mend: string
}

/** A field with its concepts replaced by their fields; options given where a concept is used replace its own. R37. */
export function resolveConcepts(field: Field, concepts: Concepts): Field {
  if (field.kind === 'list') return { ...field, item: resolveConcepts(field.item as Field, concepts) }
  if (field.kind === 'object') {
    const fields = Object.entries(field.fields ?? {}).map(([name, one]) => [name, resolveConcepts(one, concepts)])
    return { ...field, fields: Object.fromEntries(fields) }
  }
  if (field.kind !== 'concept') return field
  const concept = concepts[field.target as string]
  if (!concept) return { kind: 'text', options: field.options } // reported as a mistake
  const resolved = resolveConcepts(concept, concepts)
  return { ...resolved, options: { ...resolved.options, ...field.options } }
}

export const parentDeclarationOf = ({ parent }: ResourceDeclaration): ParentDeclaration | undefined =>
  typeof parent === 'string' ? { resource: parent } : parent

/** The name of the account that items belong to; children belong to the account of their parent. Null without an owner. */
export function accountNameOf(resources: DeclarationContext['resources'], name: string): string | null {
  const declaration = resources[name]
  const parent = declaration && parentDeclarationOf(declaration)
  return (parent && accountNameOf(resources, parent.resource)) ?? declaration?.owner ?? null
}

/** The rule for an operation: its own, or else that of `write`; `read` for lists and items. */
function declaredRule(access: Access, operation: Operation): AccessRule | RowAlternatives | undefined {
  if (typeof access === 'string') return access
  if (operation === 'list' || operation === 'read') return access.read
  return access[operation] ?? access.write
}

/** The rule for the callers of an operation; one that depends on the item lets all known callers ask. */
export function ruleFor(access: Access, operation: Operation): AccessRule | undefined {
  const rule = declaredRule(access, operation)
  return rule === undefined || typeof rule === 'string' ? rule : 'authenticated'
}

/** The alternatives of a rule that depends on the item; undefined for the others. */
export function rowAlternatives(access: Access, operation: Operation): RowAlternatives | undefined {
  const rule = declaredRule(access, operation)
  return Array.isArray(rule) ? (rule as RowAlternatives) : undefined
}

/** Whether a rule depends on the item. */
export const dependsOnRows = (access: Access): boolean =>
  typeof access === 'object' && Object.values(access).some((rule) => Array.isArray(rule))

/** The resource as older versions declare it, without rules that depend on the item: the rules of the stored resource decide. */
export function withoutRowRules(own: ResourceDeclaration): ResourceDeclaration {
  const { access } = own
  if (!dependsOnRows(access)) return own
  const rules = Object.entries(access).map(([name, rule]) => [name, Array.isArray(rule) ? 'authenticated' : rule])
  return { ...own, access: Object.fromEntries(rules) }
}

/** The scopes that allow all items. */
export const scopesIn = (alternatives: RowAlternatives): readonly string[] =>
  alternatives.flatMap((one) => (isObject(one) && 'scope' in one ? [one.scope] : [])) as readonly string[]

/** The fields that the rules of a resource depend on; the declaration may have mistakes. */
export const ruledFields = (access: unknown): readonly string[] =>
  Object.values(isObject(access) ? access : {})
    .flatMap((rule): unknown[] => (Array.isArray(rule) ? rule : []))
    .flatMap((one) => (isObject(one) && isObject(one.where) ? Object.keys(one.where) : []))

/** Whether a rule allows every caller that the other one allows. Different scopes cannot be compared. */
export const ruleCovers = (rule: AccessRule | undefined, other: AccessRule | undefined): boolean =>
  rule === 'public' || rule === other || (rule === 'authenticated' && other !== 'public')

/** Whether every caller that may replace items of a resource may also read them. */
export const isReadByWriters = ({ access }: { readonly access: Access }): boolean =>
  ruleCovers(ruleFor(access, 'read'), ruleFor(access, 'replace'))

/** Which requests a quota counts together: those of a caller, of all callers of the tier, or of an address. R181. */
export const partitions = ['caller', 'tier', 'address'] as const
export type Partition = (typeof partitions)[number]

/**
 * A quota: a number of requests in a time window.
 * @example burst: { quota: 20, window: 'PT1M' }
 */
export interface DeclaredQuota {
  /** How many requests are allowed in a window: `quota: 1000`. */
  readonly quota: number
  /** The length of the window, an ISO 8601 duration; an hour by default: `window: 'P1D'`. */
  readonly window?: string
  /** Which requests are counted together; those of a `'caller'` by default: `partition: 'tier'`. */
  readonly partition?: Partition
}

/**
 * A tier: its quotas by name (`hourly` may be only the number), and `features`, the features of its callers.
 * @example pro: { hourly: 50_000, daily: { quota: 500_000, window: 'P1D', partition: 'tier' }, features: ['v2'] }
 */
export interface DeclaredTier {
  readonly [quota: string]: number | DeclaredQuota | readonly string[]
}

/** Tiers by name. The first one is for callers that name no tier, `anonymous` for those without credentials. */
export interface DeclaredTiers {
  readonly [tier: string]: DeclaredTier
}

/** Versions by name, `v1` and so on. */
export type Versions = { readonly [label: string]: VersionDeclaration }

/** A type of error that a service declares, with the further members of its answers. R160. */
export interface ErrorDeclaration extends DeclaredError {
  /** Further members of the error, which handlers fill: `fields: { limit: f.decimal({ scale: 2 }) }`. */
  readonly fields?: Fields
}

/** The parts of a declaration that can differ between versions. */
export interface VersionedDeclaration {
  readonly resources: { readonly [name: string]: ResourceDeclaration }
  readonly concepts?: Concepts
  readonly errors?: { readonly [type: string]: ErrorDeclaration }
  readonly versions?: Versions
  readonly settings?: { readonly naming?: Naming }
}
