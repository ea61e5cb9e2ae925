/** Drop: copies values to a separate table in the transaction that drops them. The store. */

import { rowKeyOf } from '../catalog/context.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import { contentOf, releaseDropped } from '../ledgers/dropped-contents.ts'
import {
  copyStatement,
  copyTableStatements,
  type DroppedCopy,
  findCopyTable,
  valueAt,
} from '../ledgers/dropped-copies.ts'
import {
  type Collection,
  hasKeptForOthers,
  keptForOthers,
  type Members,
  type ShapeConversions,
  type StoredDocument,
  viewRow,
} from '../rows/collection.ts'
import { type Consent, changeRefusal, type DroppedValue, type SurveyedChange } from '../schema/hazard.ts'
import { readOtherNodes } from '../schema/presence.ts'
import { readMeta, writeMeta } from '../schema/shared-tables.ts'
import { formerLayout, layoutName, writableCollections } from '../schema/state.ts'
import type { Dialect } from '../sql/dialect.ts'
import { fieldSources } from '../sql/field-sources.ts'
import { formerTables, mapCollections } from '../sql/layout.ts'
import {
  allowedLosses,
  findChangeHazards,
  type LossyCollection,
  lossName,
  lossyCollections,
  lostValuesIn,
} from './losses.ts'

export const defaultRetention = 30 * 24 * 60 * 60 * 1000

/** The values that a change may drop, and the data that their copies need. */
export interface AllowedDrops {
  readonly lossy: ReadonlyMap<string, LossyCollection>
  readonly allowed: ReadonlySet<string>
  readonly filling: ReadonlyMap<string, FilledCollection>
  readonly rights: RightsByCollection
  readonly keep: Consent['keep']
  /** How long the copies are kept, in milliseconds; null means for ever. */
  readonly retention: number | null
  /** The time that the copies get; null means the clock of the database. */
  readonly time: number | null
}

/** The rights to a field: whether it is write-only, and the scopes that reading and writing need, all of them. */
export interface FieldRights {
  readonly hidden: boolean
  readonly read: readonly string[]
  readonly write: readonly string[]
}

/** The rights of fields when they were last declared, by the stored name of the collection and the path. */
type RightsByCollection = Readonly<Record<string, Readonly<Record<string, FieldRights>>>>

/** A collection whose rows are rewritten with fills. */
interface FilledCollection {
  /** The collection without its fills; it shows the values that they replace. */
  readonly unfilled: Collection & ShapeConversions
  readonly shape: number
  /** The paths of fields with a fill; of nested ones only the outermost. */
  readonly paths: readonly string[]
}

type CollectionFields = Collection['fields']

const pathsWithFill = (fields: CollectionFields, at = ''): string[] =>
  fields.flatMap(({ name, fill, inner }) => (fill ? [at + name] : pathsWithFill(inner, `${at}${name}.`)))

const withoutFills = (fields: CollectionFields): CollectionFields =>
  fields.map((one) => ({ ...one, fill: null, inner: withoutFills(one.inner) }))

function filledCollections({ change, collections, dialect }: SurveyedChange): Map<string, FilledCollection> {
  const was = formerLayout(change.before)
  const writable = writableCollections(collections, change.after, dialect)
  const formerTable = formerTables(writable, was)
  const all = mapCollections(writable, change.after).flatMap(
    ({ collection, table: { shape } }): [string, FilledCollection][] => {
      const [paths, old] = [pathsWithFill(collection.fields), formerTable(collection)]
      if (paths.length === 0 || !old || old.shape === shape) return []
      return [[collection.name, { unfilled: { ...collection, fields: withoutFills(collection.fields) }, shape, paths }]]
    },
  )
  return new Map(all)
}

/** Throws if a change is not allowed, before its first step; returns what it may drop, and makes the table of copies if needed. */
export function* admitChange(
  surveyed: SurveyedChange,
  consent: Consent,
  now: () => number | null,
): Steps<AllowedDrops> {
  const hazards = yield* findChangeHazards(surveyed, consent)
  if (hazards.length > 0) throw changeRefusal(hazards)
  const drops = yield* prepareDrops(surveyed, consent, now)
  if ((yield* needsCopyTable(drops, surveyed)) && (yield findCopyTable(surveyed.dialect)).length === 0)
    for (const text of copyTableStatements(surveyed.dialect)) yield { text, values: [] }
  return drops
}

/** Collects what a change drops. The rights were stored by the declaration that had the fields. */
function* prepareDrops(
  surveyed: SurveyedChange,
  { allowLoss = [], keep, retention = defaultRetention }: Consent,
  now: () => number | null,
): Steps<AllowedDrops> {
  const [all, filling] = [lossyCollections(surveyed), filledCollections(surveyed)]
  const rights = all.length === 0 ? {} : yield* readRights()
  return {
    lossy: new Map(all.map((one) => [one.collection.name, one])),
    allowed: allowedLosses(all, allowLoss),
    filling,
    rights,
    keep,
    retention,
    time: all.length + filling.size === 0 ? null : now(),
  }
}

/**
 * Whether a change needs the table of copies. While old nodes run it does even if no value exists yet: they may write some
 * until the second phase drops them, and a node that starts now must know the table to delete the copies of deleted rows.
 */
function* needsCopyTable(
  { lossy, allowed, filling }: AllowedDrops,
  { change, dialect }: SurveyedChange,
): Steps<boolean> {
  if (allowed.size > 0 || filling.size > 0) return true
  return lossy.size > 0 && (yield* readOtherNodes(dialect, layoutName(change.after))).length > 0
}

/** Copies the values that a row loses when it is rewritten in the new shape. */
export function* copyDroppedValues(
  { lossy: all, allowed, filling, rights, keep, retention, time }: AllowedDrops,
  collection: Collection & ShapeConversions,
  row: ResultRow & StoredDocument,
  { document, hidden }: { readonly document: Members; readonly hidden: string | null },
  dialect: Dialect,
): Steps<void> {
  if (hasKeptForOthers(hidden)) return // nothing is lost yet: the hidden column keeps the values for old nodes
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
      key: rowKeyOf(row),
      field: path,
      kind: lossy.was.kinds[path] as string,
      value,
      rights: JSON.stringify({ ...own, hidden: own.hidden || held.hidden }),
      rest: restOfList(lossy, document, path),
      time,
    }
    keep?.(droppedValueOf(collection, copy))
    yield { ...copyStatement(collection, lossy.shape, copy, dialect), pipelined: true }
    const content = contentOf(copy.kind, value)
    // Revisions keep theirs.
    if (content !== null && retention !== null && !collection.history)
      yield { ...releaseDropped(dialect, content, time, retention), pipelined: true }
  }
}

const droppedValueOf = ({ name }: Collection, { key, field, value }: DroppedCopy): DroppedValue => ({
  collection: name,
  ...key,
  field,
  value,
})

/** The values that fills replace: those of the row or, after a rolling upgrade, of the documents kept for old nodes. */
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
    const change = values.find(([was, is]) => JSON.stringify(was) !== JSON.stringify(is) && JSON.stringify(is) === now)
    if (change?.[0] === undefined) return []
    const rest = fillMark + JSON.stringify(valueAt(document, listPathOf(path)))
    const own = { field: path, kind: kinds.get(path) as string, rights: JSON.stringify(rights[path]) }
    return [{ ...own, key: rowKeyOf(row), value: change[0], rest, time }]
  })
}

/** Begins a `rest` that holds the value of a fill, which replaced the copied value; in a list, the whole list. */
export const fillMark = '='

/** The path of a field or, if it lies in a list, of that list. */
export const listPathOf = (path: string): string => path.replace(/\.\*.*$/, '')

/** The error if a value was written between the survey and this step. */
const lossNotAllowed = ({ collection }: LossyCollection, path: string, { id }: ResultRow): Error =>
  new Error(
    `${collection.name}/${id} holds a value in ${path}, which is not declared any more and was written meanwhile. Run this command again to see what would be lost.`,
  )

/** The list around a value without the value: undrop compares it, as items have only positions. Empty outside lists. */
function restOfList({ collection, was }: LossyCollection, document: Members, path: string): string {
  const at = path.indexOf('.*')
  if (at < 0) return ''
  const list = fieldSources(collection.fields, was.kinds).find(({ from }) => from === path.slice(0, at))
  return JSON.stringify((list && listAround(document, `${list.path}.*`)) ?? null)
}

export const listAround = (document: Members, path: string): unknown =>
  valueAt(document, path.slice(0, path.indexOf('.*')))

function* readRights(): Steps<RightsByCollection> {
  return JSON.parse((yield* readMeta('rights')) ?? '{}')
}

/** Stores the rights of all fields. Those of undeclared fields are kept, as their values may still be stored. */
export function* rememberRights(dialect: Dialect, collections: Iterable<Collection>): Steps<void> {
  const before = yield* readRights()
  const now = [...collections].map((one) => {
    const called = one.called ?? one.name
    return [called, { ...before[called], ...fieldRights(one.fields) }] as const
  })
  const value = JSON.stringify({ ...before, ...Object.fromEntries(now) })
  if (value !== JSON.stringify(before)) yield* writeMeta(dialect, 'rights', value)
}

/** The rights of fields by path; a nested field also has those of the fields around it. */
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
