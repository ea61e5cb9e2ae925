/** Drop: copies values aside in the transaction that drops them. The cellar. */
import { type Collection, hasAside, type Members, type Stored } from '../resources/collection.ts'
import type { Answer, Steps } from '../store/cellar.ts'
import { meta } from '../store/compile.ts'
import type { Dialect } from '../store/dialect.ts'
import { copied, valueAt } from '../store/dropped.ts'
import { sources } from '../store/kinds.ts'
import type { Surveyed } from './hazard.ts'
import { allowedIn, heldIn, type Lossy, lossyIn, nameOfLoss } from './losses.ts'
import { nameOf, others } from './state.ts'

/** What a change may drop. */
export interface Dropping {
  readonly lossy: ReadonlyMap<string, Lossy>
  readonly allowed: ReadonlySet<string>
  readonly rights: Remembered
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

/** What a change drops; the rights are those of the declaration that had the fields, which is not at hand any more. */
export function* dropping(surveyed: Surveyed, names: readonly string[], now: () => number | null): Steps<Dropping> {
  const all = lossyIn(surveyed)
  const rights = all.length === 0 ? {} : yield* remembered(surveyed.dialect)
  return {
    lossy: new Map(all.map((one) => [one.collection.name, one])),
    allowed: allowedIn(all, names),
    rights,
    time: all.length === 0 ? null : now(),
  }
}

/**
 * Whether a change needs the table of copies. Beside nodes of the former declaration it does even if no value is there yet: these may
 * write some until the second phase drops them, and a node that starts now has to know of the table to delete the copies of rows.
 */
export function* dropsSome({ lossy, allowed }: Dropping, { change, dialect }: Surveyed): Steps<boolean> {
  if (allowed.size > 0) return true
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
  { lossy: all, allowed, rights, time }: Dropping,
  collection: Collection,
  row: Answer & Stored,
  { document, hidden }: Rewritten,
  dialect: Dialect,
): Steps<void> {
  const lossy = all.get(collection.name)
  if (!lossy || hasAside(hidden)) return // what nodes of the former declaration know of it is still there
  for (const held of heldIn(lossy, row)) {
    const { path, value } = held
    if (!allowed.has(nameOfLoss(lossy, path))) throw unallowed(lossy, path, row)
    const own = rights[collection.called ?? collection.name]?.[path] ?? { hidden: false, read: [], write: [] }
    const key = {
      account: (row.account ?? null) as string | null,
      parent: (row.parent ?? null) as string | null,
      id: row.id as string,
    }
    const copy = {
      key,
      field: path,
      kind: lossy.was.kinds[path] as string,
      value,
      rights: JSON.stringify({ ...own, hidden: own.hidden || held.hidden }),
      rest: restOf(lossy, document, path),
      time,
    }
    yield { ...copied(collection, lossy.shape, copy, dialect), ahead: true }
  }
}

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
