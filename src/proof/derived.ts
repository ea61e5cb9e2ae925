/** Derived: fields that changes compute from others, so a sent value need not come back the same. Part 9, versioning. */
import type { Change } from '../resources/change.ts'
import { changesSince } from './version-service.ts'

/** The fields of a resource in a version (by their names there) whose values later changes convert. */
export function derivedFieldsAt(changes: readonly Change[], newest: string, label: string): ReadonlySet<string> {
  let names = new Set<string>()
  for (const change of changesSince(changes, newest, label)) {
    const old = new Map(Object.entries(change.renamed ?? {}).map(([was, now]) => [now, was]))
    const kept = [...names].filter((name) => !change.added?.includes(name)).map((name) => old.get(name) ?? name)
    const converted = [...Object.keys({ ...change.retyped, ...change.required }), ...mergedEnums(change)]
    names = new Set([
      ...kept,
      ...Object.keys({ ...change.removed, ...change.moved }),
      ...converted.map((name) => old.get(name) ?? name),
    ])
  }
  return names
}

/** The fields of the newest version that are computed from those of an older one. */
export function derivedFieldsFrom(changes: readonly Change[], newest: string, label: string): ReadonlySet<string> {
  let names = new Set<string>()
  for (const change of changesSince(changes, newest, label).toReversed()) {
    const now = change.renamed ?? {}
    const kept = [...names]
      .filter((name) => !Object.hasOwn(change.removed ?? {}, name))
      .map((name) => now[name] ?? name)
    names = new Set([
      ...kept,
      ...(change.added ?? []),
      ...Object.keys({ ...change.retyped, ...change.required }),
      ...mergedEnums(change),
    ])
  }
  return names
}

/** Enums in which several values become one in the other version. */
function mergedEnums({ mapped = {}, shown = {} }: Change): string[] {
  const several = Object.keys(mapped).filter((name) => {
    const values = Object.values(mapped[name] ?? {})
    return new Set(values).size < values.length
  })
  return [...several, ...Object.keys(shown)]
}
