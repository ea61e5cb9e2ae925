/** Original names: the first names of resources, which stored rows, references and keys keep. Part 9, versions. */
import type { ResourceDeclaration, ResourceRules, VersionedDeclaration } from '../resources/declaration.ts'
import { oldValues } from '../resources/repoint.ts'
import { makeResource, type Resource } from '../resources/resource.ts'
import { type ShapedField, shapeName } from '../rows/shape.ts'
import type { ChangeStep } from './conversion.ts'
import type { VersionAt } from './history.ts'
import { olderNames } from './queries.ts'

export function resourceAt(
  { declaration, histories }: VersionAt<VersionedDeclaration>,
  today: string,
  rules: ResourceRules,
): Resource | null {
  const name = histories.get(today)?.name ?? ''
  const declared: ResourceDeclaration | undefined = declaration.resources[name]
  return declared
    ? makeResource(name, declared, { resources: declaration.resources, concepts: declaration.concepts ?? {}, ...rules })
    : null
}

/** All names of each resource, oldest first, by its current name. */
export const originalNames = (
  today: ReadonlyMap<string, Resource>,
  all: readonly VersionAt<VersionedDeclaration>[],
): OriginalNames =>
  new Map(
    [...today.keys()].map((name) => [
      name,
      [...new Set(all.flatMap(({ histories }) => histories.get(name)?.name ?? []))],
    ]),
  )

type OriginalNames = ReadonlyMap<string, readonly string[]>

/** The first name of a resource. One that later took the former name of another gets a name of its own. */
function originalName(origins: OriginalNames, name: string): string {
  const first = origins.get(name)?.[0] ?? name
  const isTaken = first === name && [...origins].some(([other, names]) => other !== name && names[0] === first)
  return isTaken ? `${name}__2` : first
}

/** Adds to derived fields the names that their source has in each version, so that a rename does not count as another source. */
export function withFormerSources(today: Resource, all: readonly VersionAt<VersionedDeclaration>[]): Resource {
  const { collection } = today
  const fields = collection.fields.map((field): ShapedField => {
    const { derived } = field
    if (!derived) return field
    const names = all.map(({ histories }) =>
      derived.named((resource, source) => {
        const { name = resource, steps = [] } = histories.get(resource) ?? {}
        return [name, olderNames(steps, source)[0] ?? source]
      }),
    )
    return { ...field, derived: { ...derived, formerNames: [...derived.formerNames, ...names] } }
  })
  return { ...today, collection: { ...collection, fields } }
}

/** Adds the names that states had in older versions, so that a state with another name does not count as a new one. */
export function withFormerStates(today: Resource, all: readonly VersionAt<VersionedDeclaration>[]): Resource {
  const { machine, collection } = today
  if (machine === null) return today
  const names = new Map<string, string[]>()
  for (const { histories } of all) {
    const { steps = [] } = histories.get(today.name) ?? {}
    for (const state of machine.states)
      for (const name of olderStates(steps, machine.field, state))
        if (name !== state) names.set(state, [...(names.get(state) ?? []), name])
  }
  return names.size === 0 ? today : { ...today, collection: { ...collection, formerStates: names } }
}

/** The names of a state before some changes, the newest of which comes first; none if the state or all states began with one. */
function olderStates(steps: readonly ChangeStep[], stateField: string, state: string): readonly string[] {
  let [field, names] = [stateField, [state] as readonly string[]]
  for (const step of steps) {
    const { mapped = {}, shown = {}, added = [], retyped = {} } = step.change
    if (added.includes(field) || Object.hasOwn(retyped, field)) return []
    names = oldValues(names, mapped[field] ?? {}, shown[field] ?? {})
    field = olderNames([step], field)[0] ?? field
  }
  return names
}

/** References and the table keep the first name, so that stored data outlives a rename. R196. */
export function withOriginalNames(today: Resource, origins: OriginalNames): Resource {
  const first = (name: string) => originalName(origins, name)
  const withOriginalTargets = (field: ShapedField): ShapedField => ({
    ...field,
    kind: field.kind.replace(/^ref (.*)$/, (_, target: string) => `ref ${first(target)}`),
    inner: field.inner.map(withOriginalTargets),
  })
  const { collection, name } = today
  const fields = collection.fields.map(withOriginalTargets)
  const names = (origins.get(name) ?? []).filter((one) => one !== name)
  const origin = first(name) === name ? {} : { origin: first(name) }
  return {
    ...today,
    collection: { ...collection, fields, shape: shapeName(fields), formerNames: names, ...origin },
  }
}
