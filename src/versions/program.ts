/** Program: where each value of a document in one version comes from in another one. All steps between them are made one at start. Part 9, versions. */
import type { Beside } from '../flow/plan.ts'
import { type Change, shownAs } from '../resources/change.ts'
import { type Concepts, type ResourceDeclaration, resolved } from '../resources/declaration.ts'

/** One change of one resource, and what it was made to. */
export interface Step {
  readonly change: Partial<Change>
  /** The resource as the version of the change has it. */
  readonly own: ResourceDeclaration
  readonly concepts: Concepts
}

export type Document = Record<string, unknown>
type Mapper = (value: unknown) => unknown

/** Where a value comes from: the document, what the function of a change made of it, or another row. */
export interface Source {
  readonly from: 'document' | 'made' | 'row'
  /** Which function, or which row. */
  readonly at: number
  readonly name: string
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
  readonly sources: Sources
  readonly makers: readonly Maker[]
  readonly beside: readonly Beside[]
}

const own = (name: string): Source => ({ from: 'document', at: 0, name, map: null, otherwise: null })

/** The program that leaves everything as it is. */
export const plain = (names: readonly string[]): Program => ({
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

/** Where rows of another resource, as the version of a step has it, hold a field today; undefined where it follows from a function. */
export type Elsewhere = (
  step: Step,
  resource: string,
  field: string,
) => { readonly resource: string; readonly source: Source } | undefined

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
    const field = now.fields[by]
    const target = field
      ? resolved(field, concepts).target
      : typeof now.parent === 'string'
        ? now.parent
        : now.parent?.resource
    const there = target === undefined ? undefined : elsewhere(step, target, to)
    if (!link || !there || link.from !== 'document') throw new Error(lost(step, name))
    const known = beside.findIndex((one) => one.by === link.name && one.collection === there.resource)
    const at = known >= 0 ? known : beside.push({ by: link.name, collection: there.resource }) - 1
    sources.set(name, { ...there.source, from: 'row', at })
  }
  return { sources, makers, beside }
}

const lost = ({ change: { version, resource } }: Step, name: string): string =>
  `changes.${version}.${resource}.moved.${name}: Where it is now has changed in a later version by more than a name.`

/** One version further on: from what is sent to what is stored. */
export function forth(program: Program, { change }: Step): Program {
  const { renamed = {}, added = [], removed = {}, retyped = {}, mapped: up = {}, required = {}, moved = {} } = change
  const { makers, made } = withMaker(program, program.sources, change.request as Maker['make'])
  const sources = new Map<string, Source>()
  for (const [name, source] of program.sources) {
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

/** A program made ready to run. */
export function conversion({ sources, makers }: Program, names: readonly string[]): Conversion {
  const readers = names.map((name) => readerOf(sources.get(name)))
  const makings = makers.map(({ sources, make }) => {
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
    for (let i = 0; i < readers.length; i++) values[i] = (readers[i] as Reader)(places)
    return values
  }
}

const none: Rows = []
const nothing: Reader = () => undefined

function readerOf(source: Source | null | undefined): Reader {
  if (!source) return nothing
  const { from, at, name, map, otherwise } = source
  const plainly: Reader =
    from === 'document'
      ? ({ document }) => document[name]
      : from === 'made'
        ? ({ made }) => made[at]?.[name]
        : ({ rows }) => rows[at]?.[name]
  if (map === null && otherwise === null) return plainly
  const other = readerOf(otherwise)
  return (places) => {
    const found = plainly(places)
    if (found === undefined) return other(places)
    return map === null ? found : map(found)
  }
}
