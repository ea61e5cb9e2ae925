/** Program: where each value of a document in one version comes from in another one. All steps between them are made one at start. Part 9, versions. */
import type { Beside } from '../flow/plan.ts'
import { type Change, type Comparison, shownAs, targetOf, type Versioned } from '../resources/change.ts'
import { type Concepts, type ResourceDeclaration, resolved } from '../resources/declaration.ts'

/** One change of one resource, and what it was made to. */
export interface Step {
  readonly change: Partial<Change>
  /** The resource as the version of the change has it. */
  readonly own: ResourceDeclaration
  readonly concepts: Concepts
  /** All as that version has it. */
  readonly around: Versioned
  /** Names the step among those of its resource: the version, and which one of several of it, counted from the newest. */
  readonly place: string
}

export type Document = Record<string, unknown>
type Mapper = (value: unknown) => unknown

/** Where a value comes from: the document, what the function of a change made of it, or another row. */
export interface Source {
  readonly from: 'document' | 'made' | 'row'
  /** Which function, or which row; what comes from a row is named by what keeps it where there is none. */
  readonly at: number
  readonly name: string
  /** How another row has it today. */
  readonly there?: There
  readonly map: Mapper | null
  /** Where it comes from when a function does not say. */
  readonly otherwise: Source | null
}

type Sources = ReadonlyMap<string, Source>

/** A function of a change, and what it is given. */
interface Maker {
  readonly sources: readonly (readonly [name: string, source: Source])[]
  readonly make: (document: never) => Readonly<Document>
}

export interface Program {
  /** The resource whose rows it begins with, under the name that it has today. */
  readonly of: string
  readonly sources: Sources
  readonly makers: readonly Maker[]
  readonly beside: readonly Beside[]
}

const own = (name: string): Source => ({ from: 'document', at: 0, name, map: null, otherwise: null })

/** The program that leaves everything as it is. */
export const plain = (of: string, names: readonly string[]): Program => ({
  of,
  sources: new Map(names.map((name) => [name, own(name)])),
  makers: [],
  beside: [],
})

const mapped = (source: Source, map: Mapper): Source => {
  const { map: first } = source
  return { ...source, map: first === null ? map : (value) => map(first(value)) }
}

/** A value that no table knows stays what it is; nothing stays nothing. */
const table =
  (values: ReadonlyMap<string, string>): Mapper =>
  (value) =>
    typeof value === 'string' ? (values.get(value) ?? value) : value

function withMaker(
  { makers }: Program,
  given: Sources,
  make: Maker['make'] | undefined,
): { makers: readonly Maker[]; made: (name: string, otherwise: Source | null) => Source | null } {
  if (!make) return { makers, made: (_, otherwise) => otherwise }
  const at = makers.length
  return {
    makers: [...makers, { sources: [...given].filter(([, { from }]) => from !== 'row'), make }],
    made: (name, otherwise) => ({ from: 'made', at, name, map: null, otherwise }),
  }
}

/** A field that rows of another resource have, as the version of a step had it. */
export interface There {
  /** The name that the resource has today. */
  readonly resource: string
  /** The value in a row of today. */
  readonly read: (row: Readonly<Document>) => unknown
  /** What has to change in a row of today for it to have another value. */
  readonly put: (row: Readonly<Document>, value: unknown) => Document
  /** The fields of today that it is made of. */
  readonly fields: readonly string[]
  /** Whether the resource had no such field as a former version has it. */
  readonly isNew: (label: string) => boolean
  /** What a comparison and an order ask of the fields of today; null where they cannot be asked. */
  readonly ask: (comparison: Comparison) => readonly Comparison[] | null
  readonly order: () => readonly string[] | null
}

/** Where another resource has a field; undefined where it moved on from there. */
export type Elsewhere = (step: Step, resource: string, field: string) => There | undefined

/** Where a row itself keeps what moved, as long as it leads to no row that could have it; no declared field has such a name. */
export const keptAs = ({ change: { version } }: Step, name: string): string => `${name}@${version}`

/** The resource that a reference or the parent of a step leads to. */
export const targetIn = ({ own, concepts }: Step, by: string): string | undefined =>
  targetOf(own.fields, by, own.parent, concepts)

/** One version further back: from what is stored to what is answered. */
export function back(program: Program, step: Step, elsewhere: Elsewhere): Program {
  const { change, own: now, concepts } = step
  const { renamed = {}, added = [], removed = {}, retyped = {}, mapped: up = {}, shown = {}, moved = {} } = change
  const old = new Map(Object.entries(renamed).map(([was, is]) => [is, was]))
  const { makers, made } = withMaker(program, program.sources, change.response as Maker['make'])
  const sources = new Map<string, Source>()
  const beside = [...program.beside]
  for (const [name, source] of program.sources) {
    if (added.includes(name)) continue
    const field = now.fields[name]
    const told = field && (Object.hasOwn(up, name) || Object.hasOwn(shown, name))
    const values = told ? shownAs(resolved(field, concepts).values ?? [], up[name] ?? {}, shown[name] ?? {}) : null
    const kept = values ? mapped(source, table(values)) : source
    sources.set(old.get(name) ?? name, Object.hasOwn(retyped, name) ? (made(name, kept) ?? kept) : kept)
  }
  for (const name of Object.keys(removed)) {
    const source = made(name, null)
    if (source) sources.set(name, source)
  }
  for (const [name, { by, to }] of Object.entries(moved)) {
    const link = program.sources.get(by)
    const target = targetIn(step, by)
    const there = target === undefined ? undefined : elsewhere(step, target, to)
    if (!link || !there || link.from !== 'document') throw new Error(lost(step, name)) // check/moved.ts refuses it before
    const known = beside.findIndex((one) => one.by === link.name && one.collection === there.resource)
    const at = known >= 0 ? known : beside.push({ by: link.name, collection: there.resource }) - 1
    const kept = keptAs(step, name)
    const otherwise = sources.delete(kept) ? keptSource(program.of, kept, beside) : null
    sources.set(name, { from: 'row', at, name: kept, there, map: null, otherwise })
  }
  return { ...program, sources, makers, beside }
}

/** What the own row keeps is never answered, so that it is read beside what is. */
function keptSource(of: string, name: string, beside: Beside[]): Source {
  const known = beside.findIndex(({ whole }) => whole)
  const at = known >= 0 ? known : beside.push({ by: 'id', collection: of, whole: true }) - 1
  return { from: 'row', at, name, map: null, otherwise: null }
}

const lost = ({ change: { version, resource } }: Step, name: string): string =>
  `changes.${version}.${resource}.moved.${name}: Where it is now has changed in a later version by more than a name.`

/** One version further on: from what is sent to what is stored. What moved is told under the name of what keeps it. */
export function forth(program: Program, step: Step): Program {
  const { change } = step
  const { renamed = {}, added = [], removed = {}, retyped = {}, mapped: up = {}, required = {}, moved = {} } = change
  const { makers, made } = withMaker(program, program.sources, change.request as Maker['make'])
  const sources = new Map<string, Source>()
  for (const [name, source] of program.sources) {
    if (Object.hasOwn(moved, name)) sources.set(keptAs(step, name), source)
    if (Object.hasOwn(removed, name) || Object.hasOwn(moved, name)) continue
    const is = Object.hasOwn(renamed, name) ? (renamed[name] as string) : name
    const values = Object.hasOwn(up, is) ? new Map(Object.entries(up[is] ?? {})) : null
    const kept = values ? mapped(source, table(values)) : source
    const whole = Object.hasOwn(required, is) ? mapped(kept, (value) => value ?? required[is]) : kept
    sources.set(is, Object.hasOwn(retyped, is) ? (made(is, whole) ?? whole) : whole)
  }
  for (const name of added) {
    const source = made(name, null)
    if (source) sources.set(name, source)
  }
  return { ...program, sources, makers }
}

/** Gives the values of a document in the other version, in the order of some names; undefined where nothing says one. */
export type Conversion = (document: Readonly<Document>, rows?: Rows) => unknown[]
type Rows = readonly (Readonly<Document> | null)[]

/** What values are read from. */
interface Places {
  readonly document: Readonly<Document>
  readonly rows: Rows
  readonly made: Readonly<Document>[]
}
type Reader = (places: Places) => unknown

/** What a value comes from that another row has; null where it comes from the own one. */
export const rowSource = (source: Source | null | undefined): Source | null =>
  !source || source.from === 'row' ? (source ?? null) : rowSource(source.otherwise)

/** A program made ready to run. */
export function conversion({ sources, makers }: Program, names: readonly string[]): Conversion {
  const readers = names.map((name) => ownName(sources.get(name)) ?? readerOf(sources.get(name)))
  const makings = makers.map(({ sources, make }) => {
    if (sources.every(([name, source]) => ownName(source) === name))
      return ({ document }: Places): Readonly<Document> => make({ ...document } as never)
    const inputs = sources.map(([name, source]) => [name, readerOf(source)] as const)
    return (places: Places): Readonly<Document> => {
      const given: Document = {}
      for (const [name, read] of inputs) given[name] = read(places)
      return make(given as never)
    }
  })
  return (document, rows = none) => {
    const places: Places = { document, rows, made: [] }
    for (const making of makings) places.made.push(making(places))
    const values = new Array<unknown>(readers.length)
    for (let i = 0; i < readers.length; i++) {
      const read = readers[i] as string | Reader
      values[i] = typeof read === 'string' ? document[read] : read(places)
    }
    return values
  }
}

/** The name of a value that stands in the document as it is, as most do: nothing is called for it. */
const ownName = (source: Source | null | undefined): string | null =>
  source?.from === 'document' && source.map === null && source.otherwise === null ? source.name : null

const none: Rows = []
const nothing: Reader = () => undefined

function readerOf(source: Source | null | undefined): Reader {
  if (!source) return nothing
  const { from, at, name, there, map, otherwise } = source
  const read = there?.read ?? ((row: Readonly<Document>) => row[name])
  const plainly: Reader =
    from === 'document'
      ? ({ document }) => document[name]
      : from === 'made'
        ? ({ made }) => made[at]?.[name]
        : ({ rows }) => (rows[at] ? read(rows[at]) : undefined)
  if (map === null && otherwise === null) return plainly
  const other = readerOf(otherwise)
  return (places) => {
    const found = plainly(places)
    if (found === undefined) return other(places)
    return map === null ? found : map(found)
  }
}
