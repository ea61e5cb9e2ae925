/** Service: checks a declaration and prepares everything that requests need, in one frozen object. Part 1. */
// long because: `changes` and the types of its argument belong together

import { challengeOf } from './auth/credentials.ts'
import { resourceMetadata } from './auth/metadata.ts'
import { withStoredVersions } from './changes/stored.ts'
import { declarationMistakes, throwMistakes } from './check/declaration-mistakes.ts'
import { endpointMakers } from './deliveries/endpoint-makers.ts'
import { aggregateMakers } from './effects/aggregate-makers.ts'
import { type RowWriter, rowWriter } from './effects/row-writer.ts'
import { batchPath, batchRoute } from './endpoints/batch-route.ts'
import { type Catalogue, extendCatalogue } from './errors/catalogue.ts'
import { eventRoutes } from './events/event-routes.ts'
import { addFormerActions, type EventScope, eventScope } from './events/event-scope.ts'
import { reactionRoutes } from './events/reaction-routes.ts'
import type { Field, Fields } from './fields/field.ts'
import { standardKinds } from './fields/kinds.ts'
import { fileMakers } from './files/file-makers.ts'
import type { Endpoint, Route, RouteTree, ServedVersion } from './flow/route.ts'
import type { HandlerOptions, Handlers, ReactionTypes } from './handlers/infer-handlers.ts'
import { checkOwnHandlers, type OwnHandlers } from './handlers/own-handlers.ts'
import { hasHistory } from './history/forget-revisions.ts'
import { jobMakers } from './jobs/job-maker.ts'
import { type Quotas, quotasOf } from './limits/tier.ts'
import type { Change, Comparison, ResourceChange } from './resources/change.ts'
import type {
  Concepts,
  DeclarationContext,
  DeclaredTiers,
  Deprecations,
  ErrorDeclaration,
  Operation,
  ResourceDeclaration,
  Versions,
} from './resources/declaration.ts'
import type {
  ChangeTypes,
  DeclarationBefore,
  FieldName,
  NewDocument,
  NewFields,
  OldDocument,
  OldFields,
  PairName,
  ResourceName,
  VersionName,
} from './resources/infer.ts'
import type { CheckedDeclaration } from './resources/infer-faults.ts'
import type { InputField } from './resources/machine.ts'
import type { Pairs } from './resources/references.ts'
import { makeResource, type Resource } from './resources/resource.ts'
import { declaredEventTypes } from './resources/resource-collection.ts'
import { impliedScopes, withServiceFields } from './resources/service-fields.ts'
import {
  type ChangedOperations,
  type ChangedTransitions,
  type FormerStates,
  type FormerWritable,
  withFormerStateField,
} from './resources/states-before.ts'
import { changeMistakes } from './review/change-mistakes.ts'
import { standardOperations } from './routing/operations.ts'
import { type PagePaths, pagePaths } from './routing/page-paths.ts'
import {
  type ServiceLists,
  type ServiceRoute,
  servedVersions,
  type VersionContexts,
} from './routing/served-versions.ts'
import { type RuledResources, ruledResources } from './rules/row-rules.ts'
import { type DeclaredSettings, readSettings, type Settings } from './settings.ts'
import { timerMakers } from './timers/timer-maker.ts'
import { operationNotices, type VersionNotice, versionNotices } from './versions/notices.ts'
import { type VersionChoice, versionChoice } from './versions/version-choice.ts'

/** The declaration of a service, as `service` takes it. Only `name` and `resources` are required. */
export interface Declaration {
  /** The name of the service in kebab-case: `name: 'my-shop'`. */
  readonly name: string
  /** The title of the API's description; the name unless given: `title: 'My shop'`. */
  readonly title?: string
  /** What the service is for, in Markdown, at the beginning of the API's description. */
  readonly description?: string
  /** Whom to ask: `contact: { email: 'api@example.com' }`. */
  readonly contact?: { readonly name?: string; readonly url?: string; readonly email?: string }
  /** The license of the API: `license: { name: 'Apache 2.0', identifier: 'Apache-2.0' }`. */
  readonly license?: { readonly name: string; readonly identifier?: string; readonly url?: string }
  /** Further documentation: `externalDocs: { url: 'https://docs.example.com' }`. */
  readonly externalDocs?: { readonly url: string; readonly description?: string }
  /** Resources; their names are plural nouns: `resources: { notes: { fields: { text: f.text() }, access: 'public' } }`. */
  readonly resources: { readonly [name: string]: ResourceDeclaration }
  /** Many-to-many relations by name: `pairs: { enrolments: { between: ['students', 'courses'], access: 'public' } }`. */
  readonly pairs?: Pairs
  /** Fields that resources share, used by `f.concept`: `concepts: { address: f.object({ city: f.text() }) }`. */
  readonly concepts?: Concepts
  /** The scopes of access rules, each with a description: `scopes: { 'orders:read': 'Read orders' }`. */
  readonly scopes?: { readonly [scope: string]: string }
  /** Own types of errors: `errors: { 'credit-exceeded': { status: 409, parents: ['conflict'] } }`. */
  readonly errors?: { readonly [type: string]: ErrorDeclaration }
  /** Sets of quotas; a key or token names the tier of its caller: `tiers: { free: { hourly: 1000 } }`. */
  readonly tiers?: DeclaredTiers
  /** Whether changes of items are recorded as events, which `GET /events` lists; off by default: `events: true`. R206. */
  readonly events?: boolean
  /** Settings that differ from the defaults: `settings: { naming: 'snake', list: { maxPageSize: 50 } }`. */
  readonly settings?: DeclaredSettings
  /** The versions, if there is more than one: `versions: { v1: { released: '2026-01-15' } }`. */
  readonly versions?: Versions
}

/** A checked declaration, ready to serve: the default export of `api.ts`, for the command line and for `testing`. */
export interface Service<D extends Declaration = Declaration> {
  /** The declaration as it was given. */
  readonly declaration: D
  /** The changes between versions, the newest one first. */
  readonly changes: readonly Change[]
  /** The name of the service. */
  readonly name: string
  readonly settings: Settings
  /** Its handlers; null without any. */
  readonly ownHandlers: OwnHandlers | null
  readonly resources: ReadonlyMap<string, Resource>
  /** Makes the writes of rows, with their effects. */
  readonly writer: RowWriter
  readonly errors: Catalogue
  /** The further members of declared types of errors. R160. */
  readonly errorFields: ReadonlyMap<string, readonly InputField[]>
  /** The events of each version, by its name. */
  readonly events: ReadonlyMap<string, EventScope>
  /** Null if no tiers are declared. */
  readonly quotas: Quotas | null
  /** The versions by name, retired ones too. */
  readonly editions: ReadonlyMap<string, ServedVersion>
  readonly choice: VersionChoice
  readonly notices: ReadonlyMap<string, VersionNotice>
  /** Whether it keeps revisions of any resource. */
  readonly keepsHistory: boolean
  /** Null if no access rule depends on rows. */
  readonly ruled: RuledResources | null
  /** The notices of deprecated operations, and of the endpoints that have them. */
  readonly going: ReadonlyMap<Route | Endpoint, VersionNotice>
  readonly places: readonly Endpoint[]
  readonly tree: RouteTree
  /** The methods that any endpoint offers, as the header `Allow` lists them. */
  readonly methods: string
  /** The header `WWW-Authenticate` of answers with 401. R165. */
  readonly challenge: string
  /** Where the pages for people are. */
  readonly pages: PagePaths
  /** JSON documents by their path, for example the metadata of the authorization server. */
  readonly documents: ReadonlyMap<string, string>
}

type NoMembers = Record<never, never>
/** The types of a change; the type of a service with changes names it. */
export interface ChangeTypesOf<
  Was extends string,
  Removed,
  Added extends readonly unknown[],
  Renamed,
  Retyped,
  Required,
  Mapped,
  Shown,
  Moved,
> {
  readonly was: Was
  readonly removed: Removed
  readonly added: Added
  readonly renamed: Renamed
  readonly retyped: Retyped
  readonly required: Required
  readonly mapped: Mapped
  readonly shown: Shown
  readonly moved: Moved
}

/** A service to which changes between versions and handlers can be added. */
export interface ServiceWithChanges<D extends Declaration, At = D> extends Service<D> {
  /**
   * Adds handlers: functions of the service's own that decide on writes. They are the default export of `handlers.ts`,
   * which `bylaw serve` takes in place of `api.ts`.
   * @example
   * export default api.handlers({
   *   orders: {
   *     async create({ input, get, refuse }) {
   *       const customer = await get('customers', input.customerId)
   *       if (customer?.blocked) throw refuse('customer-blocked', { pointer: '/customerId' })
   *     },
   *   },
   * })
   */
  handlers<Used = undefined, const Reactions extends ReactionTypes<D> = NoMembers>(
    handlers: Handlers<D, Used, Reactions>,
    options?: HandlerOptions<Used>,
  ): Service<D>
  /**
   * Adds the change of a resource in a version, under its name in that version. The newest change comes first. Older
   * versions follow from the changes: their fields, bodies, filters, errors and descriptions.
   * @example
   * export default service(declaration).change('v2', 'customers', {
   *   about: '`name` replaces `title`, and `mail` is called `email`.',
   *   renamed: { mail: 'email' },
   *   removed: { title: f.text() },
   *   added: ['name'],
   *   request: ({ title }) => ({ name: title }),
   *   response: ({ name }) => ({ title: name }),
   * })
   */
  change<
    R extends ResourceName<At> | PairName<At>,
    const Was extends string = string,
    const Removed extends Fields = NoMembers,
    const Added extends readonly FieldName<At, R>[] = readonly [],
    const Renamed extends Readonly<Record<string, FieldName<At, R>>> = NoMembers,
    const Retyped extends { readonly [K in FieldName<At, R>]?: Field } = NoMembers,
    const Required extends { readonly [K in FieldName<At, R>]?: unknown } = NoMembers,
    const Mapped extends { readonly [K in FieldName<At, R>]?: Readonly<Record<string, string>> } = NoMembers,
    const Shown extends { readonly [K in FieldName<At, R>]?: Readonly<Record<string, string>> } = NoMembers,
    const Moved extends NonNullable<ResourceChange['moved']> = NoMembers,
    T extends ChangeTypes = ChangeTypesOf<Was, Removed, Added, Renamed, Retyped, Required, Mapped, Shown, Moved>,
    // `const` keeps literal types, which the deferred types of the fields would widen to `string`.
    const Request extends NewFields<At, R, T> = NewFields<At, R, T>,
    const Response extends OldFields<At, T> = OldFields<At, T>,
  >(
    version: VersionName<D>,
    resource: R,
    change: {
      /** The change in a sentence for users of the older version: `` about: '`note` is new.' ``. */
      readonly about: string
      /** The feature with which a caller gets this change; by default the version: `feature: 'early'`. */
      readonly feature?: string
      /** The old name of the resource: `was: 'clients'`. */
      readonly was?: Was
      /** The resource is new in this version: `begins: true`. */
      readonly begins?: true
      /** The resource is no longer in this version: `ends: true`. */
      readonly ends?: true
      /** Fields that only the version before has: `removed: { vip: f.boolean({ default: false }) }`. */
      readonly removed?: Removed
      /** Fields that only the new version has: `added: ['note']`. */
      readonly added?: Added
      /** Old names of fields, each with the new name: `renamed: { mail: 'email' }`. */
      readonly renamed?: Renamed
      /** The old fields of which only the type or the bounds changed: `retyped: { price: f.integer() }`. */
      readonly retyped?: Retyped
      /** Fields that were optional before, with the value for items without one: `required: { name: 'unknown' }`. */
      readonly required?: Required
      /** Old values of enums, each with the new one: `mapped: { status: { open: 'active' } }`. */
      readonly mapped?: Mapped
      /** New values of enums, each with the old one that old clients see: `shown: { status: { paused: 'open' } }`. */
      readonly shown?: Shown
      /** Fields that another resource has now: `moved: { country: { by: 'accountId', to: 'country' } }`. */
      readonly moved?: Moved
      /** Operations that only the new version has, and those that only the old one has: `methods: { added: ['remove'] }`. */
      readonly methods?: { readonly added?: readonly Operation[]; readonly withdrawn?: readonly Operation[] }
      /** Transitions that only the new version has, and old names of others: `transitions: { added: ['refunds'] }`. */
      readonly transitions?: ChangedTransitions
      /** The states that only the version before has; their transitions are in `withdrawn`: `states: { field: 'status', initial: 'draft' }`. */
      readonly states?: FormerStates
      /** The states that allowed writes before, if fewer do now; null for all: `writable: { change: ['draft', 'placed'] }`. */
      readonly writable?: FormerWritable
      /** The states of the parent that allowed writes before, if fewer do now; null for all: `while: ['draft', 'placed']`. */
      readonly while?: readonly string[] | null
      /** How declared operations differed: `operations: { added: ['audits'], renamed: { prices: 'quotes' } }`. */
      readonly operations?: ChangedOperations
      /** Deprecated operations of the version before: `deprecations: { remove: { deprecated: '2026-01-01' } }`. */
      readonly deprecations?: Deprecations
      /** Old names of declared error types, each with the new name: `errors: { 'no-credit': 'credit-exceeded' }`. */
      readonly errors?: Readonly<Record<string, string>>
      /** The new fields (added or retyped) from the old ones: `request: ({ title }) => ({ name: title })`. */
      readonly request?: (old: OldDocument<At, R, T>) => Request
      /** The old fields (removed or retyped) from the new ones: `response: ({ name }) => ({ title: name })`. */
      readonly response?: (now: NewDocument<At, R>) => Response
      /** Raise it when the results of `request` or `response` change, as ETags depend on it: `revision: 2`. */
      readonly revision?: number
      /** Translates filters of old fields to comparisons of new ones; null refuses the filter. */
      readonly filters?: Readonly<Record<string, (asked: Comparison) => readonly Comparison[] | null>>
      /** The terms that replace an old field in a sort: `sorts: { fullName: ['lastName', 'firstName'] }`. */
      readonly sorts?: Readonly<Record<string, readonly string[]>>
    },
  ): ServiceWithChanges<D, DeclarationBefore<At, R, T>>
}

/**
 * Makes a service of a declaration. Throws one error that lists all mistakes, each with its place and how to fix it. R219.
 * @example
 * export default service({
 *   name: 'library',
 *   resources: { books: { fields: { title: f.text({ max: 200, sort: true }) }, access: 'public' } },
 * })
 */
export function service<const D extends Declaration>(
  declared: CheckedDeclaration<D, Declaration>,
): ServiceWithChanges<D> {
  return serviceWith(declared as D, {})
}

const standardLists: ServiceLists = { operations: standardOperations, effects: [], kinds: standardKinds }

/** Makes a service with given lists of operations, effects and routes in place of the standard ones. */
export function serviceWith<D extends Declaration>(
  declaration: D,
  lists: Partial<ServiceLists>,
): ServiceWithChanges<D> {
  const all = { ...standardLists, ...lists }
  throwMistakes(declaration, declarationMistakes(declaration, all.kinds))
  return serviceWithChanges(withImpliedScopes(declaration), [], all)
}

/** The declaration with the scopes that it implies. */
const withImpliedScopes = <D extends Declaration>(declaration: D): D => {
  const implied = impliedScopes(declaration)
  if (Object.keys(implied).length === 0) return declaration
  return { ...declaration, scopes: { ...declaration.scopes, ...implied } }
}

/** Without versions the service is prepared at once; with versions when it is first used, as changes may still be added. */
// long because: one line for each part of a service
function serviceWithChanges<D extends Declaration>(
  declaration: D,
  changes: readonly Change[],
  lists: ServiceLists,
  ownHandlers: OwnHandlers | null = null,
): ServiceWithChanges<D> {
  let parts: PreparedParts | undefined
  const ready = () => {
    parts ??= prepareService(declaration, changes, lists)
    return parts
  }
  if (!declaration.versions) ready()
  const own = {
    declaration,
    changes,
    name: declaration.name,
    change: (version: string, resource: string, change: object) =>
      serviceWithChanges(
        declaration,
        [...changes, withFormerStateField({ ...(change as ResourceChange), version, resource })],
        lists,
        ownHandlers,
      ),
    handlers: (declared: OwnHandlers['handlers'], options: Omit<OwnHandlers, 'handlers' | 'reactions'> = {}) => {
      const handlers = ownHandlersOf(declaration, declared, options)
      return serviceWithChanges(declaration, changes, lists, handlers)
    },
    ownHandlers,
  }
  const members = preparedNames.map((name) => [name, { enumerable: true, get: () => ready()[name] }] as const)
  return Object.freeze(Object.defineProperties(own, Object.fromEntries(members))) as unknown as ServiceWithChanges<D>
}

/** The handlers of a service, apart from its reactions. Throws all mistakes in their names. */
function ownHandlersOf(
  { name, resources, events, settings }: Declaration,
  declared: OwnHandlers['handlers'],
  options: Omit<OwnHandlers, 'handlers' | 'reactions'>,
): OwnHandlers {
  const { reactions, ...rest } = declared as OwnHandlers['handlers'] & Pick<OwnHandlers, 'reactions'>
  const isOther = reactions === undefined || Object.hasOwn(resources, 'reactions')
  const own: OwnHandlers = isOther ? { handlers: declared, ...options } : { handlers: rest, reactions, ...options }
  const eventTypes = declaredEventTypes(
    resources,
    events,
    readSettings(settings, undefined, false, () => {}),
  )
  checkOwnHandlers({ name, resources, eventTypes }, own)
  return own
}

type PreparedParts = Omit<Service, 'declaration' | 'changes' | 'name' | 'ownHandlers'>
const preparedNames: readonly (keyof PreparedParts)[] = [
  ...([
    'settings',
    'resources',
    'writer',
    'errors',
    'errorFields',
    'events',
    'quotas',
    'editions',
    'choice',
    'notices',
    'going',
    'keepsHistory',
    'ruled',
  ] as const),
  ...(['places', 'tree', 'methods', 'challenge', 'pages', 'documents'] as const),
]

/** Batches, events and reactions are not stored resources, but need the settings and the description of one. */
const unstored = (description: string, prefix?: string): ResourceDeclaration => ({
  ...{ fields: {}, access: 'public', methods: [], description },
  ...(prefix !== undefined && { prefix }),
})

/** Makes the routes of each version that belong to no resource. */
function serviceRoutesOf(
  service: string,
  context: DeclarationContext,
  challenge: string,
  scopes: Map<string, EventScope>,
  resources: ReadonlyMap<string, Resource>,
) {
  const { batches: most } = context.settings
  const makeOne = (name: string, declared: ResourceDeclaration) => makeResource(name, declared, context)
  const groups = [...resources.values()].some((one) => one.settings.cache.groups)
  const ofBatches = { ...unstored('Several operations, all or none.'), settings: { cache: { groups } } }
  const batchResource = makeOne('batches', ofBatches)
  const batches: ServiceRoute[] = most === null ? [] : [[batchPath, batchRoute(batchResource, most)]]
  const events = makeOne('events', unstored('The changes of items, in their order.', 'evt'))
  const reactionsResource = makeOne('reactions', unstored('The functions of the service that follow events.', 'evt'))
  return ({ label, contexts }: VersionContexts): readonly ServiceRoute[] => {
    const scope = eventScope(service, label, contexts.values())
    scopes.set(label, scope)
    if (scope.sources.length === 0) return batches
    const reactions = context.settings.events.reactions ? reactionRoutes(scope, reactionsResource) : []
    return [...batches, ...eventRoutes(scope, events, challenge), ...reactions]
  }
}

/** The effects of writes in every service; the service's lists can add others. */
const standardMakers = (resources: ReadonlyMap<string, Resource>, { operations }: Settings) => [
  ...aggregateMakers(resources),
  ...timerMakers(resources),
  ...jobMakers(resources, operations.retention),
  ...endpointMakers(resources),
  ...fileMakers(resources),
]

function prepareService(declared: Declaration, changes: readonly Change[], lists: ServiceLists): PreparedParts {
  const declaration = { ...declared, resources: withServiceFields(declared) }
  throwMistakes(declaration, changeMistakes(declaration, changes, lists.kinds))
  const settings = readSettings(declaration.settings, undefined, false, () => {})
  const rules = { settings, kinds: lists.kinds }
  const { resources: all, concepts = {}, events = false, versions = {} } = declaration
  const context = { resources: all, concepts, events, ...rules }
  const declaredResources = new Map(Object.entries(all).map(([name, one]) => [name, makeResource(name, one, context)]))
  const resources = withStoredVersions(declaredResources, { declaration, changes, rules })
  const writer = rowWriter(resources, [...lists.effects, ...standardMakers(resources, settings)])
  const { tokens } = settings.auth
  const issued = tokens && resourceMetadata(declaration.name, Object.keys(declaration.scopes ?? {}), tokens)
  const challenge = challengeOf(declaration.name, issued?.url ?? null)
  const scopes = new Map<string, EventScope>()
  const serviceRoutes = serviceRoutesOf(declaration.name, context, challenge, scopes, resources)
  const shared = { declaration, changes, today: resources, settings, challenge, writer, serviceRoutes }
  const editions = servedVersions({ ...shared, ...lists })
  const served = editions.flatMap(({ label }) => (versions[label]?.retired === undefined ? [label] : []))
  const newest = editions.at(-1) as ServedVersion
  const notices = versionNotices(editions, declaration, served, settings)
  return {
    settings,
    resources,
    writer,
    ...{ errors: extendCatalogue(declaration.errors ?? {}), errorFields: newest.errorFields },
    events: addFormerActions(scopes),
    quotas: quotasOf(declaration.tiers ?? {}, settings.rateLimit),
    editions: new Map(editions.map((one) => [one.label, one])),
    choice: versionChoice(declaration, changes, served, settings),
    notices,
    ...{ keepsHistory: hasHistory(resources), ruled: ruledResources(resources) },
    going: operationNotices(editions, declaration, notices, settings),
    places: newest.endpoints,
    tree: newest.tree,
    methods: newest.methods,
    challenge,
    pages: pagePaths(settings, editions),
    documents: new Map(issued?.paths.map((path) => [path, issued.text])),
  }
}
