/** Drop: copies values aside in the transaction that drops them. The cellar. */
import {
  brought,
  type Collection,
  hasAside,
  keptIn,
  type Ladder,
  type Members,
  type Stored,
} from '../resources/collection.ts'
import type { Answer, Steps } from '../store/cellar.ts'
import { meta } from '../store/compile.ts'
import type { Dialect } from '../store/dialect.ts'
import { type Copy, copied, valueAt } from '../store/dropped.ts'
import { sources } from '../store/kinds.ts'
import { heirOf, placed } from '../store/layout.ts'
import type { Consent, DroppedValue, Surveyed } from './hazard.ts'
import { allowedIn, heldIn, type Lossy, lossyIn, nameOfLoss } from './losses.ts'
import { fitting, formerOf, nameOf, others } from './state.ts'

/** What a change may drop. */
export interface Dropping {
  readonly lossy: ReadonlyMap<string, Lossy>
  readonly allowed: ReadonlySet<string>
  readonly filling: ReadonlyMap<string, Filling>
  readonly rights: Remembered
  readonly keep: Consent['keep']
  /** The time of copies; null for the clock of the database. */
  readonly time: number | null
}

/** Who may see and write a field: each scope is needed. */
export interface Rights {
  readonly hidden: boolean
  readonly read: readonly string[]
  readonly write: readonly string[]
}

/** The rights of fields by path, as they were when they were last declared, by what their collection is called. */
type Remembered = Readonly<Record<string, Readonly<Record<string, Rights>>>>

/** A collection whose rows are written again with fills. */
interface Filling {
  /** Without its fills, which shows what they replace. */
  readonly unfilled: Collection & Ladder
  readonly shape: number
  /** The fields with a fill by path; of nested ones the outermost. */
  readonly paths: readonly string[]
}

type Fields = Collection['fields']

const filledPaths = (fields: Fields, at = ''): string[] =>
  fields.flatMap(({ name, fill, inner }) => (fill ? [at + name] : filledPaths(inner, `${at}${name}.`)))

const withoutFills = (fields: Fields): Fields =>
  fields.map((one) => ({ ...one, fill: null, inner: withoutFills(one.inner) }))

function fillingIn({ change, collections, dialect }: Surveyed): Map<string, Filling> {
  const was = formerOf(change.before)
  const known = fitting(collections, change.after, dialect)
  const all = placed(known, change.after).flatMap(({ collection, table: { shape } }): [string, Filling][] => {
    const [paths, old] = [filledPaths(collection.fields), heirOf(collection, known, was)]
    if (paths.length === 0 || !old || old.shape === shape) return []
    return [[collection.name, { unfilled: { ...collection, fields: withoutFills(collection.fields) }, shape, paths }]]
  })
  return new Map(all)
}

/** What a change drops; the rights are those of the declaration that had the fields, which is not at hand any more. */
export function* dropping(
  surveyed: Surveyed,
  { allowLoss = [], keep }: Consent,
  now: () => number | null,
): Steps<Dropping> {
  const [all, filling] = [lossyIn(surveyed), fillingIn(surveyed)]
  const rights = all.length === 0 ? {} : yield* remembered(surveyed.dialect)
  return {
    lossy: new Map(all.map((one) => [one.collection.name, one])),
    allowed: allowedIn(all, allowLoss),
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
export function* dropsSome({ lossy, allowed, filling }: Dropping, { change, dialect }: Surveyed): Steps<boolean> {
  if (allowed.size > 0 || filling.size > 0) return true
  return lossy.size > 0 && (yield* others(dialect, nameOf(change.after))).length > 0
}

/** A row as it is written in the new shape. */
interface Rewritten {
  readonly document: Members
  /** What is stored beside it. */
  readonly hidden: string | null
}

/** Copies what a row loses by being written in the new shape. */
export function* drop(
  { lossy: all, allowed, filling, rights, keep, time }: Dropping,
  collection: Collection & Ladder,
  row: Answer & Stored,
  { document, hidden }: Rewritten,
  dialect: Dialect,
): Steps<void> {
  if (hasAside(hidden)) return // what nodes of the former declaration know of it is still there
  const [lossy, fills] = [all.get(collection.name), filling.get(collection.name)]
  if (fills)
    for (const copy of replaced(fills, collection, row, document, time)) {
      keep?.(plain(collection, copy))
      yield copied(collection, fills.shape, copy, dialect)
    }
  if (!lossy) return
  for (const held of heldIn(lossy, row)) {
    const { path, value } = held
    if (!allowed.has(nameOfLoss(lossy, path))) throw unallowed(lossy, path, row)
    const own = rights[collection.called ?? collection.name]?.[path] ?? { hidden: false, read: [], write: [] }
    const copy = {
      key: keyIn(row),
      field: path,
      kind: lossy.was.kinds[path] as string,
      value,
      rights: JSON.stringify({ ...own, hidden: own.hidden || held.hidden }),
      rest: restOf(lossy, document, path),
      time,
    }
    keep?.(plain(collection, copy))
    yield { ...copied(collection, lossy.shape, copy, dialect), ahead: true }
  }
}

const plain = ({ name }: Collection, { key, field, value }: Copy): DroppedValue => ({
  collection: name,
  ...key,
  field,
  value,
})

const keyIn = (row: Answer): Copy['key'] => ({
  account: (row.account ?? null) as string | null,
  parent: (row.parent ?? null) as string | null,
  id: row.id as string,
})

/** The values that fills replace: those of the row itself or, where nodes of two declarations ran, of what was kept for the former one. */
function replaced(
  { unfilled, shape, paths }: Filling,
  collection: Collection & Ladder,
  row: Answer & Stored,
  document: Members,
  time: number | null,
): Copy[] {
  const former = Object.entries(keptIn(row.hidden)).flatMap(([of, one]) =>
    Number(of) >= shape || Array.isArray(one) ? [] : [{ doc: JSON.stringify(one), hidden: null, shape: Number(of) }],
  )
  const views = [row, ...former].map((one) => [unfilled, collection].map((by) => brought(by, shape, one).document))
  const rights = rightsOf(collection.fields)
  const kinds = new Map(sources(collection.fields, {}).map(({ path, kind }) => [path, kind]))
  return paths.flatMap((path) => {
    const now = JSON.stringify(valueAt(document, path))
    const values = views.map((view) => view.map((one) => valueAt(one, path)))
    const found = values.find(([was, is]) => JSON.stringify(was) !== JSON.stringify(is) && JSON.stringify(is) === now)
    if (found?.[0] === undefined) return []
    const rest = filledMark + JSON.stringify(valueAt(document, listOf(path)))
    const own = { field: path, kind: kinds.get(path) as string, rights: JSON.stringify(rights[path]) }
    return [{ ...own, key: keyIn(row), value: found[0], rest, time }]
  })
}

/** Begins what took the place of a copied value, with the list around it, in the place of what a list holds without the value. */
export const filledMark = '='

/** The field itself or, of a field in a list, that list. */
export const listOf = (path: string): string => path.replace(/\.\*.*$/, '')

/** A value that was written between the survey and this step. */
const unallowed = (lossy: Lossy, path: string, row: Answer): Error =>
  new Error(
    `${collectionRow(lossy, row)} holds a value in ${path}, which is not declared any more and was written meanwhile. Run this command again to see what would be lost.`,
  )

const collectionRow = ({ collection }: Lossy, { id }: Answer): string => `${collection.name}/${id}`

/** What the list around a value holds when the value is gone: items have nothing but their places to be found by. Empty outside of lists. */
function restOf({ collection, was }: Lossy, document: Members, path: string): string {
  const at = path.indexOf('.*')
  if (at < 0) return ''
  const list = sources(collection.fields, was.kinds).find(({ from }) => from === path.slice(0, at))
  return JSON.stringify((list && listAround(document, `${list.path}.*`)) ?? null)
}

export const listAround = (document: Members, path: string): unknown =>
  valueAt(document, path.slice(0, path.indexOf('.*')))

const rowName = 'rights'

function* remembered({ mark }: Dialect): Steps<Remembered> {
  const [row] = yield { text: `SELECT value FROM ${meta} WHERE name = ${mark(1)}`, values: [rowName] }
  return row ? (JSON.parse(row.value as string) as Remembered) : {}
}

/** Remembers the rights of all fields. Those that are not declared any more stay, as their values may still be there. */
export function* rememberRights(dialect: Dialect, collections: Iterable<Collection>): Steps<void> {
  const before = yield* remembered(dialect)
  const now = [...collections].map((one) => {
    const called = one.called ?? one.name
    return [called, { ...before[called], ...rightsOf(one.fields) }] as const
  })
  const value = JSON.stringify({ ...before, ...Object.fromEntries(now) })
  if (value === JSON.stringify(before)) return
  const text = `INSERT INTO ${meta} (name, value) VALUES (${dialect.mark(1)}, ${dialect.mark(2)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
  yield { text, values: [rowName, value] }
}

/** The rights of fields by path; those of what lies around a field count for it too. */
export function rightsOf(
  fields: Collection['fields'],
  at = '',
  outer: Rights = { hidden: false, read: [], write: [] },
): Record<string, Rights> {
  const all = fields.flatMap(({ name, hidden, read, write, inner }) => {
    const own = {
      hidden: outer.hidden || hidden,
      read: [...outer.read, ...(read === undefined ? [] : [read])],
      write: [...outer.write, ...(write === undefined ? [] : [write])],
    }
    return [[at + name, own] as const, ...Object.entries(rightsOf(inner, `${at + name}.`, own))]
  })
  return Object.fromEntries(all)
}
