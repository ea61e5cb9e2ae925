/** Losses: the stored values that a change would drop, found and counted before its first step. The store. */

import { storedDocumentOf } from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import { valueAt } from '../ledgers/dropped-copies.ts'
import {
  type Collection,
  keptForOthersKey,
  type Members,
  type ShapeConversions,
  type StoredDocument,
  viewRow,
} from '../rows/collection.ts'
import { type BatchEnd, type RowBatch, readBatch } from '../schema/declared-rows.ts'
import { type Consent, findHazards, type Hazard, type Survey, type SurveyedChange } from '../schema/hazard.ts'
import { renamingLines } from '../schema/renaming.ts'
import { earlierReleaseSurvey, formerLayout, writableCollections } from '../schema/state.ts'
import { lostFields } from '../schema/tables.ts'
import { quoted } from '../sql/dialect.ts'
import { incompatibilityOf } from '../sql/field-sources.ts'
import { formerTables, mapCollections, type TableLayout } from '../sql/layout.ts'
import { isConverted } from '../sql/stored-version.ts'

/** A collection whose rows may hold values of fields that are no longer declared. */
export interface LossyCollection {
  readonly collection: Collection & ShapeConversions
  /** The number of the new shape. */
  readonly shape: number
  readonly was: TableLayout
  /** The paths of these fields; of nested ones only the outermost. */
  readonly paths: readonly string[]
  readonly converted: boolean
}

/** A stored value that the new document does not hold. */
export interface LostValue {
  readonly path: string
  readonly value: unknown
  /** Whether it was write-only, so that no response has shown it. */
  readonly hidden: boolean
}

export function lossyCollections({ change, collections, dialect }: SurveyedChange): LossyCollection[] {
  const was = formerLayout(change.before)
  if (was === null) return []
  const writable = writableCollections(collections, change.after, dialect)
  const formerTable = formerTables(writable, was)
  return mapCollections(writable, change.after).flatMap(({ collection, table }) => {
    const old = formerTable(collection)
    if (!old || old.shape === table.shape || incompatibilityOf(collection, old, was) !== null) return []
    const gone = lostFields(collection, old)
    const paths = gone.filter((path) => !gone.some((outer) => path.startsWith(`${outer}.`)))
    const converted = isConverted(collection, old)
    return paths.length === 0 ? [] : [{ collection, shape: table.shape, was: old, paths, converted }]
  })
}

/** The values of a row that are dropped when it is rewritten in the new shape. */
export function lostValuesIn(lossy: LossyCollection, row: StoredDocument): LostValue[] {
  const { [keptForOthersKey]: kept = {}, ...hidden } = JSON.parse(row.hidden ?? '{}') as Record<string, never>
  const doc = JSON.parse(row.doc) as Record<string, unknown>
  const documents = [{ ...hidden, ...doc }, ...Object.values(kept as object).toReversed()]
  return lossy.paths.flatMap((path) => {
    const value = documents.map((one) => valueAt(one, path)).find((one) => one !== undefined)
    if (value === undefined || (lossy.converted && isRecoverable(lossy, row, path, value))) return []
    return [{ path, value, hidden: !Object.hasOwn(doc, path.replace(/\..*/, '')) }]
  })
}

/** Whether the value can be derived again: a version change converted it in an undoable way, or moved it to another row. */
function isRecoverable(
  { collection, shape, was }: LossyCollection,
  row: StoredDocument,
  path: string,
  value: unknown,
): boolean {
  const [top] = path.split('.')
  if (collection.movedValues?.(was.shape, documentForOldNodes(row, was)).some(({ field }) => field === top)) return true
  const { document } = viewRow(collection, shape, row)
  const rows = collection.joined?.(was.shape).map(({ withWriteOnly }) => (withWriteOnly ? document : null)) ?? []
  try {
    const back = collection.toOlder?.(was.shape, document, rows) ?? {}
    return JSON.stringify(valueAt(back, path)) === JSON.stringify(value)
  } catch {
    return false // the converter cannot undo this row
  }
}

/** The document that old nodes know; a row in the new shape keeps it in its hidden column. */
function documentForOldNodes({ doc, hidden, shape }: StoredDocument, was: TableLayout): Members {
  const { [keptForOthersKey]: kept = {}, ...more } = JSON.parse(hidden ?? '{}') as Record<
    string,
    Record<number, Members>
  >
  const document = { ...more, ...JSON.parse(doc) }
  return shape === was.shape ? document : { ...document, ...kept[was.shape] }
}

export const lossName = ({ collection }: LossyCollection, path: string): string => `${collection.name}.${path}`

/** The fields that an operator allowed to drop. A name without its resource must be unique among the lossy fields. */
export function allowedLosses(all: readonly LossyCollection[], names: readonly string[]): ReadonlySet<string> {
  const lossNames = all.flatMap((lossy) => lossy.paths.map((path) => ({ path, name: lossName(lossy, path) })))
  const meant = names.flatMap((one) => {
    const exact = lossNames.filter(({ name }) => name === one)
    const short = lossNames.filter(({ path }) => path === one)
    return exact.length > 0 ? exact : short.length === 1 ? short : []
  })
  return new Set(meant.map(({ name }) => name))
}

/** Reports stored values that would be dropped without permission. */
const lossSurvey = (names: readonly string[]): Survey =>
  function* (surveyed) {
    const all = lossyCollections(surveyed)
    const allowed = allowedLosses(all, names)
    const hazards = yield* findRemakeHazards(surveyed.change)
    for (const lossy of all) {
      const paths = lossy.paths.filter((path) => !allowed.has(lossName(lossy, path)))
      if (paths.length > 0) hazards.push(...(yield* findLossHazards({ ...lossy, paths }, surveyed)))
    }
    return hazards
  }

/** All hazards that a change would be refused for. */
export const findChangeHazards = (
  surveyed: SurveyedChange,
  { allowLoss = [], surveys = [] }: Consent,
): Steps<readonly Hazard[]> => findHazards(surveyed, [lossSurvey(allowLoss), earlierReleaseSurvey, ...surveys])

/** The tables that have to be recreated, and have rows. */
export function* findRemakeHazards({ steps }: SurveyedChange['change']): Steps<Hazard[]> {
  const hazards: Hazard[] = []
  for (const { about, empty } of steps) if (empty) hazards.push(...(yield* remakeHazards(about, empty)))
  return hazards
}

/** A table that must be recreated has to be empty; this is reported before the first step. */
function* remakeHazards(about: string, table: string): Steps<Hazard[]> {
  const rows = yield { text: `SELECT 1 AS found FROM ${quoted(table)} LIMIT 1`, values: [] }
  if (rows.length === 0) return []
  const mend = 'Declare a new resource beside the old one and copy the items; in development, use a new database.'
  return [{ about: `The step "${about}" cannot be done: it has rows, which would be lost. ${mend}`, mends: [] }]
}

const maxNamed = 3
/** How long to count rows after the first lost value was found, in milliseconds. */
const maxCountingTime = 5000

interface LossCount {
  rows: number
  readonly ids: string[]
}

/** Reads all rows, as no index shows which of them hold a value. */
function* findLossHazards(lossy: LossyCollection, { dialect, world }: SurveyedChange): Steps<Hazard[]> {
  const { collection } = lossy
  const counts = new Map<string, LossCount>()
  const until = world.monotonic() + maxCountingTime
  let after: BatchEnd = null
  let isLate = false
  do {
    const { rows, last }: RowBatch = yield* readBatch(collection, dialect, after)
    for (const row of rows) countLosses(lossy, row, counts)
    isLate = counts.size > 0 && world.monotonic() > until
    after = last
  } while (after && !isLate)
  return [...counts].map(([path, one]) => lossHazard(lossy, path, one, isLate))
}

function countLosses(lossy: LossyCollection, row: ResultRow, losses: Map<string, LossCount>): void {
  for (const { path } of lostValuesIn(lossy, storedDocumentOf(row))) {
    const one = losses.get(path) ?? { rows: 0, ids: [] }
    losses.set(path, one)
    one.rows++
    if (one.ids.length < maxNamed) one.ids.push(row.id as string)
  }
}

function lossHazard(lossy: LossyCollection, path: string, { rows, ids }: LossCount, isLeast: boolean): Hazard {
  const number = `${isLeast ? 'at least ' : ''}${rows} ${rows === 1 ? 'row holds' : 'rows hold'}`
  const more = rows > ids.length ? ', …' : ''
  const name = lossName(lossy, path)
  return {
    about: `${name} is not declared any more, and ${number} a value in it (${ids.join(', ')}${more}).`,
    mends: [...renamingLines(lossy, path), ['If its values may be dropped', `--allow-loss ${name}`]],
    loss: name,
  }
}
