/** Repoint: references of a declaration that follow a resource to another name. Part 9, versions. */
import type { Field, Fields } from '../fields/field.ts'
import { singularOf, toCase } from '../formats/naming.ts'
import { parentDeclarationOf, type ResourceDeclaration, type VersionedDeclaration } from './declaration.ts'

/** The name of a parent's id in its children, before and after the parent was renamed. */
export function parentFieldRenaming({ resources, settings }: VersionedDeclaration, now: string, was: string): Renaming {
  const link = (name: string) =>
    toCase(`${resources[now]?.singular ?? singularOf(name)}-id`, settings?.naming ?? 'camel')
  return { old: link(was), now: link(now) }
}

type Renaming = { readonly old: string; readonly now: string }

/** References to a resource under the name that it had, and in its children the name of its id. */
export function repointResource(
  one: ResourceDeclaration,
  now: string,
  was: string,
  link: Renaming,
): ResourceDeclaration {
  const parent = parentDeclarationOf(one)
  const fields = repointFields(one.fields, now, was)
  if (parent?.resource !== now) return { ...one, fields }
  const named = renameTerms(one, (name) => (name === link.now ? link.old : name))
  return { ...named, fields, parent: { ...parent, resource: was } }
}

export const repointFields = (fields: Fields, now: string, was: string): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, repointField(field, now, was)]))

function repointField(field: Field, now: string, was: string): Field {
  const { kind, item, fields, target } = field
  if (kind === 'ref' && target === now) return { ...field, target: was }
  if (item) return { ...field, item: repointField(item, now, was) }
  return fields ? { ...field, fields: repointFields(fields, now, was) } : field
}

/** A resource whose orders, indexes and key name its fields in another way; those of a field that has no name are left out. */
export function renameTerms(own: ResourceDeclaration, name: (field: string) => string | null): ResourceDeclaration {
  const term = (text: string): string[] => {
    const [, sign = '', top = '', inner = ''] = /^(-?)([^.]*)(.*)$/.exec(text) ?? []
    const named = name(top)
    return named === null ? [] : [sign + named + inner]
  }
  const { key, order, sorts, indexes, uniques, ...rest } = own
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
    ...(indexes ? { indexes: several(indexes) } : {}),
    // Values of some of the fields are not unique without those of the others.
    ...(uniques ? { uniques: several(uniques.filter((one) => one.every((field) => term(field).length > 0))) } : {}),
  }
}

export const without = <T>(all: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)))
