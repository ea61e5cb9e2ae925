/** Misfits: finds and records rows that do not fit a declaration narrower than the one applied last. The store. */

import type { Steps } from '../catalog/steps.ts'
import { type Bounds, boundsBefore, isNarrower, type Misfit, type Misfits, unionBounds } from '../fields/bounds.ts'
import { type Collection, type Index, indexesOf } from '../rows/collection.ts'
import { type ReadableCollection, readableCollections, readEachRow } from '../schema/declared-rows.ts'
import { type Consent, type Hazard, requireNoHazards, type SurveyedChange } from '../schema/hazard.ts'
import { readMeta, writeMeta } from '../schema/shared-tables.ts'
import { earlierReleaseSurvey, layoutName } from '../schema/state.ts'
import type { Dialect } from '../sql/dialect.ts'
import { fitIndexColumns } from '../sql/index-width.ts'
import { isConverted, storedVersionAt } from '../sql/stored-version.ts'
import { type JudgedField, type MisfitCounter, misfitCounter } from './misfit-counter.ts'

/** The bounds of the declaration applied last, and the rows that did not fit it, as the database stores them. */
export interface MisfitMemory {
  readonly bounds: { readonly [collection: string]: { readonly [field: string]: Bounds } }
  readonly misfits: Misfits
  /** The layout name of that declaration, and the misfits of the one before it, for its nodes in a rolling upgrade. */
  readonly layout?: string
  readonly former?: Misfits
}

/** The result of the search before a declaration is applied. */
export interface MisfitReport {
  /** The findings to store once the declaration is applied; null if they are stored already. */
  readonly memory: MisfitMemory | null
  readonly misfits: Misfits
  /** The narrowed fields with rows that do not fit. */
  readonly narrowed: readonly NarrowedField[]
}

interface NarrowedField extends Misfit {
  readonly collection: string
  readonly field: string
  readonly bounds: Bounds
  readonly addresses: boolean
  readonly states: readonly string[] | null
  /** Whether a value is too long for an index of the declaration in this database. */
  readonly overlong: boolean
}

/** A field to check: it became narrower, its misfits may be gone, or nothing is known about its rows. */
interface FieldToJudge extends JudgedField {
  readonly why: 'narrower' | 'again' | 'unknown'
}

/** How long rows are counted, in milliseconds. */
const maxCountingTime = 5000

export function* readMisfitMemory(): Steps<MisfitMemory | null> {
  return JSON.parse((yield* readMeta('bounds')) ?? 'null')
}

export const writeMisfitMemory = (dialect: Dialect, memory: MisfitMemory): Steps<void> =>
  writeMeta(dialect, 'bounds', JSON.stringify(memory))

/** The misfits of the former declaration, as its nodes describe them during a rolling upgrade. */
export function* readFormerMisfits(): Steps<Misfits> {
  return (yield* readMisfitMemory())?.former ?? {}
}

/** The bounds of all fields, in the form that the database stores. */
export const declaredBounds = (collections: readonly Collection[]): MisfitMemory['bounds'] =>
  Object.fromEntries(
    collections.map(({ name, rules }) => [
      name,
      Object.fromEntries([...rules].map(([field, { bounds }]) => [field, bounds])),
    ]),
  )

/** The report for a node that serves the old declaration: its rows are not checked. */
export const emptyMisfitReport: MisfitReport = { memory: null, misfits: {}, narrowed: [] }

/** Checks only fields that may have misfits or may have lost them; if no bounds changed, reads no rows. */
export function* findMisfits({ change, collections, dialect, world }: SurveyedChange): Steps<MisfitReport> {
  const { before, after } = change
  const bounds = declaredBounds(collections)
  const layout = layoutName(after)
  if (before === null) return { memory: { bounds, misfits: {}, layout, former: {} }, misfits: {}, narrowed: [] }
  const recorded = yield* readMisfitMemory()
  const [misfits, narrowed]: [Record<string, Record<string, Misfit>>, NarrowedField[]] = [{}, []]
  const until = world.monotonic() + maxCountingTime
  for (const readable of readableCollections(collections, { before: before.layout, after }, dialect)) {
    const { collection } = readable.prepared
    const doubts = fieldsToJudge(readable, recorded)
    const still = Object.entries(recorded?.misfits[readable.name] ?? {})
    const kept = still.filter(([field]) => collection.rules.has(field) && !doubts.some(({ name }) => name === field))
    const { found, longest } = yield* countMisfits(readable, doubts, dialect, () => world.monotonic() < until)
    misfits[collection.name] = { ...Object.fromEntries(kept), ...found }
    for (const { name: field, why } of doubts) {
      const [misfit, rule] = [found[field], collection.rules.get(field)]
      if (why === 'narrower' && misfit && rule && misfit.rows > 0)
        narrowed.push({
          ...misfit,
          ...rule,
          collection: collection.name,
          field,
          overlong: longest(field) > maxIndexedBytes(collection, field, dialect),
        })
    }
  }
  const some = Object.fromEntries(Object.entries(misfits).filter(([, fields]) => Object.keys(fields).length > 0))
  const former = (recorded?.layout === layout ? recorded.former : recorded?.misfits) ?? {}
  const memory = { bounds: { ...recorded?.bounds, ...bounds }, misfits: some, layout, former }
  return { memory: JSON.stringify(memory) === JSON.stringify(recorded) ? null : memory, misfits: some, narrowed }
}

function* countMisfits(
  { prepared }: ReadableCollection,
  doubts: readonly FieldToJudge[],
  dialect: Dialect,
  isTime: () => boolean,
): Steps<{ readonly found: Record<string, Misfit>; readonly longest: MisfitCounter['longest'] }> {
  if (doubts.length === 0) return { found: {}, longest: () => 0 }
  const own = misfitCounter(prepared.collection.rules, doubts)
  const whole = yield* readEachRow(prepared, dialect, (row) => {
    own.see(row)
    return isTime()
  })
  return { found: own.misfits(whole), longest: own.longest }
}

/** The most bytes of a value that the indexes of a field can hold. A field that may be too long has only a prefix in them. */
function maxIndexedBytes(collection: Collection, field: string, dialect: Dialect): number {
  const own = collection.columns.find((column) => column.field === field)?.name
  const isWhole = ({ columns }: Index) =>
    fitIndexColumns(collection, columns, dialect, false).some((name) => name === own || name === `-${own}`)
  const isHeld = own !== undefined && indexesOf(collection).some(isWhole)
  return (isHeld ? dialect.maxIndexBytes : null) ?? Number.POSITIVE_INFINITY
}

function fieldsToJudge(
  { prepared: { collection }, was, name }: ReadableCollection,
  recorded: MisfitMemory | null,
): FieldToJudge[] {
  const memory = recorded?.bounds[name]
  const before = memory ?? boundsFromShape(collection, was.shapes[was.shape - 1] as string)
  const converted = isConverted(collection, was)
  const storedVersion = storedVersionAt(collection, was, was.shape)
  return [...collection.rules].flatMap(([field, { bounds }]): FieldToJudge[] => {
    const from = converted ? (collection.conversions?.sourceField(storedVersion, field) ?? null) : field
    const old = from === null ? undefined : boundsBefore(before, from, bounds)
    const record = recorded?.misfits[name]?.[from ?? field]
    const wide = old ? unionBounds(unionBounds(record?.wide ?? old, old), bounds) : null
    if (from === null) return [{ name: field, why: 'narrower', wide }]
    if (isNarrower(old, bounds)) return [{ name: field, why: 'narrower', wide: wide ?? { ...bounds, nullable: true } }]
    if (record && JSON.stringify(old) !== JSON.stringify(bounds)) return [{ name: field, why: 'again', wide }]
    return memory ? [] : [{ name: field, why: 'unknown', wide: null }]
  })
}

type ShapePart = readonly [
  name: string,
  kind: string,
  hidden: boolean,
  digits: readonly [number, number] | null,
  ShapePart[],
]

/** Derives old bounds from the stored structure if the database has none: the fields, and the digits of decimals. */
function boundsFromShape({ rules }: Collection, shape: string): Record<string, Bounds> {
  const boundsOfPart = ([, , , digits, inner]: ShapePart, bounds: Bounds): Bounds => ({
    ...bounds,
    ...(digits && { precision: digits[0], scale: digits[1] }),
    ...(bounds.item && inner[0] && { item: boundsOfPart(inner[0], bounds.item) }),
    ...(bounds.fields && { fields: allOf(inner, Object.entries(bounds.fields)) }),
  })
  const allOf = (parts: readonly ShapePart[], all: readonly (readonly [string, Bounds])[]): Record<string, Bounds> =>
    Object.fromEntries(
      all.flatMap(([name, bounds]) => {
        const part = partNamed(parts, name, bounds)
        return part ? [[name, boundsOfPart(part, bounds)]] : []
      }),
    )
  const entries = [...rules].map(([name, { bounds }]) => [name, bounds] as const)
  return allOf(JSON.parse(shape.replace(/^v\d+ /, '')), entries)
}

const partNamed = (parts: readonly ShapePart[], name: string, { was }: Bounds): ShapePart | undefined =>
  parts.find(([one]) => one === name) ?? parts.find(([one]) => one === was)

/** Adds a survey that only reports rows counted before, so that the transaction of the change does not count them. */
export const withMisfitSurvey = (consent: Consent, sighting: MisfitReport): Consent => ({
  ...consent,
  surveys: [
    ...(consent.surveys ?? []),
    // biome-ignore lint/correctness/useYield: everything was read before
    function* () {
      return misfitHazards(sighting, consent.allowMisfits === true)
    },
  ],
})

/** Stores the findings; call this once the declaration is applied. */
export function* rememberMisfits(dialect: Dialect, { memory }: MisfitReport): Steps<void> {
  if (memory) yield* writeMisfitMemory(dialect, memory)
}

/** For a declaration that needs no step: throws if it has hazards, otherwise stores its bounds. */
export function* admitDeclaration(surveyed: SurveyedChange, consent: Consent, sighting: MisfitReport): Steps<void> {
  yield* requireNoHazards(surveyed, [earlierReleaseSurvey, ...(withMisfitSurvey(consent, sighting).surveys ?? [])])
  yield* rememberMisfits(surveyed.dialect, sighting)
}

/** The arguments that the makers of some kinds take before the options. */
const firstArguments: Readonly<Record<string, string>> = { enum: '[…], ', list: '…, ', object: '{ … }, ', ref: "'…', " }

/** The hazards of narrowed fields whose rows do not fit. */
function misfitHazards({ narrowed }: MisfitReport, allow: boolean): Hazard[] {
  const refused = narrowed.filter(({ addresses, states, overlong }) => addresses || states || overlong || !allow)
  return refused.map(({ collection, field, rows, more, ids, says, bounds, addresses, states, overlong }) => {
    const count = `${more ? 'at least ' : ''}${rows} ${rows === 1 ? 'row' : 'rows'} of ${collection}`
    const named = ids.length < rows ? `the first: ${ids.join(', ')}` : ids.join(', ')
    const about = `${count} would not fit \`${field}\` as it is declared now: ${says.replace(/\.$/, '')} (${named})`
    if (addresses)
      return { about: `${about}\nIts value is part of the URL, so these items could not be reached.`, mends: [] }
    if (states)
      return {
        about: `${about}\nEvery item has one of the states, and only transitions write it.`,
        mends: stateMends(field, states),
      }
    const declared = (option: string) =>
      `${field}: f.${bounds.kind}(${firstArguments[bounds.kind] ?? ''}{ …, ${option} })`
    return {
      about,
      mends: [
        ['If these rows get a value', declared('fill: a value that fits')],
        ['If it had another name', declared("was: 'the former name'")],
        overlong
          ? [
              'If they may stay as they are',
              'declare a longer `max`, or no filter, sort and unique: they are too long for its index',
            ]
          : ['If they may stay as they are', '--allow-misfits'],
      ],
    }
  })
}

/** A state has no declared field that could have a `fill`: values become states by the change that made it one. */
const stateMends = (field: string, states: readonly string[]): Hazard['mends'] => [
  [
    'If a value is called otherwise now',
    `mapped: { ${field}: { 'the value': '${states[0]}' } } in the change of the version`,
  ],
  ['If rows have no value', `required: { ${field}: '${states[0]}' } in the change of the version`],
  ['If there are no versions', `write one of ${states.join(', ')} into these rows with the former declaration`],
]
