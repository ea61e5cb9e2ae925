/** Drop: copies values aside in the transaction that drops them. The cellar. */
import {
  type Collection,
  hasKeptForOthers,
  keptForOthers,
  type Members,
  type ShapeConversions,
  type StoredDocument,
  viewRow,
} from '../rows/collection.ts'
import type { Consent, DroppedValue, SurveyedChange } from '../schema/hazard.ts'
import { readOtherNodes } from '../schema/presence.ts'
import { formerLayout, layoutName, writableCollections } from '../schema/state.ts'
import { metaTable } from '../sql/compile.ts'
import type { Dialect } from '../sql/dialect.ts'
import { fieldSources } from '../sql/field-sources.ts'
import { formerTableOf, mapCollections } from '../sql/layout.ts'
import { copyStatement, type DroppedCopy, valueAt } from '../store/dropped-copies.ts'
import type { ResultRow, Steps } from '../store/steps.ts'
import { allowedLosses, type LossyCollection, lossName, lossyCollections, lostValuesIn } from './losses.ts'

/** What a change may drop. */
export interface AllowedDrops {
  readonly lossy: ReadonlyMap<string, LossyCollection>
  readonly allowed: ReadonlySet<string>
  readonly filling: ReadonlyMap<string, FilledCollection>
  readonly rights: RightsByCollection
  readonly keep: Consent['keep']
  /** The time of copies; null for the clock of the database. */
  readonly time: number | null
}

/** Who may see and write a field: each scope is needed. */
export interface FieldRights {
  readonly hidden: boolean
  readonly read: readonly string[]
  readonly write: readonly string[]
}

/** The rights of fields by path, as they were when they were last declared, by what their collection is called. */
type RightsByCollection = Readonly<Record<string, Readonly<Record<string, FieldRights>>>>

/** A collection whose rows are written again with fills. */
interface FilledCollection {
  /** Without its fills, which shows what they replace. */
  readonly unfilled: Collection & ShapeConversions
  readonly shape: number
  /** The fields with a fill by path; of nested ones the outermost. */
  readonly paths: readonly string[]
}

type CollectionFields = Collection['fields']

const pathsWithFill = (fields: CollectionFields, at = ''): string[] =>
  fields.flatMap(({ name, fill, inner }) => (fill ? [at + name] : pathsWithFill(inner, `${at}${name}.`)))

const withoutFills = (fields: CollectionFields): CollectionFields =>
  fields.map((one) => ({ ...one, fill: null, inner: withoutFills(one.inner) }))

function filledCollections({ change, collections, dialect }: SurveyedChange): Map<string, FilledCollection> {
  const was = formerLayout(change.before)
  const known = writableCollections(collections, change.after, dialect)
  const all = mapCollections(known, change.after).flatMap(
    ({ collection, table: { shape } }): [string, FilledCollection][] => {
      const [paths, old] = [pathsWithFill(collection.fields), formerTableOf(collection, known, was)]
      if (paths.length === 0 || !old || old.shape === shape) return []
      return [[collection.name, { unfilled: { ...collection, fields: withoutFills(collection.fields) }, shape, paths }]]
    },
  )
  return new Map(all)
}

/** What a change drops; the rights are those of the declaration that had the fields, which is not at hand any more. */
export function* prepareDrops(
  surveyed: SurveyedChange,
  { allowLoss = [], keep }: Consent,
  now: () => number | null,
): Steps<AllowedDrops> {
  const [all, filling] = [lossyCollections(surveyed), filledCollections(surveyed)]
  const rights = all.length === 0 ? {} : yield* readRights(surveyed.dialect)
  return {
    lossy: new Map(all.map((one) => [one.collection.name, one])),
    allowed: allowedLosses(all, allowLoss),
    filling,
    rights,
    keep,
    time: all.length + filling.size === 0 ? null : now(),
  }
}

/**
 * Whether a change needs the table of copies. Beside nodes of the former declaration it does even if no value is there yet: these may
 * write some until the second phase drops them, and a node that starts now has to know of the table to delete the copies of rows.
 */
export function* needsCopyTable(
  { lossy, allowed, filling }: AllowedDrops,
  { change, dialect }: SurveyedChange,
): Steps<boolean> {
  if (allowed.size > 0 || filling.size > 0) return true
  return lossy.size > 0 && (yield* readOtherNodes(dialect, layoutName(change.after))).length > 0
}

/** A row as it is written in the new shape. */
interface RewrittenRow {
  readonly document: Members
  /** What is stored beside it. */
  readonly hidden: string | null
}

/** Copies what a row loses by being written in the new shape. */
export function* copyDroppedValues(
  { lossy: all, allowed, filling, rights, keep, time }: AllowedDrops,
  collection: Collection & ShapeConversions,
  row: ResultRow & StoredDocument,
  { document, hidden }: RewrittenRow,
  dialect: Dialect,
): Steps<void> {
  if (hasKeptForOthers(hidden)) return // what nodes of the former declaration know of it is still there
  const [lossy, fills] = [all.get(collection.name), filling.get(collection.name)]
  if (fills)
    for (const copy of valuesReplacedByFills(fills, collection, row, document, time)) {
      keep?.(droppedValueOf(collection, copy))
      yield copyStatement(collection, fills.shape, copy, dialect)
    }
  if (!lossy) return
  for (const held of lostValuesIn(lossy, row)) {
    const { path, value } = held
    if (!allowed.has(lossName(lossy, path))) throw lossNotAllowed(lossy, path, row)
    const own = rights[collection.called ?? collection.name]?.[path] ?? { hidden: false, read: [], write: [] }
    const copy = {
      key: rowKeyIn(row),
      field: path,
      kind: lossy.was.kinds[path] as string,
      value,
      rights: JSON.stringify({ ...own, hidden: own.hidden || held.hidden }),
      rest: restOfList(lossy, document, path),
      time,
    }
    keep?.(droppedValueOf(collection, copy))
    yield { ...copyStatement(collection, lossy.shape, copy, dialect), pipelined: true }
  }
}

const droppedValueOf = ({ name }: Collection, { key, field, value }: DroppedCopy): DroppedValue => ({
  collection: name,
  ...key,
  field,
  value,
})

const rowKeyIn = (row: ResultRow): DroppedCopy['key'] => ({
  account: (row.account ?? null) as string | null,
  parent: (row.parent ?? null) as string | null,
  id: row.id as string,
})

/** The values that fills replace: those of the row itself or, where nodes of two declarations ran, of what was kept for the former one. */
function valuesReplacedByFills(
  { unfilled, shape, paths }: FilledCollection,
  collection: Collection & ShapeConversions,
  row: ResultRow & StoredDocument,
  document: Members,
  time: number | null,
): DroppedCopy[] {
  const former = Object.entries(keptForOthers(row.hidden)).flatMap(([of, one]) =>
    Number(of) >= shape || Array.isArray(one) ? [] : [{ doc: JSON.stringify(one), hidden: null, shape: Number(of) }],
  )
  const views = [row, ...former].map((one) => [unfilled, collection].map((by) => viewRow(by, shape, one).document))
  const rights = fieldRights(collection.fields)
  const kinds = new Map(fieldSources(collection.fields, {}).map(({ path, kind }) => [path, kind]))
  return paths.flatMap((path) => {
    const now = JSON.stringify(valueAt(document, path))
    const values = views.map((view) => view.map((one) => valueAt(one, path)))
    const found = values.find(([was, is]) => JSON.stringify(was) !== JSON.stringify(is) && JSON.stringify(is) === now)
    if (found?.[0] === undefined) return []
    const rest = fillMark + JSON.stringify(valueAt(document, listPathOf(path)))
    const own = { field: path, kind: kinds.get(path) as string, rights: JSON.stringify(rights[path]) }
    return [{ ...own, key: rowKeyIn(row), value: found[0], rest, time }]
  })
}

/** Begins what took the place of a copied value, with the list around it, in the place of what a list holds without the value. */
export const fillMark = '='

/** The field itself or, of a field in a list, that list. */
export const listPathOf = (path: string): string => path.replace(/\.\*.*$/, '')

/** A value that was written between the survey and this step. */
const lossNotAllowed = (lossy: LossyCollection, path: string, row: ResultRow): Error =>
  new Error(
    `${lossyRowLabel(lossy, row)} holds a value in ${path}, which is not declared any more and was written meanwhile. Run this command again to see what would be lost.`,
  )

const lossyRowLabel = ({ collection }: LossyCollection, { id }: ResultRow): string => `${collection.name}/${id}`

/** What the list around a value holds when the value is gone: items have nothing but their places to be found by. Empty outside of lists. */
function restOfList({ collection, was }: LossyCollection, document: Members, path: string): string {
  const at = path.indexOf('.*')
  if (at < 0) return ''
  const list = fieldSources(collection.fields, was.kinds).find(({ from }) => from === path.slice(0, at))
  return JSON.stringify((list && listAround(document, `${list.path}.*`)) ?? null)
}

export const listAround = (document: Members, path: string): unknown =>
  valueAt(document, path.slice(0, path.indexOf('.*')))

const rightsRow = 'rights'

function* readRights({ mark }: Dialect): Steps<RightsByCollection> {
  const [row] = yield { text: `SELECT value FROM ${metaTable} WHERE name = ${mark(1)}`, values: [rightsRow] }
  return row ? (JSON.parse(row.value as string) as RightsByCollection) : {}
}

/** Remembers the rights of all fields. Those that are not declared any more stay, as their values may still be there. */
export function* rememberRights(dialect: Dialect, collections: Iterable<Collection>): Steps<void> {
  const before = yield* readRights(dialect)
  const now = [...collections].map((one) => {
    const called = one.called ?? one.name
    return [called, { ...before[called], ...fieldRights(one.fields) }] as const
  })
  const value = JSON.stringify({ ...before, ...Object.fromEntries(now) })
  if (value === JSON.stringify(before)) return
  const text = `INSERT INTO ${metaTable} (name, value) VALUES (${dialect.mark(1)}, ${dialect.mark(2)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
  yield { text, values: [rightsRow, value] }
}

/** The rights of fields by path; those of what lies around a field count for it too. */
export function fieldRights(
  fields: Collection['fields'],
  at = '',
  outer: FieldRights = { hidden: false, read: [], write: [] },
): Record<string, FieldRights> {
  const all = fields.flatMap(({ name, writeOnly, read, write, inner }) => {
    const own = {
      hidden: outer.hidden || writeOnly,
      read: [...outer.read, ...(read === undefined ? [] : [read])],
      write: [...outer.write, ...(write === undefined ? [] : [write])],
    }
    return [[at + name, own] as const, ...Object.entries(fieldRights(inner, `${at + name}.`, own))]
  })
  return Object.fromEntries(all)
}
