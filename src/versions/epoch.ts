/** Epoch: how rows that were stored before a version changed a resource are brought to what it is today, and back for nodes that wait to be replaced. Part 9, versions. */
import { type Change, majorOf, type Versioned } from '../resources/change.ts'
import type { Epochs } from '../resources/collection.ts'
import type { ResourceDeclaration } from '../resources/declaration.ts'
import { type Resource, resource } from '../resources/resource.ts'
import type { Settings } from '../resources/settings.ts'
import { completed, shapeName } from '../resources/shape.ts'
import {
  back,
  conversion,
  type Document,
  type Elsewhere,
  forth,
  keptAs,
  type Program,
  plain,
  type Step,
} from './program.ts'
import { elsewhereOf, type Past, pasts } from './version.ts'

interface Declared {
  readonly declaration: Versioned
  readonly changes: readonly Change[]
  readonly settings: Settings
}

/** Resources whose rows know which version they were written for. R196. */
export function withEpochs(today: ReadonlyMap<string, Resource>, declared: Declared): ReadonlyMap<string, Resource> {
  if (declared.changes.length === 0) return today
  const all = pasts(declared.declaration, declared.changes)
  const kept = new Map([...today].map(([name, one]) => [name, keeping(one, all, declared.settings)]))
  const elsewhere = elsewhereOf(all, (name) => kept.get(name)?.members.map((member) => member.name) ?? [])
  return new Map([...kept].map(([name, one]) => [name, dated(leaving(one, all), all, declared.settings, elsewhere)]))
}

/** With fields for what moved to other rows, where a row may lead to none. */
function keeping(today: Resource, all: readonly Past<Versioned>[], settings: Settings): Resource {
  const steps = all.find(({ ways }) => ways.has(today.name))?.ways.get(today.name)?.steps ?? []
  const found = steps.flatMap((step, i) =>
    Object.entries(step.change.moved ?? {}).flatMap(([name, { by }]) => {
      let link = by
      for (const { change } of steps.slice(0, i).toReversed()) link = change.renamed?.[link] ?? link
      const before = all.findLast(({ label }) => majorOf(label) < majorOf(step.change.version as string))
      const own = before && resourceIn(before, today.name, settings)
      return today.byName.get(link)?.absent === null && own ? keptOf(own, name, keptAs(step, name)) : []
    }),
  )
  if (found.length === 0) return today
  const members = [...today.members, ...found.map(({ member }) => member)]
  const { collection } = today
  const fields = [...collection.fields, ...found.flatMap(({ fields }) => fields)]
  const columns = [...collection.columns, ...found.flatMap(({ columns }) => columns)]
  const byName = new Map(members.map((member) => [member.name, member]))
  return { ...today, members, byName, collection: { ...collection, fields, columns, shape: shapeName(fields) } }
}

/** A field of an older version as one that is stored and never answered. */
function keptOf({ byName, collection }: Resource, name: string, kept: string) {
  const member = byName.get(name)
  if (!member) return []
  const rest = { absent: null, from: 'service', immutable: false, hidden: true, write: [] } as const
  return [
    {
      member: { ...member, ...rest, name: kept },
      fields: collection.fields
        .filter((one) => one.name === name)
        .map((one) => ({ ...one, name: kept, was: undefined, hidden: true, absent: null })),
      columns: collection.columns
        .filter(({ field }) => field === name)
        .map((one) => ({ ...one, name: `by_${kept}`, field: kept, required: false })),
    },
  ]
}

function resourceIn({ declaration, ways }: Past<Versioned>, today: string, settings: Settings): Resource | null {
  const name = ways.get(today)?.name ?? ''
  const given: ResourceDeclaration | undefined = declaration.resources[name]
  return given
    ? resource(name, given, { resources: declaration.resources, concepts: declaration.concepts ?? {}, settings })
    : null
}

/** With what its rows of before leave behind. */
function leaving(today: Resource, all: readonly Past<Versioned>[]): Resource {
  const ways = all.flatMap(({ ways }) => ways.get(today.name) ?? [])
  const names = [...new Set(ways.map(({ name }) => name))].filter((name) => name !== today.name)
  const fields = [
    ...new Set(ways.flatMap(({ steps }) => steps.flatMap(({ change }) => Object.keys(change.moved ?? {})))),
  ]
  if (names.length + fields.length === 0) return today
  return { ...today, collection: { ...today.collection, left: { names, fields } } }
}

function dated(today: Resource, all: readonly Past<Versioned>[], settings: Settings, elsewhere: Elsewhere): Resource {
  const first = all.find(({ ways }) => ways.has(today.name))
  const last = first?.ways.get(today.name)?.steps.find(isOfRows)
  if (!first || !last) return today
  const ways = new Map(all.map((past) => [past.label, wayOf(past, today, settings, elsewhere)]))
  const way = (epoch: string) => ways.get(epoch) ?? ways.get(first.label) ?? null
  const { collection } = today
  const epochs: Epochs = {
    raised: (epoch, document) => way(epoch)?.raised(document) ?? document,
    lowered: (epoch, document) => way(epoch)?.lowered(document) ?? document,
  }
  return { ...today, collection: { ...collection, shape: `${last.change.version} ${collection.shape}`, epochs } }
}

/** Whether documents hold something else since then. */
function isOfRows({ change: { renamed, removed, added, retyped, required, mapped, moved } }: Step): boolean {
  return [renamed, removed, added, retyped, required, mapped, moved].some((one) => Object.keys(one ?? {}).length > 0)
}

type Converted = (document: Readonly<Document>) => Document

function wayOf(
  past: Past<Versioned>,
  today: Resource,
  settings: Settings,
  elsewhere: Elsewhere,
): { readonly raised: Converted; readonly lowered: Converted } | null {
  const steps = past.ways.get(today.name)?.steps ?? []
  const own = resourceIn(past, today.name, settings)
  if (!own || steps.length === 0) return null
  const names = ({ members }: Resource) =>
    plain(
      today.name,
      members.map((member) => member.name),
    )
  const down = steps.reduce((program, step) => back(program, step, elsewhere), names(today))
  const up = steps.toReversed().reduce(forth, names(own))
  const raise = converted(up, today)
  return {
    raised: (document) => raise(completed(own.collection.fields, document)),
    lowered: converted(down, own),
  }
}

/** What nothing says is left to what stands for it. */
function converted(program: Program, { members }: Resource): Converted {
  const names = members.map(({ name }) => name)
  const convert = conversion(program, names)
  return (document) => {
    const values = convert(document)
    return Object.fromEntries(names.map((name, i) => [name, values[i]]).filter(([, value]) => value !== undefined))
  }
}
