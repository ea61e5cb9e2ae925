/** Makes a declaration into one frozen Service: everything is checked, named and prepared here. Part 1. */

import { resourceMetadata } from './auth/metadata.ts'
import { challengeOf } from './auth/scheme.ts'
import { withStoredVersions } from './changes/stored.ts'
import { changeMistakes } from './check/change-mistakes.ts'
import { declarationMistakes } from './check/declaration-mistakes.ts'
import { type OperationRoutes, standardOperations } from './endpoints/operations.ts'
import { servedVersions } from './endpoints/served-versions.ts'
import { type Catalogue, type DeclaredError, extendCatalogue } from './errors/catalogue.ts'
import type { Field, Fields } from './fields/field.ts'
import type { Endpoint, Route, RouteTree, ServedVersion } from './flow/route.ts'
import { type Quotas, quotasOf } from './limits/tier.ts'
import type { Change, Comparison, ResourceChange } from './resources/change.ts'
import type {
  Concepts,
  DeclaredTiers,
  Deprecations,
  Mistake,
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
  ResourceName,
  VersionName,
} from './resources/infer.ts'
import type { CheckedDeclaration } from './resources/infer-faults.ts'
import { makeResource, type Resource } from './resources/resource.ts'
import { type DeclaredSettings, readSettings, type Settings } from './settings.ts'
import { type VersionChoice, versionChoice } from './versions/choose.ts'
import { operationNotices, type VersionNotice, versionNotices } from './versions/notices.ts'

export interface Declaration {
  readonly name: string
  readonly resources: { readonly [name: string]: ResourceDeclaration }
  /** Structures that several resources use under one name. */
  readonly concepts?: Concepts
  readonly scopes?: { readonly [scope: string]: string }
  readonly errors?: { readonly [type: string]: DeclaredError }
  /** Sets of quotas; a caller has those of its tier. */
  readonly tiers?: DeclaredTiers
  readonly settings?: DeclaredSettings
  readonly versions?: Versions
}

export interface Service<D extends Declaration = Declaration> {
  readonly declaration: D
  /** What the versions changed, the newest one first. */
  readonly changes: readonly Change[]
  readonly name: string
  readonly settings: Settings
  readonly resources: ReadonlyMap<string, Resource>
  readonly errors: Catalogue
  /** Null where no tiers are declared. */
  readonly quotas: Quotas | null
  /** The versions, retired ones too, by their names. */
  readonly editions: ReadonlyMap<string, ServedVersion>
  readonly choice: VersionChoice
  readonly notices: ReadonlyMap<string, VersionNotice>
  /** What is told of operations that go, and of the places that have them. */
  readonly going: ReadonlyMap<Route | Endpoint, VersionNotice>
  readonly places: readonly Endpoint[]
  readonly tree: RouteTree
  /** All methods that any place offers. */
  readonly methods: string
  /** How a caller is asked who it is. R165. */
  readonly challenge: string
  /** Texts of JSON that stand at paths of their own. */
  readonly documents: ReadonlyMap<string, string>
}

type NoMembers = Record<never, never>
interface ChangeTypesOf<
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

/** A service whose versions are still being told. */
export interface ServiceWithChanges<D extends Declaration, At = D> extends Service<D> {
  /** Tells what a version changed of a resource, under the name that it has there; the newest change comes first. */
  change<
    R extends ResourceName<At>,
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
    // Type parameters that are constant keep literals, which the deferred types of the fields would let widen to texts.
    const Request extends NewFields<At, R, T> = NewFields<At, R, T>,
    const Response extends OldFields<At, T> = OldFields<At, T>,
  >(
    version: VersionName<D>,
    resource: R,
    change: {
      readonly about: string
      readonly feature?: string
      readonly was?: Was
      readonly begins?: true
      readonly ends?: true
      readonly removed?: Removed
      readonly added?: Added
      readonly renamed?: Renamed
      readonly retyped?: Retyped
      readonly required?: Required
      readonly mapped?: Mapped
      readonly shown?: Shown
      readonly moved?: Moved
      readonly methods?: { readonly added?: readonly Operation[]; readonly withdrawn?: readonly Operation[] }
      readonly deprecations?: Deprecations
      readonly errors?: Readonly<Record<string, string>>
      readonly request?: (old: OldDocument<At, R, T>) => Request
      readonly response?: (now: NewDocument<At, R>) => Response
      readonly revision?: number
      readonly filters?: Readonly<Record<string, (asked: Comparison) => readonly Comparison[] | null>>
      readonly sorts?: Readonly<Record<string, readonly string[]>>
    },
  ): ServiceWithChanges<D, DeclarationBefore<At, R, T>>
}

/** Checks a declaration and makes the service it declares; all mistakes are reported at once. R219. */
export function service<const D extends Declaration>(
  declared: CheckedDeclaration<D, Declaration>,
): ServiceWithChanges<D> {
  return serviceWith(declared as D, {})
}

/** The lists that a new kind of something is added to, as one entry. */
export interface ServiceLists {
  readonly operations: readonly OperationRoutes[]
}

const standardLists: ServiceLists = { operations: standardOperations }

/** The same, with other lists than the standard ones. */
export function serviceWith<D extends Declaration>(
  declaration: D,
  lists: Partial<ServiceLists>,
): ServiceWithChanges<D> {
  throwMistakes(declaration, declarationMistakes(declaration))
  return serviceWithChanges(declaration, [], { ...standardLists, ...lists })
}

/** What follows from the declaration alone is there at once; with changes to come, when it is first asked for. */
// long because: one line for each part of a service
function serviceWithChanges<D extends Declaration>(
  declaration: D,
  changes: readonly Change[],
  lists: ServiceLists,
): ServiceWithChanges<D> {
  let made: PreparedParts | undefined
  const ready = () => {
    made ??= prepareService(declaration, changes, lists)
    return made
  }
  if (!declaration.versions) ready()
  const own = {
    declaration,
    changes,
    name: declaration.name,
    change: (version: string, resource: string, change: object) =>
      serviceWithChanges(declaration, [...changes, { ...(change as ResourceChange), version, resource }], lists),
  }
  const members = preparedNames.map((name) => [name, { enumerable: true, get: () => ready()[name] }] as const)
  return Object.freeze(Object.defineProperties(own, Object.fromEntries(members))) as unknown as ServiceWithChanges<D>
}

type PreparedParts = Omit<Service, 'declaration' | 'changes' | 'name'>
const preparedNames: readonly (keyof PreparedParts)[] = [
  ...(['settings', 'resources', 'errors', 'quotas', 'editions', 'choice', 'notices', 'going'] as const),
  ...(['places', 'tree', 'methods', 'challenge', 'documents'] as const),
]

function prepareService(
  declaration: Declaration,
  changes: readonly Change[],
  { operations }: ServiceLists,
): PreparedParts {
  throwMistakes(declaration, changeMistakes(declaration, changes))
  const settings = readSettings(declaration.settings, undefined, false, () => {})
  const around = { resources: declaration.resources, concepts: declaration.concepts ?? {}, settings }
  const declared = new Map(
    Object.entries(declaration.resources).map(([name, one]) => [name, makeResource(name, one, around)]),
  )
  const resources = withStoredVersions(declared, { declaration, changes, settings })
  const { tokens } = settings.auth
  const issued = tokens && resourceMetadata(declaration.name, Object.keys(declaration.scopes ?? {}), tokens)
  const challenge = challengeOf(declaration.name, issued?.url ?? null)
  const all = servedVersions({ declaration, changes, today: resources, settings, challenge, operations })
  const labels = all.map(({ label }) => label)
  const { versions = {} } = declaration
  const served = labels.filter((label) => versions[label]?.retired === undefined)
  const newest = all.at(-1) as ServedVersion
  const notices = versionNotices(all, declaration, served, settings)
  return {
    settings,
    resources,
    errors: extendCatalogue(declaration.errors ?? {}),
    quotas: quotasOf(declaration.tiers ?? {}, settings.rateLimit),
    editions: new Map(all.map((one) => [one.label, one])),
    choice: versionChoice(declaration, changes, served, settings),
    notices,
    going: operationNotices(all, declaration, notices, settings),
    places: newest.endpoints,
    tree: newest.tree,
    methods: newest.methods,
    challenge,
    documents: new Map(issued?.paths.map((path) => [path, issued.text])),
  }
}

/** Throws all mistakes of a declaration, which the error carries as data too. */
function throwMistakes(declaration: unknown, mistakes: readonly Mistake[]): void {
  if (mistakes.length === 0) return
  const name = (declaration as Declaration | null)?.name
  const lines = mistakes.map(({ place, reason, mend }, i) => `${i + 1}. ${place}: ${reason}\n   ${mend}`)
  const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`
  const whose = typeof name === 'string' ? `The declaration of "${name}"` : 'The declaration'
  throw Object.assign(new Error(`${whose} has ${count}.\n\n${lines.join('\n\n')}\n`), { mistakes })
}
