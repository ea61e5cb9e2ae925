/** Spread: what is kept of a row where others look for it, as no index sees rows on all machines: its unique values, and what it refers to. The cellar. */
import { createHash } from 'node:crypto'
import { Problem } from '../errors/problem.ts'
import { homeOf } from '../flow/home.ts'
import type { Duplicate } from '../flow/outcome.ts'
import type { Key, List } from '../flow/plan.ts'
import {
  brought,
  type Cell,
  type Collection,
  cells,
  type Dependent,
  type Stored,
  type Unique,
} from '../resources/collection.ts'
import { type Cellar, moved, type Shelf, type Steps } from './cellar.ts'
import { links, reserved, type Statement, tombstoneId } from './compile.ts'
import { newRow, rowHome } from './dialect.ts'
import { holderOf } from './dropped.ts'
import { isWithin, uniqueName } from './layout.ts'

/** A row of a shared table that stands for something of a row elsewhere. */
interface Mark {
  readonly table: string
  readonly home: number
  /** What it is found by; all of it is its primary key. */
  readonly key: Readonly<Record<string, string>>
  /** What its uniqueness is of; missing where it stands for a reference. */
  readonly unique?: Unique
}

/** A collection that another one refers to, from elsewhere. */
interface Outgoing {
  readonly target: Collection
  readonly dependent: Dependent
}

const known = new WeakMap<Collection, readonly Outgoing[]>()

/** What rows of a collection refer to; an owner that they are told apart below lies beside them. */
function outgoingOf({ shelves }: Cellar, own: Collection): readonly Outgoing[] {
  const found =
    known.get(own) ??
    [...shelves.values()].flatMap(({ collection: target }) =>
      target.dependents
        .filter((one) => one.collection === own.name && !isBeside(one))
        .map((dependent) => ({ target, dependent })),
    )
  known.set(own, found)
  return found
}

/** Whether dependents lie beside what they depend on, where a look is enough. */
export const isBeside = ({ column }: Dependent): boolean => column === 'parent'

function marksOf(
  cellar: Cellar,
  { collection, shape }: Shelf,
  key: Key,
  row: Stored | null,
): ReadonlyMap<string, Mark> {
  if (row === null) return new Map()
  const outgoing = outgoingOf(cellar, collection)
  const uniques = collection.uniques.filter((one) => !isWithin(collection, one))
  if (outgoing.length === 0 && uniques.length === 0) return new Map()
  const { document } = brought(collection, shape, row)
  const all = cells(collection, document)
  const cellOf = (column: string): Cell =>
    column === 'account' || column === 'parent' || column === 'id'
      ? key[column]
      : (all[collection.columns.findIndex(({ name }) => name === column)] ?? null)
  const values = uniques.flatMap((unique) => {
    const own = unique.columns.map(cellOf)
    return own.includes(null) ? [] : [valueIn(collection, unique, own)]
  })
  const to = outgoing.flatMap(({ target, dependent }) =>
    dependent.ids(document).flatMap((id) => (typeof id === 'string' ? [linkTo(target, id, collection, key)] : [])),
  )
  return new Map([...values, ...to].map((one) => [JSON.stringify([one.table, ...Object.values(one.key)]), one]))
}

function valueIn(collection: Collection, unique: Unique, own: readonly Cell[]): Mark {
  const value = createHash('sha256')
    .update(JSON.stringify(own.map(String)))
    .digest('base64url')
  return { table: reserved, home: homeOf(value), key: { name: uniqueName(collection, unique.columns), value }, unique }
}

function linkTo(target: Collection, id: string, { name }: Collection, key: Key): Mark {
  const to = { id, parent: null, account: key.account }
  return { table: links, home: rowHome(target, to), key: { ...linked(target, to, name), holder: holderOf(key) } }
}

const linked = (target: Collection, key: Key, collection: string) => ({
  target: `${target.name}/${tombstoneId(target, key)}`,
  collection,
})

/** Whose row it is, and when it was written. */
interface Written {
  readonly key: Key
  readonly time: number
}

/**
 * Brings what is kept elsewhere from what a row was to what it is to be, in the transaction of the row itself; the values of which one is
 * another row's already, if there is one. In one order, so that two that write at once wait for each other and not both.
 */
export function* remark(
  cellar: Cellar,
  own: Shelf,
  { key, time }: Written,
  was: Stored | null,
  is: Stored | null,
): Steps<Duplicate | null> {
  const { dialect } = cellar
  if (!dialect.spread) return null
  const [before, after] = [marksOf(cellar, own, key, was), marksOf(cellar, own, key, is)]
  const gone = [...before].filter(([name]) => !after.has(name))
  const fresh = [...after].filter(([name]) => !before.has(name))
  const all = [...gone, ...fresh].sort(([a, one], [b, other]) => one.home - other.home || (a < b ? -1 : 1))
  for (const [name, mark] of all) {
    if (before.has(name)) {
      // What is on its way cannot be taken away yet.
      if ((yield without(cellar, mark)).length === 0 && mark.unique) throw moved(own.collection.name)
    } else if ((yield added(cellar, mark, { key, time })).length === 0 && mark.unique)
      return { is: 'duplicate', fields: mark.unique.fields }
  }
  return null
}

/** What is told again is told anew. */
function added({ dialect }: Cellar, { table, home, key: own, unique }: Mark, { key, time }: Written): Statement {
  const row = { ...own, ...(unique ? { holder: holderOf(key) } : { time }) }
  const { text, values } = newRow(table, row, home, dialect)
  const twice = unique ? 'DO NOTHING' : 'DO UPDATE SET time = excluded.time'
  return { text: `${text} ON CONFLICT (home, ${Object.keys(own).join(', ')}) ${twice} RETURNING home`, values }
}

function without({ dialect }: Cellar, { table, home, key }: Mark): Statement {
  const where = ['home', ...Object.keys(key)].map((name, i) => `${name} = ${dialect.mark(i + 1)}`)
  return {
    text: `DELETE FROM ${table} WHERE ${where.join(' AND ')} RETURNING home`,
    values: [home, ...Object.values(key)],
  }
}

const slice = 1000
/** After so long nothing is on its way any more, in milliseconds. */
const day = 86_400_000

/** A row that may refer to another one, as it was told when that was written. */
export interface Told {
  readonly key: Key
  /** Whether it was told so long ago that a row which is not there is none that is on its way. */
  readonly old: boolean
}

/** Who said that it refers to a row; some may do so no longer. */
export function* toldOf(
  { dialect: { mark } }: Cellar,
  target: Collection,
  { key, time }: Written,
  collection: string,
): Steps<Told[]> {
  const { target: name } = linked(target, key, collection)
  const where = `home = ${mark(1)} AND target = ${mark(2)} AND collection = ${mark(3)} AND holder > ${mark(4)}`
  const text = `SELECT holder, time FROM ${links} WHERE ${where} ORDER BY holder LIMIT ${slice}`
  const found: Told[] = []
  for (let last = ''; ; ) {
    const rows = yield { text, values: [rowHome(target, key), name, collection, last] }
    for (const row of rows) {
      last = row.holder as string
      const [account, parent, id] = JSON.parse(last) as [string | null, string | null, string]
      found.push({ key: { account, parent, id }, old: Number(row.time) < time - day })
    }
    if (rows.length < slice) return found
  }
}

/** Forgets who referred to a row that is deleted. */
export function* forget(cellar: Cellar, target: Collection, key: Key): Steps<void> {
  if (!cellar.dialect.spread || target.dependents.every(isBeside)) return
  const { mark } = cellar.dialect
  const text = `DELETE FROM ${links} WHERE home = ${mark(1)} AND target = ${mark(2)}`
  yield { text, values: [rowHome(target, key), linked(target, key, '').target] }
}

/** Rows are not put in an order of rows that lie elsewhere: for every page all of them would have to be brought together. */
export function admitOrder({ dialect }: Cellar, { order }: List): void {
  if (!dialect.spread || !order.some(({ reach }) => reach)) return
  throw new Problem(
    'not-implemented',
    'This version sorts by a field that another resource has now, and this service spreads its rows over machines, where that is not done. Sort by another field, or ask for a later version.',
  )
}
