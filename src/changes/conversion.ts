/** Conversion: where each value of a document in another version comes from, with steps combined. Part 9, versions. */
import type { Field } from '../fields/field.ts'
import type { FieldKinds } from '../fields/kind.ts'
import { absentValue } from '../fields/value-check.ts'
import type { RowJoin } from '../flow/plan.ts'
import { type Change, type Comparison, referencedResource } from '../resources/change.ts'
import {
  type Concepts,
  type ResourceDeclaration,
  resolveConcepts,
  type VersionedDeclaration,
} from '../resources/declaration.ts'
import { oldValuesByNew } from '../resources/repoint.ts'

/** One change of one resource, with the declaration that it led to. */
export interface ChangeStep {
  readonly change: Partial<Change>
  /** The resource as declared in the version that made the change. */
  readonly own: ResourceDeclaration
  readonly concepts: Concepts
  readonly kinds: FieldKinds
  /** The whole declaration of that version. */
  readonly declaration: VersionedDeclaration
  /** Identifies the step in its resource: the version, with a number if it made several, counted from the newest. */
  readonly place: string
}

export type VersionDocument = Record<string, unknown>
type MapValue = (value: unknown) => unknown

/**
 * Where a value comes from: the document, the result of a change function, or another row. `usual` is the default of a field that
 * exists only in a version in between. Only change functions receive it; stored and answered values use the default of their own field.
 */
export interface ValueSource {
  readonly from: 'document' | 'made' | 'row' | 'usual'
  /** The index of the function or joined row. For a row, `name` is the field that keeps the value while there is none. */
  readonly at: number
  readonly name: string
  /** The value of a usual source, and whether it is stored too, as a later version requires it and gives it a value. */
  readonly value?: unknown
  readonly stored?: true
  /** How the other row stores it now. */
  readonly there?: MovedField
  readonly map: MapValue | null
  /** The source to use if this one gives no value. */
  readonly otherwise: ValueSource | null
}

type ValueSources = ReadonlyMap<string, ValueSource>

/** A function of a change, and the fields that it receives. */
interface ChangeFunction {
  readonly sources: readonly (readonly [name: string, source: ValueSource])[]
  readonly make: (document: never) => Readonly<VersionDocument>
}

export interface VersionMapping {
  /** The resource whose rows are converted, by its current name. */
  readonly of: string
  readonly sources: ValueSources
  readonly makers: readonly ChangeFunction[]
  readonly joined: readonly RowJoin[]
}

const documentSource = (name: string): ValueSource => ({ from: 'document', at: 0, name, map: null, otherwise: null })

/** The mapping that changes nothing. */
export const identityMapping = (of: string, names: readonly string[]): VersionMapping => ({
  of,
  sources: new Map(names.map((name) => [name, documentSource(name)])),
  makers: [],
  joined: [],
})

/** The default of a field that only the version of a step has, for documents without a value of it; null if the field is required. */
function usualSource({ concepts, kinds }: ChangeStep, name: string, declared: Field | undefined): ValueSource | null {
  const field = declared && resolveConcepts(declared, concepts)
  const value = field?.options.derived ? undefined : field && absentValue(field, { kinds })
  return value === undefined ? null : { from: 'usual', at: 0, name, value, map: null, otherwise: null }
}

/** Maps the value of a source and those that it falls back to; with `stored`, a usual value is stored too. */
const mapSource = (source: ValueSource, map: MapValue, more: Pick<ValueSource, 'stored'> = {}): ValueSource => ({
  ...{ ...source, ...more, map: composed(source.map, map) },
  otherwise: source.otherwise && mapSource(source.otherwise, map, more),
})

const composed = (first: MapValue | null, map: MapValue): MapValue => (first ? (value) => map(first(value)) : map)

/** Values that the table does not list stay as they are. */
const lookUpValue =
  (values: ReadonlyMap<string, string>): MapValue =>
  (value) =>
    typeof value === 'string' ? (values.get(value) ?? value) : value

function addChangeFunction(
  { makers }: VersionMapping,
  sources: ValueSources,
  make: ChangeFunction['make'] | undefined,
): {
  makers: readonly ChangeFunction[]
  computed: (name: string, otherwise: ValueSource | null) => ValueSource | null
} {
  if (!make) return { makers, computed: (_, otherwise) => otherwise }
  const at = makers.length
  return {
    makers: [...makers, { sources: [...sources].filter(([, { from }]) => from !== 'row'), make }],
    computed: (name, otherwise) => ({ from: 'made', at, name, map: null, otherwise }),
  }
}

/** A field that now belongs to another resource, as it was in the version of a step. */
export interface MovedField {
  /** The current name of that resource. */
  readonly resource: string
  /** Reads the value from a current row. */
  readonly read: (row: Readonly<VersionDocument>) => unknown
  /** The changes to a current row that give the field another value. */
  readonly put: (row: Readonly<VersionDocument>, value: unknown) => VersionDocument
  /** The current fields that it is computed from. */
  readonly fields: readonly string[]
  /** Whether the resource lacked this field in the given older version. */
  readonly isNew: (label: string) => boolean
  /** Translate a filter and a sort to current fields; null if that is impossible. */
  readonly ask: (comparison: Comparison) => readonly Comparison[] | null
  readonly order: () => readonly string[] | null
}

/** Finds a field in another resource; undefined if it has moved on from there to a third one. */
export type FindMovedField = (step: ChangeStep, resource: string, field: string) => MovedField | undefined

/** The field that keeps a moved value in the row itself while it links to no other row. Declared names never contain `@`. */
export const keptFieldName = ({ change: { version } }: ChangeStep, name: string): string => `${name}@${version}`

/** The resource that a reference or the parent of a step links to. */
export const linkTarget = ({ own, concepts }: ChangeStep, by: string): string | undefined =>
  referencedResource(own.fields, by, own.parent, concepts)

/** Extends a mapping (stored to answered) by one step back to an older version. */
export function mapDown(program: VersionMapping, step: ChangeStep, elsewhere: FindMovedField): VersionMapping {
  const { change, own: now, concepts } = step
  const { renamed = {}, added = [], removed = {}, retyped = {}, mapped: up = {}, shown = {}, moved = {} } = change
  const old = new Map(Object.entries(renamed).map(([was, is]) => [is, was]))
  const { makers, computed } = addChangeFunction(program, program.sources, change.response as ChangeFunction['make'])
  const sources = new Map<string, ValueSource>()
  const joins = [...program.joined]
  for (const [name, source] of program.sources) {
    if (added.includes(name)) continue
    const field = now.fields[name]
    const isMapped = field && (Object.hasOwn(up, name) || Object.hasOwn(shown, name))
    const values = isMapped
      ? oldValuesByNew(resolveConcepts(field, concepts).values ?? [], up[name] ?? {}, shown[name] ?? {})
      : null
    const kept = values ? mapSource(source, lookUpValue(values)) : source
    sources.set(old.get(name) ?? name, Object.hasOwn(retyped, name) ? (computed(name, kept) ?? kept) : kept)
  }
  for (const [name, field] of Object.entries(removed)) {
    const source = computed(name, usualSource(step, name, field))
    if (source) sources.set(name, source)
  }
  for (const [name, { by, to }] of Object.entries(moved)) {
    const link = program.sources.get(by)
    const target = linkTarget(step, by)
    const there = target === undefined ? undefined : elsewhere(step, target, to)
    // review/moved-fields.ts has already refused such a declaration.
    if (!link || !there || link.from !== 'document') throw new Error(lostFieldMessage(step, name))
    const index = joins.findIndex((one) => one.by === link.name && one.collection === there.resource)
    const at = index >= 0 ? index : joins.push({ by: link.name, collection: there.resource }) - 1
    const kept = keptFieldName(step, name)
    const otherwise = sources.delete(kept) ? keptFieldSource(program.of, kept, joins) : null
    sources.set(name, { from: 'row', at, name: kept, there, map: null, otherwise })
  }
  return { ...program, sources, makers, joined: joins }
}

/** A kept value is write-only, so the answered document lacks it: join the row with itself to read it. */
function keptFieldSource(of: string, name: string, joins: RowJoin[]): ValueSource {
  const index = joins.findIndex(({ withWriteOnly }) => withWriteOnly)
  const at = index >= 0 ? index : joins.push({ by: 'id', collection: of, withWriteOnly: true }) - 1
  return { from: 'row', at, name, map: null, otherwise: null }
}

const lostFieldMessage = ({ change: { version, resource } }: ChangeStep, name: string): string =>
  `changes.${version}.${resource}.moved.${name}: The field that it moved to is more than renamed in a later version.`

/** Extends a mapping (sent to stored) by one step to a newer version. A moved field goes to the field that keeps it. */
export function mapUp(program: VersionMapping, step: ChangeStep): VersionMapping {
  const { change, own } = step
  const { renamed = {}, added = [], removed = {}, retyped = {}, mapped: up = {}, required = {}, moved = {} } = change
  const { makers, computed } = addChangeFunction(program, program.sources, change.request as ChangeFunction['make'])
  const sources = new Map<string, ValueSource>()
  for (const [name, source] of program.sources) {
    if (Object.hasOwn(moved, name)) sources.set(keptFieldName(step, name), source)
    if (Object.hasOwn(removed, name) || Object.hasOwn(moved, name)) continue
    const is = Object.hasOwn(renamed, name) ? (renamed[name] as string) : name
    const values = Object.hasOwn(up, is) ? new Map(Object.entries(up[is] ?? {})) : null
    const kept = values ? mapSource(source, lookUpValue(values)) : source
    const fill: MapValue = (value) => value ?? required[is]
    const filled = Object.hasOwn(required, is) ? mapSource(kept, fill, { stored: true }) : kept
    sources.set(is, Object.hasOwn(retyped, is) ? (computed(is, filled) ?? filled) : filled)
  }
  for (const name of added) {
    const source = computed(name, usualSource(step, name, own.fields[name]))
    if (source) sources.set(name, source)
  }
  return { ...program, sources, makers }
}

/**
 * Returns the values in the other version, in the order of the given names; undefined without a source. In a `partial` document
 * values are unknown: what a change function cannot compute without them is null.
 */
export type Conversion = (
  document: Readonly<VersionDocument>,
  rows?: JoinedDocuments,
  options?: { readonly partial: boolean },
) => unknown[]
type JoinedDocuments = readonly (Readonly<VersionDocument> | null)[]

/** The inputs that value sources read from. */
interface ConversionInput {
  readonly document: Readonly<VersionDocument>
  readonly rows: JoinedDocuments
  readonly computed: Readonly<VersionDocument>[]
}
type ReadValue = (places: ConversionInput) => unknown

/** The part of a source that reads another row; null if the value comes from its own row alone. */
export const joinedSource = (source: ValueSource | null | undefined): ValueSource | null =>
  !source || source.from === 'row' ? (source ?? null) : joinedSource(source.otherwise)

/** Compiles a mapping. */
export function compileConversion({ sources, makers }: VersionMapping, names: readonly string[]): Conversion {
  const readers = names.map((name) => directName(sources.get(name)) ?? readerOf(sources.get(name)))
  const makings = makers.map(({ sources, make }) => {
    if (sources.every(([name, source]) => directName(source) === name))
      return ({ document }: ConversionInput): Readonly<VersionDocument> => make({ ...document } as never)
    const inputs = sources.map(([name, source]) => [name, readerOf(source, true)] as const)
    return (places: ConversionInput): Readonly<VersionDocument> => {
      const values: VersionDocument = {}
      for (const [name, read] of inputs) values[name] = read(places)
      return make(values as never)
    }
  })
  return (document, rows = noRows, { partial } = whole) => {
    const places: ConversionInput = { document, rows, computed: [] }
    for (const making of makings) places.computed.push(partial ? madeIfKnown(making, places) : making(places))
    const values = new Array<unknown>(readers.length)
    for (let i = 0; i < readers.length; i++) {
      const read = readers[i] as string | ReadValue
      values[i] = typeof read === 'string' ? document[read] : read(places)
    }
    return values
  }
}

const whole = { partial: false }

/** The result of a change function that throws because it lacks values. */
const unknownValues: Readonly<VersionDocument> = new Proxy({}, { get: () => null })

function madeIfKnown(
  make: (places: ConversionInput) => Readonly<VersionDocument>,
  places: ConversionInput,
): Readonly<VersionDocument> {
  try {
    return make(places)
  } catch {
    return unknownValues
  }
}

/** The name of a value that is copied unchanged, as most are: it is read without a function call. */
const directName = (source: ValueSource | null | undefined): string | null =>
  source?.from === 'document' && source.map === null && source.otherwise === null ? source.name : null

const noRows: JoinedDocuments = []
const readNothing: ReadValue = () => undefined

function readerOf(source: ValueSource | null | undefined, usual = false): ReadValue {
  if (!source || (source.from === 'usual' && !usual && !source.stored)) return readNothing
  const { from, at, name, value: constant, there, map, otherwise } = source
  const read = there?.read ?? ((row: Readonly<VersionDocument>) => row[name])
  const plainly: ReadValue =
    from === 'document'
      ? ({ document }) => document[name]
      : from === 'made'
        ? ({ computed }) => computed[at]?.[name]
        : from === 'usual'
          ? () => constant
          : ({ rows }) => (rows[at] ? read(rows[at]) : undefined)
  if (map === null && otherwise === null) return plainly
  const other = readerOf(otherwise, usual)
  return (places) => {
    const value = plainly(places)
    if (value === undefined) return other(places)
    return map === null ? value : map(value)
  }
}
