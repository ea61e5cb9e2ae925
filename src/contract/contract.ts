/** Contract: everything declared that a consumer can notice, in one canonical form for review. Part 9, versioning. */
import { typeChain } from '../errors/catalogue.ts'
import type { FieldTerms } from '../fields/kind.ts'
import { isObject } from '../fields/value-check.ts'
import { promisedTerms, sortMembers } from '../fields/value-terms.ts'
import type { Endpoint } from '../flow/route.ts'
import type { Quotas, Tier } from '../limits/tier.ts'
import { embeddableNames } from '../lists/embed-names.ts'
import type { ResourceDeclaration } from '../resources/declaration.ts'
import { historyRetention } from '../resources/own-operations.ts'
import { pairDeclarationOf } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import { rowRuleText } from '../rules/row-rules.ts'
import { type Declaration, type Service, service } from '../service.ts'
import type { Settings } from '../settings.ts'
import {
  fieldContract,
  type ListsOfContract,
  listContract,
  type OperationsOfContract,
  operationContract,
} from './operation-contract.ts'
import { type StatesOfContract, stateContract } from './state-contract.ts'
import { fieldTermsOf } from './terms.ts'
import { contractSetting, noticeableSettings } from './weight.ts'

/** A declared type of error: its status, the more general types, and its further members if it has any. */
interface ErrorContract {
  readonly status: number
  readonly types: readonly string[]
  readonly fields?: ReturnType<typeof fieldContract>
}

export interface Contract {
  readonly service: string
  /** Settings that a consumer can notice, by path, with the values in force. */
  readonly settings: { readonly [path: string]: unknown }
  readonly scopes: readonly string[]
  readonly errors: { readonly [type: string]: ErrorContract }
  readonly tiers: { readonly [tier: string]: { readonly [quota: string]: QuotaContract } }
  /** The tier of callers without a tier of their own. */
  readonly usualTier: string | null
  readonly resources: { readonly [name: string]: ResourceContract }
  /** When the version is planned to end; missing in locks that were written before contracts recorded it. */
  readonly sunset?: string | null
  /** The functions of later changes, by change; missing if there are none. */
  readonly functions?: { readonly [change: string]: FunctionContract }
  /** Any other part of the declaration, as declared. */
  readonly more: { readonly [part: string]: unknown }
}

export interface FunctionContract {
  readonly revision: number
  /** A digest of their source code, without spaces and comments. */
  readonly text: string
}

export interface QuotaContract {
  readonly quota: number
  /** In milliseconds. */
  readonly window: number
  readonly partition: string
}

/** When something is deprecated and when it is planned to end, in canonical form. */
export interface DeprecationDates {
  readonly deprecated: string
  readonly sunset: string | null
}

export interface ResourceContract extends StatesOfContract, OperationsOfContract, ListsOfContract {
  /** The prefix of ids; null if items have a key in place of an id. */
  readonly prefix: string | null
  readonly key: string | null
  readonly parent: { readonly resource: string; readonly onDelete: string } | null
  /** The access rule of each method, by path. */
  readonly paths: { readonly [path: string]: { readonly [method: string]: string } }
  readonly operations: readonly string[]
  /** The types of its events; missing if it has none. */
  readonly events?: readonly string[]
  /** How long revisions are kept, in milliseconds, null for ever; missing if none are. Their rule is among the paths. */
  readonly history?: { readonly retention: number | null }
  /** The dates of deprecated operations; missing if there are none. */
  readonly deprecations?: { readonly [operation: string]: DeprecationDates }
  readonly fields: { readonly [name: string]: FieldTerms }
  /** The names that can be embedded; missing if there are none. */
  readonly embeds?: readonly string[]
  readonly order: readonly string[]
  readonly sorts: { readonly [name: string]: readonly string[] }
  /** Fields that are unique together. */
  readonly uniques: readonly (readonly string[])[]
  /** Settings that differ from those of the service. */
  readonly settings: { readonly [path: string]: unknown }
  readonly more: { readonly [part: string]: unknown }
}

/**
 * The parts of a declaration and of a resource that have rules of comparison; any difference in other parts breaks. Titles and
 * descriptions are for readers, and no part of a contract.
 */
const knownParts = [
  ...['name', 'resources', 'pairs', 'concepts', 'scopes', 'errors', 'tiers', 'events', 'settings', 'versions'],
  ...['title', 'description', 'contact', 'license', 'externalDocs'],
]
const knownResourceParts = [
  ...[
    'prefix',
    'singular',
    'plural',
    'parent',
    'key',
    'fields',
    'derived',
    'states',
    'operations',
    'access',
    'methods',
    'deprecations',
    'events',
    'history',
  ],
  ...['embed', 'order', 'sorts', 'summaries', 'exports', 'imports', 'indexes', 'uniques', 'settings', 'title'],
  'description',
]

export function contractOf(declaration: Declaration): Contract {
  const compiled = service(declaration) as Service
  const { settings, resources, places, quotas } = compiled
  const all = [...resources].map(
    ([name, one]) => [name, resourceContract(one, compiled.resources, places, settings)] as const,
  )
  return {
    service: declaration.name,
    settings: sortMembers(
      noticeableSettings(settings).map((path) => [path, canonicalValue(contractSetting(settings, path))]),
    ),
    scopes: Object.keys(declaration.scopes ?? {}).toSorted(),
    errors: sortMembers(Object.keys(declaration.errors ?? {}).map((type) => [type, errorContract(type, compiled)])),
    ...tierContracts(quotas),
    resources: sortMembers(all),
    more: unknownParts(declaration, knownParts),
  }
}

function tierContracts(quotas: Quotas | null): Pick<Contract, 'tiers' | 'usualTier'> {
  if (quotas === null) return { tiers: {}, usualTier: null }
  const { first, anonymous, tiers } = quotas
  const all = [...tiers.values(), ...(anonymous ? [anonymous] : [])]
  const quotasIn = ({ policies }: Tier) =>
    sortMembers(policies.map(({ name, quota, window, partition }) => [name, { quota, window, partition }]))
  return {
    tiers: sortMembers(all.map((tier) => [tierName(tier), quotasIn(tier)])),
    usualTier: first && tierName(first),
  }
}

const tierName = ({ policies }: Tier): string => policies[0]?.tier as string

function errorContract(type: string, { errors, errorFields, resources }: Service): ErrorContract {
  const [{ rules }] = [...resources.values()] as [Resource, ...Resource[]]
  const fields = fieldContract(errorFields.get(type) ?? [], rules)
  const hasFields = Object.keys(fields).length > 0
  const status = errors.get(type)?.status as number
  return { status, types: typeChain(errors, type).slice(1), ...(hasFields && { fields }) }
}

function resourceContract(
  resource: Resource,
  resources: ReadonlyMap<string, Resource>,
  places: readonly Endpoint[],
  serviceSettings: Settings,
): ResourceContract {
  const { prefix, key, parent, declaration, methods, settings } = resource
  const own = places.filter(({ methods }) => [...methods.values()][0]?.resource.name === resource.name)
  const differing = noticeableSettings(settings).filter(
    (path) => !isSameValue(contractSetting(settings, path), contractSetting(serviceSettings, path)),
  )
  const embeds = embeddableNames(resource, resources)
  return {
    prefix,
    key,
    parent: parent && { resource: parent.resource, onDelete: parent.onDelete },
    paths: sortMembers(own.map(({ template, methods }) => [template, methodRules(methods)])),
    operations: (pairDeclarationOf(declaration) ? pairMethods : [...methods]).toSorted(),
    ...eventContract(resource, places),
    ...(declaration.history && { history: { retention: historyRetention(declaration.history, settings) } }),
    ...deprecationDates(declaration),
    ...stateContract(resource),
    ...operationContract(resource),
    ...listContract(resource),
    fields: sortMembers(
      Object.entries(fieldTermsOf(resource, resources)).map(([name, terms]) => [name, promisedTerms(terms)]),
    ),
    ...(embeds.length > 0 && { embeds: embeds.toSorted() }),
    order: declaration.order ?? ['id'],
    sorts: sortMembers(Object.entries(declaration.sorts ?? {})),
    uniques: (declaration.uniques ?? []).map((names) => names.toSorted()).toSorted(compareNames),
    settings: sortMembers(differing.map((path) => [path, canonicalValue(contractSetting(settings, path))])),
    more: unknownParts(declaration, knownResourceParts),
  }
}

/** What can be done with pairs, at the URLs below their sides. */
const pairMethods = ['create', 'read', 'remove', 'replace']

function eventContract({ name }: Resource, places: readonly Endpoint[]): Pick<ResourceContract, 'events'> {
  const all = places.flatMap(({ methods }) => methods.get('GET')?.about.events ?? [])
  const own = all.find(({ resource }) => resource.name === name)
  return own ? { events: own.types.toSorted() } : {}
}

function deprecationDates({ deprecations = {} }: ResourceDeclaration): Pick<ResourceContract, 'deprecations'> {
  const moment = (text: string) => new Date(text).toISOString()
  const all = Object.entries(deprecations).map(([operation, { deprecated, sunset }]): [string, DeprecationDates] => [
    operation,
    { deprecated: moment(deprecated), sunset: sunset === undefined ? null : moment(sunset) },
  ])
  return all.length === 0 ? {} : { deprecations: sortMembers(all) }
}

function methodRules(methods: Endpoint['methods']): Record<string, string> {
  const listed = [...methods].filter(([method]) => method !== 'HEAD')
  return sortMembers(listed.map(([method, { rule, rowRule }]) => [method, rowRule ? rowRuleText(rowRule) : rule]))
}

function unknownParts(declared: object, known: readonly string[]): Record<string, unknown> {
  const others = Object.entries(declared).filter(([name, value]) => !known.includes(name) && value !== undefined)
  return sortMembers(others.map(([name, value]) => [name, canonicalValue(value)]))
}

/** A value as JSON with sorted members; of a function only its presence is recorded. */
function canonicalValue(value: unknown): unknown {
  if (typeof value === 'function') return 'function'
  if (Array.isArray(value)) return value.map(canonicalValue)
  if (!isObject(value)) return value ?? null
  return sortMembers(Object.entries(value).map(([name, one]) => [name, canonicalValue(one)]))
}

export const isSameValue = (a: unknown, b: unknown): boolean =>
  JSON.stringify(canonicalValue(a)) === JSON.stringify(canonicalValue(b))

const compareNames = (a: readonly string[], b: readonly string[]): number => (a.join() < b.join() ? -1 : 1)
