/** Change: what a version changed of a resource, and the declaration as an older version had it. Part 9, versions. */
import type { Field, Fields } from '../fields/field.ts'
import {
  type Concepts,
  type Deprecations,
  type Operation,
  operations,
  parentDeclarationOf,
  type ResourceDeclaration,
  resolveConcepts,
  type VersionedDeclaration,
} from './declaration.ts'
import { parentFieldRenaming, renameTerms, repointFields, repointResource, without } from './repoint.ts'
import { defaultPrefix } from './resource.ts'

/** A comparison that an older version asks for, in the names of the version that changed it. */
export interface Comparison {
  readonly field: string
  readonly is: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'null' | 'like'
  /** A list for `in`, true or false for `null`, a pattern for `like`. */
  readonly value: unknown
}

/** A field that another resource has now, found by a reference or by the parent. */
interface FieldMove {
  /** The own field whose value is the id of the row that has it now. */
  readonly by: string
  /** The name it has there. */
  readonly to: string
  /** What it was; by default what it is there. */
  readonly field?: Field
}

type Document = Readonly<Record<string, unknown>>

/** What one version changed of one resource. `old` names are those of the version before, `new` ones those of the version itself. */
export interface ResourceChange {
  /** What changed, in a sentence for those who have to move. */
  readonly about: string
  /** The feature that brings a client this change; by default the version. R191. */
  readonly feature?: string
  /** The name that the resource had before. */
  readonly was?: string
  /** The resource begins with this version, or is not in it any more. */
  readonly begins?: true
  readonly ends?: true
  /** Old names of fields, and their new ones. */
  readonly renamed?: Readonly<Record<string, string>>
  /** Fields that only the version before has. */
  readonly removed?: Fields
  /** Fields that only the new version has. */
  readonly added?: readonly string[]
  /** Fields of one name in both, as they were before. */
  readonly retyped?: Fields
  /** Fields that had to be given first in the new version, with what stands where they are not. */
  readonly required?: Readonly<Record<string, unknown>>
  /** Old values of an enum, and the new ones they mean. */
  readonly mapped?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** New values of an enum that have no old one of their own, and the old ones that are shown for them. */
  readonly shown?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly moved?: Readonly<Record<string, FieldMove>>
  /** Methods that came with the new version, and those that ended with the one before. */
  readonly methods?: { readonly added?: readonly Operation[]; readonly withdrawn?: readonly Operation[] }
  /** Operations of the version before that are to be left. R198. */
  readonly deprecations?: Deprecations
  /** Old names of declared types of errors, and their new ones. */
  readonly errors?: Readonly<Record<string, string>>
  /** The new fields of an old document. */
  readonly request?: (old: never) => Document
  /** The old fields of a new document. */
  readonly response?: (now: never) => Document
  /** The number of the functions, raised with each change of what they make: tags of older versions follow it. R121. */
  readonly revision?: number
  /** What a comparison of an old field asks of the new ones; null where it cannot be asked. */
  readonly filters?: Readonly<Record<string, (asked: Comparison) => readonly Comparison[] | null>>
  /** The new order of an old field. */
  readonly sorts?: Readonly<Record<string, readonly string[]>>
}

/** A change with its place: the version that made it, and the resource under the name it has there. */
export interface Change extends ResourceChange {
  readonly version: string
  readonly resource: string
}

export const changeKeys = [
  ...['about', 'feature', 'was', 'begins', 'ends', 'renamed', 'removed', 'added', 'retyped', 'required', 'mapped'],
  ...['shown', 'moved', 'methods', 'deprecations', 'errors', 'request', 'response', 'revision', 'filters', 'sorts'],
] as readonly (keyof ResourceChange)[]
export const majorOf = (label: string): number => Number(label.slice(1))

/** The labels of all versions, the oldest first; of a service that declares none, `v1`. R187a. */
export const versionLabels = ({ versions = {} }: Pick<VersionedDeclaration, 'versions'>): string[] => {
  const labels = Object.keys(versions).sort((a, b) => majorOf(a) - majorOf(b))
  return labels.length === 0 ? ['v1'] : labels
}

/** The whole declaration as a version had it: the newest one with all later changes undone, the latest first. */
export function declarationAt<D extends VersionedDeclaration>(
  declaration: D,
  changes: readonly Change[],
  version: string,
): D {
  const major = majorOf(version)
  let at: VersionedDeclaration = declaration
  for (const change of changes) if (majorOf(change.version) > major) at = declarationBefore(at, change)
  const ended = changes.filter((one) => one.ends && majorOf(one.version) <= major).map(({ resource }) => resource)
  return (ended.length === 0 ? at : { ...at, resources: without(at.resources, ended) }) as D
}

/** A declaration without one change. */
export function declarationBefore(declaration: VersionedDeclaration, change: Change): VersionedDeclaration {
  const { resource, was, begins, ends, errors } = change
  const told = errors && declaration.errors ? { errors: underOldNames(declaration.errors, errors) } : {}
  if (begins) return { ...declaration, ...told, resources: without(declaration.resources, [resource]) }
  const own = declaration.resources[resource]
  if (!own || ends) return { ...declaration, ...told }
  const older = resourceBefore(own, change, declaration)
  if (was === undefined) return { ...declaration, ...told, resources: { ...declaration.resources, [resource]: older } }
  const named = own.key === undefined ? { prefix: own.prefix ?? defaultPrefix(resource, own), ...older } : older
  const resources = underOldNames({ ...declaration.resources, [resource]: named }, { [was]: resource })
  const link = parentFieldRenaming(declaration, resource, was)
  const known = Object.entries(resources).map(([name, one]) => [name, repointResource(one, resource, was, link)])
  const concepts = declaration.concepts && { concepts: repointFields(declaration.concepts, resource, was) }
  return { ...declaration, ...told, ...concepts, resources: Object.fromEntries(known) }
}

function resourceBefore(own: ResourceDeclaration, change: Change, around: VersionedDeclaration): ResourceDeclaration {
  const names = new Map(Object.entries(change.renamed ?? {}).map(([old, now]) => [now, old]))
  const gone = new Set(change.added)
  const named = renameTerms({ ...own, fields: fieldsBefore(own, change, around) }, (name) =>
    gone.has(name) ? null : (names.get(name) ?? name),
  )
  if (!change.methods && !change.deprecations) return named
  const { added = [], withdrawn = [] } = change.methods ?? {}
  const { methods = operations } = own
  const offered = (one: Operation) => withdrawn.includes(one) || (methods.includes(one) && !added.includes(one))
  const left = Object.entries(own.deprecations ?? {}).filter(([one]) => offered(one as Operation))
  const deprecations = { ...Object.fromEntries(left), ...change.deprecations }
  return { ...named, methods: operations.filter(offered), deprecations }
}

/** The fields of before in their order: what was removed stands where something was added for it, else at the end. */
function fieldsBefore({ fields, parent }: ResourceDeclaration, change: Change, around: VersionedDeclaration): Fields {
  const { renamed = {}, removed = {}, added = [], retyped = {}, moved = {} } = change
  const names = new Map(Object.entries(renamed).map(([old, now]) => [now, old]))
  const back = Object.entries({ ...removed, ...movedFieldsBefore(fields, parent, moved, around) })
  const found: [string, Field][] = []
  for (const [name, field] of Object.entries(fields)) {
    if (added.includes(name)) found.push(...back.splice(0))
    else
      found.push([names.get(name) ?? name, withoutMigration(retyped[name] ?? fieldBefore(name, field, change, around))])
  }
  return Object.fromEntries([...found, ...back])
}

/** The former name of a column, and what stored values become, concern the newest version alone. */
function withoutMigration(field: Field): Field {
  const { was, fill, ...options } = field.options
  return was === undefined && fill === undefined ? field : { ...field, options }
}

/** Whether old values stand in the order of the new ones that they are shown for, each one for one: rows of the same value are told apart by id. */
export function keepsOrder(values: readonly string[], mapped: ValueMap, shown: ValueMap): boolean {
  const down = [...oldValuesByNew(values, mapped, shown)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, old]) => old)
  return down.every((old, i) => i === 0 || (down[i - 1] as string) < old)
}

/** A field that is in both versions, without what the change did to it. */
export function fieldBefore(
  name: string,
  given: Field,
  { required = {}, mapped = {}, shown = {} }: Change,
  around: VersionedDeclaration,
): Field {
  let field = given
  if (Object.hasOwn(mapped, name) || Object.hasOwn(shown, name)) {
    field = resolveConcepts(field, around.concepts ?? {})
    const down = oldValuesByNew(field.values ?? [], mapped[name] ?? {}, shown[name] ?? {})
    const { default: usual } = field.options
    const options = usual === undefined ? field.options : { ...field.options, default: down.get(usual as string) }
    field = { ...field, options, values: oldValues(field.values ?? [], mapped[name] ?? {}, shown[name] ?? {}) }
  }
  if (!Object.hasOwn(required, name)) return field
  const { default: _, ...options } = resolveConcepts(field, around.concepts ?? {}).options
  return { ...resolveConcepts(field, around.concepts ?? {}), options: { ...options, optional: true } }
}

type ValueMap = Readonly<Record<string, string>>

/** The values that an enum had before its values were mapped. */
function oldValues(values: readonly string[], mapped: ValueMap, shown: ValueMap): string[] {
  return values.flatMap((value) => {
    const from = Object.keys(mapped).filter((old) => mapped[old] === value)
    return from.length > 0 ? from : Object.hasOwn(shown, value) ? [] : [value]
  })
}

/** The old value of each new one. */
export function oldValuesByNew(values: readonly string[], mapped: ValueMap, shown: ValueMap): Map<string, string> {
  const first = (value: string) => Object.keys(mapped).find((old) => mapped[old] === value)
  return new Map(values.map((value) => [value, shown[value] ?? first(value) ?? value]))
}

/** The resource that a reference or the parent leads to, from a resource with these fields. */
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
  around: VersionedDeclaration,
): Fields {
  const found = Object.entries(moved).flatMap(([name, { by, to, field }]) => {
    const target = referencedResource(fields, by, parent, around.concepts ?? {})
    const there = target === undefined ? undefined : around.resources[target]?.fields[to]
    if (field) return [[name, field]]
    if (!there) return []
    const { unique: _, was: __, immutable: ___, ...options } = there.options
    return [[name, { ...there, options }]]
  })
  return Object.fromEntries(found)
}

/** The same members under their old names. */
function underOldNames<T>(all: Readonly<Record<string, T>>, names: ValueMap): Record<string, T> {
  const old = new Map(Object.entries(names).map(([old, now]) => [now, old]))
  return Object.fromEntries(Object.entries(all).map(([name, one]) => [old.get(name) ?? name, one]))
}
