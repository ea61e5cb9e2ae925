/** Finds the references in a value, those in lists and objects too. Part 2, resources and their fields. */
import type { Field } from './field.ts'

/** A row that has to exist, and the place that names it. */
export interface Reference {
  readonly field: string
  readonly collection: string
  readonly id: string
}

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

/** A place in a field that can refer to a resource: its path with dots, and whether a list stands on the way. */
export interface Site {
  readonly path: string
  readonly listed: boolean
  readonly onDelete: 'restrict' | 'cascade'
}

/** All places in a field that refer to a resource. */
export function sitesOf(field: Field, target: string, path: string, listed = false): Site[] {
  if (field.kind === 'ref' && field.target === target)
    return [{ path, listed, onDelete: field.options.onDelete ?? 'restrict' }]
  if (field.kind === 'list') return sitesOf(field.item as Field, target, path, true)
  if (field.kind !== 'object') return []
  return Object.entries(field.fields ?? {}).flatMap(([name, inner]) =>
    sitesOf(inner, target, `${path}.${name}`, listed),
  )
}

/** The place in a field that a reference stands at, without its numbers in lists. */
export const siteOf = ({ field }: Reference): string => field.replace(/\/\d+/g, '').replaceAll('/', '.')
