/** Epoch: how rows that were stored before a version changed a resource are brought to what it is today, and back for nodes that wait to be replaced. Part 9, versions. */
import type { Change, Versioned } from '../resources/change.ts'
import type { Epochs } from '../resources/collection.ts'
import type { ResourceDeclaration } from '../resources/declaration.ts'
import { type Resource, resource } from '../resources/resource.ts'
import type { Settings } from '../resources/settings.ts'
import { completed } from '../resources/shape.ts'
import { back, conversion, type Document, type Elsewhere, forth, type Program, plain, type Step } from './program.ts'
import { elsewhereOf, type Past, pasts, type Way } from './version.ts'

interface Declared {
  readonly declaration: Versioned
  readonly changes: readonly Change[]
  readonly settings: Settings
}

/** Resources whose rows know which version they were written for. R196. */
export function withEpochs(today: ReadonlyMap<string, Resource>, declared: Declared): ReadonlyMap<string, Resource> {
  if (declared.changes.length === 0) return today
  const all = pasts(declared.declaration, declared.changes)
  const elsewhere = elsewhereOf(all, (name) => today.get(name)?.members.map((member) => member.name) ?? [])
  return new Map([...today].map(([name, one]) => [name, dated(leaving(one, all), all, declared.settings, elsewhere)]))
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
  { declaration, ways }: Past<Versioned>,
  today: Resource,
  settings: Settings,
  elsewhere: Elsewhere,
): { readonly raised: Converted; readonly lowered: Converted } | null {
  const { name, steps } = ways.get(today.name) ?? ({ name: '', steps: [] } satisfies Way)
  const given: ResourceDeclaration | undefined = declaration.resources[name]
  if (!given || steps.length === 0) return null
  const own = resource(name, given, {
    resources: declaration.resources,
    concepts: declaration.concepts ?? {},
    settings,
  })
  const names = ({ members }: Resource) => plain(members.map((member) => member.name))
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
