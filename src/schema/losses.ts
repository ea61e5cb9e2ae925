/** Losses: the stored values that a change would drop, found and counted before its first step. The cellar. */
import {
  aside,
  brought,
  type Collection,
  keyColumns,
  type Ladder,
  type Members,
  type Stored,
} from '../resources/collection.ts'
import type { Answer, Steps } from '../store/cellar.ts'
import { type Dialect, quoted } from '../store/dialect.ts'
import { valueAt } from '../store/dropped.ts'
import { isConverted } from '../store/epoch.ts'
import { unlike } from '../store/kinds.ts'
import { heirOf, placed, type TableLayout } from '../store/layout.ts'
import { type Consent, found, type Hazard, type Survey, type Surveyed } from './hazard.ts'
import { renamings } from './renaming.ts'
import { besideEarlier, fitting, formerOf } from './state.ts'
import { lost } from './tables.ts'

/** A collection whose rows may hold values of fields that are not declared any more. */
export interface Lossy {
  readonly collection: Collection & Ladder
  /** The number of the shape that is written now. */
  readonly shape: number
  readonly was: TableLayout
  /** These fields by path; of nested ones the outermost. */
  readonly paths: readonly string[]
  readonly converted: boolean
}

/** A value that nothing of the new document holds. */
export interface Held {
  readonly path: string
  readonly value: unknown
  /** Whether it was never answered to anybody. */
  readonly hidden: boolean
}

export function lossyIn({ change, collections, dialect }: Surveyed): Lossy[] {
  const was = formerOf(change.before)
  if (was === null) return []
  const known = fitting(collections, change.after, dialect)
  return placed(known, change.after).flatMap(({ collection, table }) => {
    const old = heirOf(collection, known, was)
    if (!old || old.shape === table.shape || unlike(collection, old, was) !== null) return []
    const gone = lost(collection, old)
    const paths = gone.filter((path) => !gone.some((outer) => path.startsWith(`${outer}.`)))
    const converted = isConverted(collection, old)
    return paths.length === 0 ? [] : [{ collection, shape: table.shape, was: old, paths, converted }]
  })
}

/** The values of a row that are dropped when it is written in the new shape. */
export function heldIn(lossy: Lossy, row: Stored): Held[] {
  const { [aside]: kept = {}, ...hidden } = JSON.parse(row.hidden ?? '{}') as Record<string, never>
  const doc = JSON.parse(row.doc) as Record<string, unknown>
  const documents = [{ ...hidden, ...doc }, ...Object.values(kept as object).toReversed()]
  return lossy.paths.flatMap((path) => {
    const value = documents.map((one) => valueAt(one, path)).find((one) => one !== undefined)
    if (value === undefined || (lossy.converted && isTold(lossy, row, path, value))) return []
    return [{ path, value, hidden: !Object.hasOwn(doc, path.replace(/\..*/, '')) }]
  })
}

/** Whether the new document, or another row, says what the value was: a change of versions made something else of it and can undo that. */
function isTold({ collection, shape, was }: Lossy, row: Stored, path: string, value: unknown): boolean {
  const [top] = path.split('.')
  if (collection.gives?.(was.shape, formerly(row, was)).some(({ field }) => field === top)) return true
  const { document } = brought(collection, shape, row)
  const rows = collection.besides?.(was.shape).map(({ whole }) => (whole ? document : null)) ?? []
  try {
    const back = collection.lowered?.(was.shape, document, rows) ?? {}
    return JSON.stringify(valueAt(back, path)) === JSON.stringify(value)
  } catch {
    return false // a converter that cannot undo this row does not tell its value
  }
}

/** The document that nodes of the former declaration know, which lies beside that of a row in the new shape. */
function formerly({ doc, hidden, shape }: Stored, was: TableLayout): Members {
  const { [aside]: kept = {}, ...more } = JSON.parse(hidden ?? '{}') as Record<string, Record<number, Members>>
  const whole = { ...more, ...JSON.parse(doc) }
  return shape === was.shape ? whole : { ...whole, ...kept[was.shape] }
}

export const nameOfLoss = ({ collection }: Lossy, path: string): string => `${collection.name}.${path}`

/** The fields that an operator allowed to drop. A name without its resource has to be unique among those that are to go. */
export function allowedIn(all: readonly Lossy[], names: readonly string[]): ReadonlySet<string> {
  const known = all.flatMap((lossy) => lossy.paths.map((path) => ({ path, name: nameOfLoss(lossy, path) })))
  const meant = names.flatMap((one) => {
    const exact = known.filter(({ name }) => name === one)
    const short = known.filter(({ path }) => path === one)
    return exact.length > 0 ? exact : short.length === 1 ? short : []
  })
  return new Set(meant.map(({ name }) => name))
}

/** Refuses to drop values that nobody allowed to drop. */
export const losses = (names: readonly string[]): Survey =>
  function* (surveyed) {
    const all = lossyIn(surveyed)
    const allowed = allowedIn(all, names)
    const hazards: Hazard[] = []
    for (const { about, empty } of surveyed.change.steps) if (empty) hazards.push(...(yield* filled(about, empty)))
    for (const lossy of all) {
      const paths = lossy.paths.filter((path) => !allowed.has(nameOfLoss(lossy, path)))
      if (paths.length > 0) hazards.push(...(yield* counted({ ...lossy, paths }, surveyed.dialect)))
    }
    return hazards
  }

/** What a change would be refused for. */
export const hazardsOf = (surveyed: Surveyed, { allowLoss = [], surveys = [] }: Consent): Steps<readonly Hazard[]> =>
  found(surveyed, [losses(allowLoss), besideEarlier, ...surveys])

/** A table that can only be made anew without rows: that no step can do otherwise is said before the first one. */
function* filled(about: string, table: string): Steps<Hazard[]> {
  const rows = yield { text: `SELECT 1 AS found FROM ${quoted(table)} LIMIT 1`, values: [] }
  if (rows.length === 0) return []
  const mend =
    'Declare it beside the old one under a name of its own and move what is stored; in development a new database will do.'
  return [{ about: `The step "${about}" cannot be done: it has rows, which would be lost. ${mend}`, mends: [] }]
}

const slice = 500
const mostNamed = 3
/** How long rows are counted once it is known that values would be lost, in milliseconds. */
const mostTime = 5000

interface Count {
  rows: number
  readonly ids: string[]
}

/** Reads all rows, as no index knows which of them hold a value. */
function* counted(lossy: Lossy, dialect: Dialect): Steps<Hazard[]> {
  const { collection } = lossy
  const keys = keyColumns(collection)
  const [key, marks] = [keys.join(', '), keys.map((_, i) => dialect.mark(i + 1)).join(', ')]
  const text = `SELECT ${key}, shape, doc, hidden FROM ${quoted(collection.table)} WHERE (${key}) > (${marks}) ORDER BY ${key} LIMIT ${slice}`
  const counts = new Map<string, Count>()
  const until = performance.now() + mostTime
  let after: readonly string[] = keys.map(() => '')
  for (;;) {
    const rows = yield { text, values: after }
    for (const row of rows) count(lossy, row, counts)
    const last = rows.at(-1)
    const isLate = counts.size > 0 && performance.now() > until
    if (!last || rows.length < slice || isLate)
      return [...counts].map(([path, one]) => hazard(lossy, path, one, isLate))
    after = keys.map((name) => last[name] as string)
  }
}

function count(lossy: Lossy, row: Answer, found: Map<string, Count>): void {
  for (const { path } of heldIn(lossy, storedIn(row))) {
    const one = found.get(path) ?? { rows: 0, ids: [] }
    found.set(path, one)
    one.rows++
    if (one.ids.length < mostNamed) one.ids.push(row.id as string)
  }
}

export const storedIn = (row: Answer): Stored => ({
  doc: row.doc as string,
  hidden: (row.hidden ?? null) as string | null,
  shape: Number(row.shape),
})

function hazard(lossy: Lossy, path: string, { rows, ids }: Count, isLeast: boolean): Hazard {
  const number = `${isLeast ? 'at least ' : ''}${rows} ${rows === 1 ? 'row holds' : 'rows hold'}`
  const more = rows > ids.length ? ', …' : ''
  const name = nameOfLoss(lossy, path)
  return {
    about: `${name} is not declared any more, and ${number} a value in it (${ids.join(', ')}${more}).`,
    mends: [...renamings(lossy, path), ['If its values may be dropped', `--allow-loss ${name}`]],
    loss: name,
  }
}
