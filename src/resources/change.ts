/** Change: the change of a resource in a version, and the declaration of an older version. Part 9, versions. */
// long because: a change of a version is one interface, with the functions that apply it
import type { Aggregate } from '../fields/aggregate.ts'
import type { Field, Fields } from '../fields/field.ts'
import { renameSummaries } from '../fields/summary.ts'
import {
  type Concepts,
  type Deprecations,
  type Operation,
  operations,
  parentDeclarationOf,
  type ResourceDeclaration,
  resolveConcepts,
  type VersionedDeclaration,
  withoutRowRules,
} from './declaration.ts'
import { pairDeclarationOf } from './references.ts'
import {
  mapMembers,
  oldValues,
  oldValuesByNew,
  parentFieldRenaming,
  renameTerms,
  repointFields,
  repointResource,
  type ValueMap,
  withEmbedsBefore,
  without,
  withoutReferences,
} from './repoint.ts'
import { defaultPrefix } from './resource.ts'
import {
  type ChangedOperations,
  type ChangedTransitions,
  childrenBefore,
  type FormerStates,
  type FormerWritable,
  formerStates,
  operationsBefore,
  statesBefore,
  withFormerWhile,
} from './states-before.ts'

/**
 * A comparison of a filter, as `filters` of a change receives and returns it.
 * @example const gold: Comparison = { field: 'tier', is: 'eq', value: 'gold' }
 */
export interface Comparison {
  /** The field: `filters` receives the name of an old one and returns names of new ones. */
  readonly field: string
  /** The operator. */
  readonly is: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'null' | 'like'
  /** The value; for `in` a list, for `null` true or false, for `like` a pattern. */
  readonly value: unknown
}

/** A field that another resource has now. */
interface FieldMove {
  /** The field of this resource with the id of the item that has the value now: a reference, or the id of the parent. */
  readonly by: string
  /** The name of the field there. */
  readonly to: string
  /** The old field; by default as it is declared there now. */
  readonly field?: Field
}

type Document = Readonly<Record<string, unknown>>

/**
 * The change of a resource in a version. Old names are those of the version before, new names those of the version itself.
 * @example
 * const change: ResourceChange = {
 *   about: '`name` replaces `title`, and `note` is new.',
 *   renamed: { title: 'name' },
 *   added: ['note'],
 * }
 */
export interface ResourceChange {
  /** The change in a sentence for users of the older version: `` about: '`note` is new.' ``. */
  readonly about: string
  /** The feature with which a caller gets this change (setting `versions.fromFeatures`); by default the version. R191. */
  readonly feature?: string
  /** The old name of the resource: `was: 'clients'`. */
  readonly was?: string
  /** The resource is new in this version: `begins: true`. */
  readonly begins?: true
  /** The resource is no longer in this version; it stays declared for the older ones: `ends: true`. */
  readonly ends?: true
  /** Old names of fields, each with the new name: `renamed: { mail: 'email' }`. */
  readonly renamed?: Readonly<Record<string, string>>
  /** Fields that only the version before has: `removed: { vip: f.boolean({ default: false }) }`. */
  readonly removed?: Fields
  /** Fields that only the new version has: `added: ['note']`. */
  readonly added?: readonly string[]
  /** The old fields of which only the type or the bounds changed: `retyped: { price: f.integer() }`. */
  readonly retyped?: Fields
  /** Fields that were optional before, with the value for items without one: `required: { name: 'unknown' }`. */
  readonly required?: Readonly<Record<string, unknown>>
  /** Old values of enums, each with the new one: `mapped: { status: { open: 'active' } }`. */
  readonly mapped?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** New values of enums, each with the old one that old clients see: `shown: { status: { paused: 'open' } }`. */
  readonly shown?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Fields that another resource has now: `moved: { country: { by: 'accountId', to: 'country' } }`. */
  readonly moved?: Readonly<Record<string, FieldMove>>
  /** Operations that only the new version has, and those that only the old one has: `methods: { added: ['remove'] }`. */
  readonly methods?: { readonly added?: readonly Operation[]; readonly withdrawn?: readonly Operation[] }
  /**
   * The transitions of the version before: new transitions that it lacks, its own names, and transitions that only it has.
   * @example transitions: { added: ['refunds'], renamed: { dispatches: 'shipments' } }
   */
  readonly transitions?: ChangedTransitions
  /** The states that only the version before has; their transitions are in `withdrawn`: `states: { field: 'status', initial: 'draft' }`. */
  readonly states?: FormerStates
  /** The states that allowed writes before, if fewer do now; null for all: `writable: { change: ['draft', 'placed'] }`. */
  readonly writable?: FormerWritable
  /** The states of the parent that allowed writes before, if fewer do now; null for all: `while: ['draft', 'placed']`. */
  readonly while?: readonly string[] | null
  /** The operations of the version before, as `transitions`: `operations: { renamed: { prices: 'quotes' } }`. */
  readonly operations?: ChangedOperations
  /** Deprecated operations of the version before: `deprecations: { remove: { deprecated: '2026-01-01' } }`. R198. */
  readonly deprecations?: Deprecations
  /** Old names of declared error types, each with the new name: `errors: { 'no-credit': 'credit-exceeded' }`. */
  readonly errors?: Readonly<Record<string, string>>
  /** The new fields (added or retyped) from the old ones: `request: ({ title }) => ({ name: title })`. */
  readonly request?: (old: never) => Document
  /** The old fields (removed or retyped) from the new ones: `response: ({ name }) => ({ title: name })`. */
  readonly response?: (now: never) => Document
  /** Raise it when the results of `request` or `response` change, as ETags depend on it: `revision: 2`. R121. */
  readonly revision?: number
  /**
   * Translates filters of old fields to comparisons of new ones; null refuses the filter.
   * @example filters: { vip: ({ is, value }) => (is === 'eq' && value ? [{ field: 'tier', is, value: 'gold' }] : null) }
   */
  readonly filters?: Readonly<Record<string, (asked: Comparison) => readonly Comparison[] | null>>
  /** The terms that replace an old field in a sort: `sorts: { fullName: ['lastName', 'firstName'] }`. */
  readonly sorts?: Readonly<Record<string, readonly string[]>>
}

/** A change with its version and its resource. */
export interface Change extends ResourceChange {
  /** The version that made the change. */
  readonly version: string
  /** The name of the resource in that version. */
  readonly resource: string
}

export const changeKeys = [
  ...['about', 'feature', 'was', 'begins', 'ends', 'renamed', 'removed', 'added', 'retyped', 'required', 'mapped'],
  ...['shown', 'moved', 'methods', 'states', 'transitions', 'operations', 'writable', 'while', 'deprecations'],
  ...['errors', 'request', 'response', 'revision', 'filters', 'sorts'],
] as readonly (keyof ResourceChange)[]
export const majorOf = (label: string): number => Number(label.slice(1))

/** The labels of all versions, the oldest first; only `v1` if a service declares no versions. R187a. */
export const versionLabels = ({ versions = {} }: Pick<VersionedDeclaration, 'versions'>): string[] => {
  const labels = Object.keys(versions).sort((a, b) => majorOf(a) - majorOf(b))
  return labels.length === 0 ? ['v1'] : labels
}

/** The declaration of a version: the newest declaration with all later changes undone, the latest first. */
export function declarationAt<D extends VersionedDeclaration>(
  declaration: D,
  changes: readonly Change[],
  version: string,
): D {
  const major = majorOf(version)
  let at: VersionedDeclaration = declaration
  const unchanged = new Set(Object.values(declaration.resources))
  for (const change of changes) if (majorOf(change.version) > major) at = declarationBefore(at, change)
  if (at !== declaration)
    at = { ...at, resources: mapMembers(at.resources, (own) => withoutStoredParts(own, unchanged)) }
  const ended = changes.filter((one) => one.ends && majorOf(one.version) <= major).map(({ resource }) => resource)
  const shown =
    ended.length === 0 ? at : withKnownReferences({ ...at, resources: withoutResources(at.resources, ended) })
  return shown as D
}

/** Without what concerns rows as they are stored, which only the newest version says. A resource that has not changed since stays the same object. */
function withoutStoredParts(
  own: ResourceDeclaration,
  unchanged: ReadonlySet<ResourceDeclaration>,
): ResourceDeclaration {
  const ruled = withoutRowRules(own)
  if (unchanged.has(ruled)) return own
  const { indexes: _, ...rest } = ruled
  return rest
}

/** Resources without some of them, and without the pairs of those. */
const withoutResources = (all: VersionedDeclaration['resources'], names: readonly string[]) => {
  const isPaired = (one: ResourceDeclaration) => pairDeclarationOf(one)?.between.some((side) => names.includes(side))
  return without(all, [...names, ...Object.keys(all).filter((name) => isPaired(all[name] as ResourceDeclaration))])
}

/** The declaration before a change. */
export const declarationBefore = (after: VersionedDeclaration, change: Change): VersionedDeclaration =>
  withErrorsBefore(withEmbedsBefore(withoutChange(after, change), after, change), change)

/** Gives the types of errors and the resources that their fields refer to the names before the change. */
function withErrorsBefore(before: VersionedDeclaration, change: Change): VersionedDeclaration {
  const { errors, was, resource } = change
  if (!before.errors || (!errors && was === undefined && !change.begins)) return before
  const oldNames = new Map(Object.entries(errors ?? {}).map(([old, now]) => [now, old]))
  const repointed = mapMembers(underOldNames(before.errors, errors ?? {}), ({ fields, parents, ...own }) => ({
    ...own,
    ...(parents && { parents: parents.map((one) => oldNames.get(one) ?? one) }),
    ...(fields && { fields: repointFields(fields, resource, was ?? resource) }),
  }))
  return withKnownReferences({ ...before, errors: repointed })
}

/** A reference of an error to a resource that a version does not have is a text there. */
function withKnownReferences(declaration: VersionedDeclaration): VersionedDeclaration {
  const { errors, resources } = declaration
  if (!errors) return declaration
  const known = mapMembers(errors, ({ fields, ...own }) =>
    fields ? { ...own, fields: mapMembers(fields, (field) => withoutReferences(field, resources)) } : own,
  )
  return { ...declaration, errors: known }
}

function withoutChange(after: VersionedDeclaration, change: Change): VersionedDeclaration {
  const declaration = { ...after, resources: withNewestSources(after.resources, change.resource) }
  const { resource, was, begins, ends } = change
  if (begins) return { ...declaration, resources: withoutResources(declaration.resources, [resource]) }
  const own = declaration.resources[resource]
  if (!own || ends) return declaration
  const older = resourceBefore(own, change, declaration)
  const others = childrenBefore(declaration.resources, own, change)
  if (was === undefined) return { ...declaration, resources: { ...others, [resource]: older } }
  const named = own.key === undefined ? { prefix: own.prefix ?? defaultPrefix(resource, own), ...older } : older
  const resources = underOldNames({ ...others, [resource]: named }, { [was]: resource })
  const link = parentFieldRenaming(declaration, resource, was)
  const repointed = Object.entries(resources).map(([name, one]) => [name, repointResource(one, resource, was, link)])
  const concepts = declaration.concepts && { concepts: repointFields(declaration.concepts, resource, was) }
  return { ...declaration, ...concepts, resources: Object.fromEntries(repointed) }
}

function resourceBefore(
  own: ResourceDeclaration,
  change: Change,
  declaration: VersionedDeclaration,
): ResourceDeclaration {
  const names = new Map(Object.entries(change.renamed ?? {}).map(([old, now]) => [now, old]))
  const gone = new Set(change.added)
  const formBefore = (fields: Fields, of: Partial<Change>) => fieldsBefore({ fields }, of, declaration)
  const states = own.states ? statesBefore(own.states, change, formBefore) : formerStates(change)
  const { states: _, derived: __, operations: all, ...rest } = own
  const parent = parentDeclarationOf(own)
  const stated = {
    ...rest,
    ...(states && { states }),
    ...((all || change.operations) && { operations: operationsBefore(all ?? {}, change.operations ?? {}, formBefore) }),
    ...(parent && change.while !== undefined && { parent: withFormerWhile(parent, change.while) }),
  }
  const named = renameTerms(
    { ...stated, ...summariesBefore(own, change), fields: fieldsBefore(own, change, declaration) },
    (name) => (gone.has(name) ? null : (names.get(name) ?? name)),
  )
  if (!change.methods && !change.deprecations) return named
  const { added = [], withdrawn = [] } = change.methods ?? {}
  const { methods = operations } = own
  const offered = (one: Operation) => withdrawn.includes(one) || (methods.includes(one) && !added.includes(one))
  const kept = Object.entries(own.deprecations ?? {}).filter(([one]) => offered(one as Operation))
  const deprecations = { ...Object.fromEntries(kept), ...change.deprecations }
  return { ...named, methods: operations.filter(offered), deprecations }
}

/** Summaries before the change. Older versions answer with current values, so a summary of a `retyped` field is left out. */
const summariesBefore = (
  { summaries }: ResourceDeclaration,
  { retyped = {} }: Change,
): Pick<ResourceDeclaration, 'summaries'> =>
  summaries
    ? {
        summaries: renameSummaries(summaries, (path) =>
          Object.hasOwn(retyped, path.split('.', 1)[0] as string) ? null : path,
        ),
      }
    : {}

/** The old fields in order: removed and moved fields are where the first added field is, or else at the end. */
function fieldsBefore(
  { fields, parent }: Pick<ResourceDeclaration, 'fields' | 'parent'>,
  change: Partial<Change>,
  declaration: VersionedDeclaration,
): Fields {
  const { renamed = {}, removed = {}, added = [], retyped = {}, moved = {} } = change
  const names = new Map(Object.entries(renamed).map(([old, now]) => [now, old]))
  const back = Object.entries({ ...removed, ...movedFieldsBefore(fields, parent, moved, declaration) })
  const entries: [string, Field][] = []
  for (const [name, field] of Object.entries(fields)) {
    if (added.includes(name)) entries.push(...back.splice(0))
    else {
      const other = retyped[name] && personalLike(field, retyped[name], declaration)
      entries.push([names.get(name) ?? name, withoutMigration(other ?? fieldBefore(name, field, change, declaration))])
    }
  }
  return Object.fromEntries([...entries, ...back])
}

/** `was`, `fill` and the source of a derived field only apply to the newest version, so that older ones do not have them. */
function withoutMigration(field: Field): Field {
  const { was, fill, derived, ...options } = field.options
  if (was === undefined && fill === undefined && derived === undefined) return field
  return { ...field, options: derived === undefined ? options : { ...options, derived: fromNewest } }
}

/** In older versions, the source of a derived field is that of the newest version. */
const fromNewest = Object.freeze({ of: 'newest', resource: '', field: '' }) as unknown as Aggregate

/** Resources whose totals of rows of a changed resource are those of the newest version. */
const withNewestSources = (resources: VersionedDeclaration['resources'], changed: string) =>
  mapMembers(resources, (one) => {
    const isOther = ({ options: { derived } }: Field) => typeof derived === 'object' && derived.resource === changed
    if (!Object.values(one.fields).some(isOther)) return one
    return { ...one, fields: mapMembers(one.fields, (field) => (isOther(field) ? withoutMigration(field) : field)) }
  })

/** Whether new values sort like their old ones, and no two have the same old one, as equal values are sorted by id. */
export function keepsOrder(values: readonly string[], mapped: ValueMap, shown: ValueMap): boolean {
  const down = [...oldValuesByNew(values, mapped, shown)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, old]) => old)
  return down.every((old, i) => i === 0 || (down[i - 1] as string) < old)
}

/** A field that is in both versions, as it was before the change. */
export function fieldBefore(
  name: string,
  declared: Field,
  { required = {}, mapped = {}, shown = {} }: Partial<Change>,
  declaration: VersionedDeclaration,
): Field {
  let field = declared
  if (Object.hasOwn(mapped, name) || Object.hasOwn(shown, name)) {
    field = resolveConcepts(field, declaration.concepts ?? {})
    const down = oldValuesByNew(field.values ?? [], mapped[name] ?? {}, shown[name] ?? {})
    const { default: usual } = field.options
    const options = usual === undefined ? field.options : { ...field.options, default: down.get(usual as string) }
    field = { ...field, options, values: oldValues(field.values ?? [], mapped[name] ?? {}, shown[name] ?? {}) }
  }
  if (!Object.hasOwn(required, name)) return field
  const { default: _, ...options } = resolveConcepts(field, declaration.concepts ?? {}).options
  return { ...resolveConcepts(field, declaration.concepts ?? {}), options: { ...options, optional: true } }
}

/** The resource that `by` leads to from a resource with these fields: the target of a reference, or the parent. */
export function referencedResource(
  fields: Fields,
  by: string,
  parent: ResourceDeclaration['parent'],
  concepts: Concepts,
): string | undefined {
  const field = fields[by]
  if (field) return resolveConcepts(field, concepts).target
  return parent === undefined ? undefined : parentDeclarationOf({ parent } as ResourceDeclaration)?.resource
}

function movedFieldsBefore(
  fields: Fields,
  parent: ResourceDeclaration['parent'],
  moved: Readonly<Record<string, FieldMove>>,
  declaration: VersionedDeclaration,
): Fields {
  const entries = Object.entries(moved).flatMap(([name, { by, to, field }]) => {
    const target = referencedResource(fields, by, parent, declaration.concepts ?? {})
    const there = target === undefined ? undefined : declaration.resources[target]?.fields[to]
    if (field) return [[name, there ? personalLike(there, field, declaration) : field]]
    if (!there) return []
    const { unique: _, was: __, immutable: ___, ...options } = there.options
    return [[name, { ...there, options }]]
  })
  return Object.fromEntries(entries)
}

/**
 * The older form of a field that an erasure empties is personal too: a row may keep the value of a moved field while it links to no
 * other row. A field that needs a value is never kept in this way.
 */
function personalLike(newer: Field, older: Field, { concepts = {} }: VersionedDeclaration): Field {
  if (!isPersonal(resolveConcepts(newer, concepts)) || !mayBeEmpty(resolveConcepts(older, concepts))) return older
  return { ...older, options: { ...older.options, personal: true } }
}

const isPersonal = ({ options, item, fields = {} }: Field): boolean =>
  options.personal === true || (item !== undefined && isPersonal(item)) || Object.values(fields).some(isPersonal)

function mayBeEmpty({ kind, options }: Field): boolean {
  if (options.optional === true || ['metadata', 'file'].includes(kind)) return true
  if (kind === 'list') return !(Number(options.min) > 0)
  return options.default !== undefined && !options.unique
}

/** The same members under their old names. */
function underOldNames<T>(all: Readonly<Record<string, T>>, names: ValueMap): Record<string, T> {
  const old = new Map(Object.entries(names).map(([old, now]) => [now, old]))
  return Object.fromEntries(Object.entries(all).map(([name, one]) => [old.get(name) ?? name, one]))
}
