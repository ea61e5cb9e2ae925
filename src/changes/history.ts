/** History: the declaration of each version, and the steps from it to the newest one. Part 9, versions. */
import type { FieldKinds } from '../fields/kind.ts'
import {
  type Change,
  type Comparison,
  declarationAt,
  declarationBefore,
  majorOf,
  versionLabels,
} from '../resources/change.ts'
import { parentDeclarationOf, type ResourceDeclaration, type VersionedDeclaration } from '../resources/declaration.ts'
import { pairDeclarationOf } from '../resources/references.ts'
import { parentFieldRenaming } from '../resources/repoint.ts'
import {
  type ChangeStep,
  compileConversion,
  type FindMovedField,
  identityMapping,
  type MovedField,
  mapDown,
  mapUp,
} from './conversion.ts'
import { olderNames, translateFilter, translateSort } from './queries.ts'

/** A resource in one version: its name there, and the changes since then, newest first. */
export interface ResourceHistory {
  readonly name: string
  readonly steps: readonly ChangeStep[]
}

/** A version, derived from the newest declaration by undoing later changes. */
export interface VersionAt<D extends VersionedDeclaration> {
  readonly label: string
  readonly declaration: D
  /** By current resource name; resources that the version does not have are missing. */
  readonly histories: ReadonlyMap<string, ResourceHistory>
  /** This version's names of the current error types. */
  readonly errors: ReadonlyMap<string, string>
}

/** All versions, the oldest first. */
export function versionHistory<D extends VersionedDeclaration>(
  declaration: D,
  changes: readonly Change[],
  kinds: FieldKinds,
): readonly VersionAt<D>[] {
  let at: VersionedDeclaration = declaration
  let ways = new Map(
    Object.keys(declaration.resources).map((name): [string, ResourceHistory] => [name, { name, steps: [] }]),
  )
  let errors = new Map(Object.keys(declaration.errors ?? {}).map((type) => [type, type]))
  const waiting = [...changes]
  return versionLabels(declaration)
    .toReversed()
    .map((label): VersionAt<D> => {
      for (let next = waiting[0]; next && majorOf(next.version) > majorOf(label); next = waiting[0]) {
        const change = next
        const there = [...ways].filter(([, { name }]) => !change.begins || name !== change.resource)
        ways = new Map(there.map(([today, way]) => [today, historyBefore(way, change, at, kinds)]))
        const old = new Map(Object.entries(change.errors ?? {}).map(([was, now]) => [now, was]))
        errors = new Map([...errors].map(([today, name]) => [today, old.get(name) ?? name]))
        at = declarationBefore(at, change)
        waiting.shift()
      }
      const own = declarationAt(declaration, changes, label)
      const present = [...ways].filter(([, { name }]) => Object.hasOwn(own.resources, name))
      return { label, declaration: own, histories: new Map(present), errors }
    })
    .toReversed()
}

function historyBefore(
  { name, steps }: ResourceHistory,
  change: Change,
  declaration: VersionedDeclaration,
  kinds: FieldKinds,
): ResourceHistory {
  const own = declaration.resources[name] as ResourceDeclaration
  const { concepts = {} } = declaration
  const nth = steps.filter((one) => one.change.version === change.version && one.change.resource).length + 1
  const place = nth === 1 ? change.version : `${change.version}.${nth}`
  if (own && change.resource === name && !change.begins && !change.ends)
    return { name: change.was ?? name, steps: [...steps, { change, own, concepts, kinds, declaration, place }] }
  const sides = own && (pairDeclarationOf(own)?.between ?? [parentDeclarationOf(own)?.resource])
  if (own && change.was !== undefined && sides?.includes(change.resource as string)) {
    const { old, now } = parentFieldRenaming(declaration, change.resource, change.was)
    const linked = { version: change.version, renamed: { [old]: now } }
    return { name, steps: [...steps, { change: linked, own, concepts, kinds, declaration, place }] }
  }
  return { name, steps }
}

/** Finds where the field of a version is now, under any name and in any form. */
export function movedFieldFinder(
  all: readonly VersionAt<VersionedDeclaration>[],
  membersOf: (today: string) => readonly string[],
): FindMovedField {
  const elsewhere: FindMovedField = ({ change }, resource, field) => {
    const ways = all.find(({ label }) => label === change.version)?.histories ?? new Map<string, ResourceHistory>()
    const [today, way] = [...ways].find(([, { name }]) => name === resource) ?? []
    if (today === undefined || !way) return undefined
    const there = movedFieldIn(today, way.steps, membersOf(today), field, elsewhere)
    return there && { ...there, isNew: (label) => !hadField(all, today, change.version as string, field, label) }
  }
  return elsewhere
}

/** Whether a former version had a field of a later one, under any name. */
function hadField(
  all: readonly VersionAt<VersionedDeclaration>[],
  today: string,
  version: string,
  field: string,
  label: string,
): boolean {
  const past = all.find((one) => one.label === label) ?? all[0]
  const later = all.find((one) => one.label === version)?.histories.get(today)?.steps.length ?? 0
  const way = past?.histories.get(today)
  let name = field
  for (const { change } of way?.steps.slice(later) ?? []) {
    const { added = [], renamed = {} } = change
    if (added.includes(name)) return false
    name = Object.keys(renamed).find((old) => renamed[old] === name) ?? name
  }
  return way !== undefined && Object.hasOwn(past?.declaration.resources[way.name]?.fields ?? {}, name)
}

function movedFieldIn(
  resource: string,
  steps: readonly ChangeStep[],
  members: readonly string[],
  field: string,
  elsewhere: FindMovedField,
): Omit<MovedField, 'isNew'> | undefined {
  const down = steps.reduce((one, step) => mapDown(one, step, elsewhere), identityMapping(resource, members))
  const source = down.sources.get(field)
  if (!source || source.from === 'row' || source.from === 'usual') return undefined
  const names = [...down.sources].filter(([, { from }]) => from === 'document' || from === 'made').map(([name]) => name)
  const up = compileConversion(steps.toReversed().reduce(mapUp, identityMapping(resource, names)), members)
  const [readField, readFields] = [
    compileConversion(source.from === 'made' ? down : { ...down, makers: [] }, [field]),
    compileConversion(down, names),
  ]
  return {
    resource,
    read: (row) => readField(row)[0],
    put: (row, value) => {
      const before = Object.fromEntries(readFields(row).map((one, i) => [names[i], one]))
      const [was, is] = [up(before), up({ ...before, [field]: value })]
      const moved = members.map((name, i) => [name, is[i], was[i]] as const)
      return Object.fromEntries(
        moved
          .filter(([, now, then]) => now !== undefined && JSON.stringify(now) !== JSON.stringify(then))
          .map(([name, now]) => [name, now]),
      )
    },
    fields: members.filter((name) => olderNames(steps, name).includes(field)),
    ask: (comparison) => translateFilter(steps, { ...comparison, field }, elsewhere) as readonly Comparison[] | null,
    order: () => translateSort(steps, field, elsewhere) as readonly string[] | null,
  }
}
