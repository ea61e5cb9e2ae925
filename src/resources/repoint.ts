/** Repoint: changes the references of a declaration to a renamed resource, its names of `embed`, and the names of enum values. Part 9, versions. */
import type { Field, Fields } from '../fields/field.ts'
import { renameSummaries } from '../fields/summary.ts'
import { singularOf, toCase } from '../formats/naming.ts'
import { parentDeclarationOf, type ResourceDeclaration, type VersionedDeclaration } from './declaration.ts'
import type { DeclaredOperations } from './own-operations.ts'
import { pairDeclarationOf, type Relation, relatedResources, relationsOf } from './references.ts'

/** The name of the parent's id in its children, before and after the parent was renamed. */
export function parentFieldRenaming({ resources, settings }: VersionedDeclaration, now: string, was: string): Renaming {
  const link = (name: string) =>
    toCase(`${resources[now]?.singular ?? singularOf(name)}-id`, settings?.naming ?? 'camel')
  return { old: link(was), now: link(now) }
}

type Renaming = { readonly old: string; readonly now: string }

/** Names a resource by its old name in references and, in its children and pairs, in the name of its id. */
export function repointResource(
  one: ResourceDeclaration,
  now: string,
  was: string,
  link: Renaming,
): ResourceDeclaration {
  const parent = parentDeclarationOf(one)
  const fields = repointFields(one.fields, now, was)
  const calls = one.operations && { operations: repointOperations(one.operations, now, was) }
  if (pairDeclarationOf(one)?.between[1] === now) {
    const { [link.now]: key, ...own } = fields
    return { ...one, key: link.old, fields: { [link.old]: key as Field, ...own } }
  }
  if (parent?.resource !== now) return { ...one, ...calls, fields }
  const named = renameTerms(one, (name) => (name === link.now ? link.old : name))
  return { ...named, ...calls, fields, parent: { ...parent, resource: was } }
}

const repointOperations = (operations: DeclaredOperations, now: string, was: string): DeclaredOperations =>
  Object.fromEntries(
    Object.entries(operations).map(([name, { input = {}, output = {}, ...one }]) => [
      name,
      { ...one, input: repointFields(input, now, was), output: repointFields(output, now, was) },
    ]),
  )

export const repointFields = (fields: Fields, now: string, was: string): Fields =>
  mapMembers(fields, (field) => repointField(field, now, was))

export const mapMembers = <T>(all: { readonly [name: string]: T }, convert: (one: T) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(all).map(([name, one]) => [name, convert(one)]))

function repointField(field: Field, now: string, was: string): Field {
  const { kind, item, fields, target } = field
  if (kind === 'ref' && target === now) return { ...field, target: was }
  if (item) return { ...field, item: repointField(item, now, was) }
  return fields ? { ...field, fields: repointFields(fields, now, was) } : field
}

/** The field with texts in place of references to resources that do not exist. */
export function withoutReferences(field: Field, resources: VersionedDeclaration['resources']): Field {
  const { kind, item, fields, target = '', options } = field
  if (kind === 'ref' && !Object.hasOwn(resources, target)) {
    const { onDelete: _, ...others } = options
    return { kind: 'text', options: others }
  }
  if (item) return { ...field, item: withoutReferences(item, resources) }
  return fields ? { ...field, fields: mapMembers(fields, (one) => withoutReferences(one, resources)) } : field
}

/** Replaces the names of `embed` by those before a change, and leaves out names that did not exist then. */
export function withEmbedsBefore(
  before: VersionedDeclaration,
  after: VersionedDeclaration,
  change: EmbedChange,
): VersionedDeclaration {
  if (!Object.values(before.resources).some(({ embed }) => Array.isArray(embed))) return before
  const [was, is] = [before, after].map((one) => {
    const all = relatedResources(one)
    return (name: string) => relationsOf(name, all, one.settings?.naming ?? 'camel')
  }) as [RelationsByName, RelationsByName]
  const oldName = (name: string) => (name === change.resource ? (change.was ?? name) : name)
  const oldField = (name: string, field: string) => {
    const renamed = Object.entries(name === change.resource ? (change.renamed ?? {}) : {})
    return renamed.find(([, now]) => now === field)?.[0] ?? field
  }
  const pathBefore = (name: string, [first = '', ...rest]: readonly string[]): string[] | null => {
    const now = is(name).find((one) => one.name === first)
    if (!now || (now.by === 'field' && name === change.resource && change.added?.includes(now.field))) return null
    const old = was(oldName(name)).find(
      ({ by, field, resource }) =>
        by === now.by && (by === 'field' ? field === oldField(name, now.field) : resource === oldName(now.resource)),
    )
    const below = rest.length === 0 ? [] : pathBefore(now.resource, rest)
    return old && below ? [old.name, ...below] : null
  }
  const resources = Object.entries(before.resources).map(([name, own]): [string, ResourceDeclaration] => {
    const { embed, ...rest } = own
    if (typeof embed !== 'object') return [name, own]
    const now = Object.keys(after.resources).find((one) => oldName(one) === name) ?? name
    const kept = [
      ...embed.flatMap((path) => pathBefore(now, path.split('.'))?.join('.') ?? []),
      ...(now === change.resource ? lostReferences(change, was(name)) : []),
    ]
    if (kept.join() === embed.join()) return [name, own]
    return [name, kept.length === 0 ? rest : { ...rest, embed: kept }]
  })
  return { ...before, resources: Object.fromEntries(resources) }
}

type RelationsByName = (name: string) => readonly Relation[]

/** The names of references that the change has removed or moved: the version before it still embeds them. */
const lostReferences = ({ removed, moved }: EmbedChange, before: readonly Relation[]): string[] =>
  before
    .filter(({ by, field }) => by === 'field' && Object.hasOwn({ ...removed, ...moved }, field))
    .map(({ name }) => name)

/** The parts of a change that rename, add or remove names of `embed`. */
interface EmbedChange {
  readonly resource: string
  readonly was?: string
  readonly renamed?: Readonly<Record<string, string>>
  readonly added?: readonly string[]
  readonly removed?: object
  readonly moved?: object
}

/** Renames fields in the key, the orders, summaries and uniques of a resource; null leaves a term out. */
export function renameTerms(own: ResourceDeclaration, name: (field: string) => string | null): ResourceDeclaration {
  const term = (text: string): string[] => {
    const [, sign = '', top = '', inner = ''] = /^(-?)([^.]*)(.*)$/.exec(text) ?? []
    const named = name(top)
    return named === null ? [] : [sign + named + inner]
  }
  const { key, order, sorts, summaries, uniques, ...rest } = own
  const several = (lists: readonly (readonly string[])[]) =>
    lists.map((one) => one.flatMap(term)).filter(({ length }) => length > 1)
  const usual = order?.flatMap(term) ?? []
  const customs = Object.entries(sorts ?? {}).map(([custom, list]) => [custom, list.flatMap(term)] as const)
  const kept = customs.filter(([, { length }]) => length > 0)
  return {
    ...rest,
    ...(key === undefined ? {} : { key: name(key) ?? key }),
    ...(usual.length > 0 ? { order: usual } : {}),
    ...(kept.length > 0 ? { sorts: Object.fromEntries(kept) } : {}),
    ...(summaries ? { summaries: renameSummaries(summaries, (path) => term(path)[0] ?? null) } : {}),
    // If a field is left out, the other ones alone need not be unique.
    ...(uniques ? { uniques: several(uniques.filter((one) => one.every((field) => term(field).length > 0))) } : {}),
  }
}

export const without = <T>(all: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)))

/** Values of one version, each with the value of another one: as in `mapped` (new by old) and in `shown` (old by new). */
export type ValueMap = Readonly<Record<string, string>>

/** The values of an enum before the change. */
export function oldValues(values: readonly string[], mapped: ValueMap, shown: ValueMap): string[] {
  return values.flatMap((value) => {
    const from = Object.keys(mapped).filter((old) => mapped[old] === value)
    return from.length > 0 ? from : Object.hasOwn(shown, value) ? [] : [value]
  })
}

/** The old value of each new value. */
export function oldValuesByNew(values: readonly string[], mapped: ValueMap, shown: ValueMap): Map<string, string> {
  const first = (value: string) => Object.keys(mapped).find((old) => mapped[old] === value)
  return new Map(values.map((value) => [value, shown[value] ?? first(value) ?? value]))
}
