/** Epoch: how rows that were stored before a version changed a resource are brought to what it is today, and back for nodes that wait to be replaced. Part 9, versions. */
import { type Change, labelsOf, majorOf, type Versioned, type Versions } from '../resources/change.ts'
import type { Column, Epochs } from '../resources/collection.ts'
import type { ResourceDeclaration } from '../resources/declaration.ts'
import { type Resource, resource } from '../resources/resource.ts'
import type { Settings } from '../resources/settings.ts'
import { completed, type Given, type Members, type Shaped, shapeName } from '../resources/shape.ts'
import { ordered } from './ask.ts'
import { deriving, isColumn } from './derive.ts'
import { converting } from './failure.ts'
import {
  back,
  conversion,
  type Document,
  type Elsewhere,
  forth,
  keptAs,
  type Program,
  plain,
  rowSource,
  type Source,
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
  const { versions } = declared.declaration
  if (declared.changes.length === 0) return versions ? labelled(today, versions) : today
  const all = pasts(declared.declaration, declared.changes)
  const origins = originsOf(today, all)
  const kept = new Map([...today].map(([name, one]) => [name, original(keeping(one, all, declared.settings), origins)]))
  const elsewhere = elsewhereOf(all, (name) => kept.get(name)?.members.map((member) => member.name) ?? [])
  const made = new Map(
    [...kept].map(([name, one]) => {
      const own = all.filter(({ ways }) => ways.has(name))
      const steps = own[0]?.ways.get(name)?.steps ?? []
      const served = own.filter(({ label }) => declared.declaration.versions?.[label]?.retired === undefined)
      const past = { steps, served: served[0]?.label ?? '', settings: declared.settings }
      const whole = ordering(deriving(one, past, elsewhere), served, elsewhere)
      return [name, dated(whole, all, declared.settings, elsewhere)]
    }),
  )
  return versions ? labelled(made, versions) : made
}

/** With the versions that are declared, by which it is known whether a database has rows of another one. */
function labelled(all: ReadonlyMap<string, Resource>, versions: Versions): ReadonlyMap<string, Resource> {
  const labels = labelsOf({ versions })
  return new Map([...all].map(([name, one]) => [name, { ...one, collection: { ...one.collection, versions: labels } }]))
}

/** With indexes for what older versions declare to be in an order of several terms, some of which only they have. */
function ordering(today: Resource, served: readonly Past<Versioned>[], elsewhere: Elsewhere): Resource {
  const { collection } = today
  const columns = new Map(collection.columns.map(({ field, name }) => [field, name]))
  const columnIn = (term: string): string | undefined => {
    const [sign, field] = term.startsWith('-') ? ['-', term.slice(1)] : ['', term]
    const name = field === 'id' ? 'id' : columns.get(field)
    return name && sign + name
  }
  const found = served.flatMap(({ declaration, ways }) => {
    const { name = '', steps = [] } = ways.get(today.name) ?? {}
    const { order = [], sorts = {} } = declaration.resources[name] ?? {}
    return [order, ...Object.values(sorts)].map((terms) =>
      terms.flatMap((term) => ordered(steps, term, elsewhere) ?? []),
    )
  })
  const own = found.flatMap((terms) => {
    const names = terms.map((term) => (typeof term === 'string' ? columnIn(term) : undefined))
    const isOwn = terms.some((term) => typeof term === 'string' && isColumn(term))
    return isOwn && names.every((name) => name !== undefined) ? [names] : []
  })
  const below = collection.composite ? undefined : collection.parent?.column
  const all = [...own, ...(below === undefined ? [] : own.map((names) => [below, ...names]))]
  const indexes = [...new Map([...collection.indexes, ...all].map((names) => [names.join(), names])).values()]
  return own.length === 0 ? today : { ...today, collection: { ...collection, indexes } }
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

/** Where nothing is kept the older version shows what stands for it, so that this is what its lists are asked for. */
const standing = ({ cell, form }: Column, usual: unknown): Partial<Column> =>
  usual == null ? {} : { cell: (value) => cell(value ?? usual), form: `${form} else ${JSON.stringify(usual)}` }

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
        .map((one) => ({ ...one, name: `by_${kept}`, field: kept, required: false, ...standing(one, member.absent) })),
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

/** The names of each resource, the first one first, by the one that it has today. */
const originsOf = (today: ReadonlyMap<string, Resource>, all: readonly Past<Versioned>[]): Origins =>
  new Map([...today.keys()].map((name) => [name, [...new Set(all.flatMap(({ ways }) => ways.get(name)?.name ?? []))]]))

type Origins = ReadonlyMap<string, readonly string[]>

/** The first name of a resource; of one that took the name of another one later, a name of its own. */
function firstOf(origins: Origins, name: string): string {
  const first = origins.get(name)?.[0] ?? name
  const isTaken = first === name && [...origins].some(([other, names]) => other !== name && names[0] === first)
  return isTaken ? `${name}__2` : first
}

/** What is remembered under names stays under the first one: references, keys, and the table with its rows. R196. */
function original(today: Resource, origins: Origins): Resource {
  const first = (name: string) => firstOf(origins, name)
  const told = (field: Shaped): Shaped => ({
    ...field,
    kind: field.kind.replace(/^ref (.*)$/, (_, target: string) => `ref ${first(target)}`),
    inner: field.inner.map(told),
  })
  const { collection, parent, name } = today
  const fields = collection.fields.map(told)
  const names = (origins.get(name) ?? []).filter((one) => one !== name)
  const space = parent ? `/${first(parent.resource)}/{id}/${first(name)}` : `/${first(name)}`
  const origin = first(name) === name ? {} : { origin: first(name) }
  return {
    ...today,
    space,
    collection: { ...collection, fields, shape: shapeName(fields), formerly: names, ...origin },
  }
}

function dated(today: Resource, all: readonly Past<Versioned>[], settings: Settings, elsewhere: Elsewhere): Resource {
  const first = all.find(({ ways }) => ways.has(today.name))
  const last = first?.ways.get(today.name)?.steps.find(isOfRows)
  if (!first || !last) return today
  const ways = new Map(all.map((past) => [past.label, wayOf(past, today, settings, elsewhere)]))
  const way = (epoch: string) => ways.get(ways.has(epoch) ? epoch : first.label) ?? null
  const { collection } = today
  const epochs: Epochs = {
    raised: (epoch, document) => way(epoch)?.raised(document) ?? document,
    lowered: (epoch, document, rows) => way(epoch)?.lowered(document, rows) ?? document,
    besides: (epoch) => way(epoch)?.besides ?? [],
    reshapes: resourceIn(first, today.name, settings)?.collection.shape !== collection.shape,
    heirs: [...new Set([...ways.values()].flatMap((one) => one?.heirs ?? []))],
    gives: (epoch, document) => way(epoch)?.gives(document) ?? [],
    source: (epoch, field) => {
      const found = way(epoch)
      return found ? found.source(field) : field
    },
  }
  return { ...today, collection: { ...collection, shape: `${last.change.version} ${collection.shape}`, epochs } }
}

/** Whether documents hold something else since then. */
export function isOfRows({ change: { renamed, removed, added, retyped, required, mapped, moved } }: Step): boolean {
  return [renamed, removed, added, retyped, required, mapped, moved].some((one) => Object.keys(one ?? {}).length > 0)
}

/** The way from a former version to today, and back. */
interface Passage {
  readonly raised: Converted
  readonly lowered: Converted
  readonly besides: Program['beside']
  readonly source: (field: string) => string | null
  readonly gives: (document: Members) => readonly Given[]
  readonly heirs: readonly string[]
}

type Converted = (document: Readonly<Document>, rows?: readonly (Members | null)[]) => Document

function wayOf(past: Past<Versioned>, today: Resource, settings: Settings, elsewhere: Elsewhere): Passage | null {
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
  const given = givenBy(down, up)
  const whole = (document: Members) => completed(own.collection.fields, document)
  return {
    raised: (document) => {
      const made = converting(today, document, 0, () => raise(whole(document)), true)
      for (const { name, by } of given) if (today.byName.has(name) && made[by] != null) made[name] = null // another row has it
      return made
    },
    heirs: given.map(({ collection }) => collection),
    gives: (document) => (given.length === 0 ? [] : given.flatMap((one) => gift(one, today, whole(document), raise))),
    lowered: converted(down, own),
    besides: down.beside,
    source: (field) => {
      const source = up.sources.get(field)
      const isKept = given.some(({ name }) => name === field) // only where no other row has it
      return isDirect(source) && !isKept && isDirect(down.sources.get(source.name)) ? source.name : null
    },
  }
}

/** Whether a value stands in the document as it is. Where it does so both ways, nodes of both versions write the same column. */
const isDirect = (source: Source | undefined): source is Source =>
  source?.from === 'document' && source.map === null && source.otherwise === null

/** The fields of a former version that other rows have today: what they were, and where they are. */
function givenBy(down: Program, up: Program) {
  const all = [...down.sources.values()].flatMap((source) => rowSource(source) ?? [])
  return [...new Map(all.map((one) => [one.name, one])).values()].flatMap(({ name, at, there }) => {
    const { by, collection } = down.beside[at] as Program['beside'][number]
    const told = conversion(up, [name])
    if (!there) return []
    const { read, put, isNew } = there
    const value = (document: Members) => told(document)[0]
    return [{ name, by, field: name.replace(/@.*$/, ''), collection, read, put, isNew, value }]
  })
}

/** What a document gives to another row: nothing where it has none, or keeps it itself. */
function gift(
  { value, by, name, put, ...there }: ReturnType<typeof givenBy>[number],
  today: Resource,
  document: Members,
  raise: Converted,
): Given[] {
  const [found, id] = [value(document), raise(document)[by]]
  if (found == null || (id == null && today.byName.has(name))) return []
  return [{ ...there, value: found, id: typeof id === 'string' ? id : null, put: (row) => put(row, found) }]
}

/** What nothing says is left to what stands for it. */
function converted(program: Program, { members }: Resource): Converted {
  const names = members.map(({ name }) => name)
  const convert = conversion(program, names)
  return (document, rows) => {
    const values = convert(document, rows)
    return Object.fromEntries(names.map((name, i) => [name, values[i]]).filter(([, value]) => value !== undefined))
  }
}
