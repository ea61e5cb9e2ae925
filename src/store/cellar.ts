/** Cellar: the collections with what was prepared for them, and what stories of the store are made of. The cellar. */
import { Problem } from '../errors/problem.ts'
import type { Condition, Found, List, Plan, Reach, Term } from '../flow/plan.ts'
import {
  type Brought,
  brought,
  type Collection,
  type Column,
  columnIn,
  type Former,
  hasAside,
  type Ladder,
  type Members,
  type Texts as Stored,
  textsOf,
  withAside,
} from '../resources/collection.ts'
import { meta, type Statement, type Texts, texts } from './compile.ts'
import type { Dialect } from './dialect.ts'
import { type Layout, placed } from './layout.ts'

export type Answer = Readonly<Record<string, unknown>>
/** A story that asks for statements and is given their rows. */
export type Steps<T> = Generator<Statement, T, readonly Answer[]>

/** Runs a statement and gives its rows. */
export type Run = (statement: Statement) => readonly Answer[]

/** Carries steps out, each as it is asked for. */
export function finish<T>(steps: Steps<T>, run: Run): T {
  let step = steps.next()
  while (!step.done) step = steps.next(run(step.value))
  return step.value
}

/** Carries steps out where each statement has to be waited for. */
export async function finishLater<T>(
  steps: Steps<T>,
  run: (statement: Statement) => Promise<readonly Answer[]>,
): Promise<T> {
  let step = steps.next()
  while (!step.done) step = steps.next(await run(step.value))
  return step.value
}

const movedRows = new WeakSet<object>()

/** Told where a row is no longer as it was read: whoever runs the steps begins again. */
export function moved(collection: string): Error {
  const error = new Error(`A row of ${collection} moved between being read and written.`)
  movedRows.add(error)
  return error
}

export const isMoved = (error: unknown): boolean => movedRows.has(error as object)

/** A collection, its columns named as in the database, with what was prepared for it. */
export interface Shelf {
  readonly collection: Collection & Ladder
  readonly texts: Texts
  /** The number of the shape that is written today. */
  readonly shape: number
  /** The numbers of the shapes whose documents are made like those of today. */
  readonly alike: ReadonlySet<number>
  /** What is served beside this declaration until all nodes are of today. */
  readonly former: (Former & { readonly columns: readonly Column[] }) | null
  /** The columns in which no row is without a value. */
  readonly full: ReadonlySet<string>
  /** The columns that rows of before do not have yet; they cannot be asked for. */
  readonly pending: Set<string>
  readonly named: (column: string) => string
  /** The columns whose values the text of a row tells. */
  readonly told: ReadonlySet<string>
}

/** Rows that nodes of the declaration before have written, which lack what is asked for today. */
export interface Lag {
  /** Tells as `behind` whether there are some (2), none (1), or can be no more (0). */
  readonly probe: Statement
  readonly raise: () => Steps<void>
  /** Set when there can be no more. */
  over: boolean
}

export interface Cellar {
  readonly lag?: Lag
  /** By how much the time of plans may be ahead of the time that has certainly come, in milliseconds. */
  readonly lead?: () => number
  readonly dropped?: ReadonlyMap<string, readonly { readonly field: string; readonly path: string }[]>
  readonly dialect: Dialect
  readonly shelves: ReadonlyMap<string, Shelf>
}

/** What the database is laid out for: the declaration that is opened, and the one of before, as long as it may run too. */
export interface Ground {
  readonly layout: Layout
  readonly former: Layout | null
}

export function cellar(
  collections: Iterable<Collection>,
  { layout, former }: Ground,
  dialect: Dialect,
  isFull: (collection: Collection, column: string) => boolean = () => true,
): Cellar {
  const shelves = new Map<string, Shelf>()
  for (const { collection, table, named } of placed(collections, layout)) {
    const pending = new Set(table.pending)
    const required = collection.columns.filter(({ name, required }) => required && !pending.has(name))
    const full = new Set(required.map(({ name }) => name).filter((column) => isFull(collection, column)))
    const { shape, shapes } = table
    const alike = shapes.flatMap((name, i) => (name === shapes[shape - 1] ? [i + 1] : []))
    const before = Object.values(former?.tables ?? {}).find((one) => one.table === collection.table)
    shelves.set(collection.name, {
      collection,
      texts: texts(collection, dialect),
      shape,
      alike: new Set(alike),
      former:
        before && before.shape !== shape
          ? {
              shape: before.shape,
              knows: (path) => Object.hasOwn(before.kinds, path),
              columns: Object.entries(before.columns)
                .filter(([name, { field }]) => field !== undefined && !Object.hasOwn(table.columns, name))
                .map(([name, one]) => formerColumn(name, { ...one, field: one.field as string }, collection)),
            }
          : null,
      full,
      told: told(collection),
      pending,
      named,
    })
  }
  return { dialect, shelves }
}

/** A column that only nodes of the declaration before ask; what versions make of a document, they make of one of today. */
function formerColumn(name: string, was: Parameters<typeof columnIn>[1], { spare = [] }: Collection): Column {
  const of = spare.find(({ field }) => field === was.field)?.of
  return { ...columnIn(name, was), ...(of && { of }) }
}

function told({ columns, fields }: Collection): ReadonlySet<string> {
  const shown = new Set(fields.filter(({ hidden }) => !hidden).map(({ name }) => name))
  const isTold = ({ field, of }: Column) => !of && shown.has(field.split('.', 1)[0] as string)
  const own = columns.filter(isTold).map(({ name }) => name)
  return new Set(['id', ...own])
}

/** What a collection is called in what is remembered of its rows, and which one is called so. */
export const calledIn = ({ shelves }: Cellar, name: string): string => shelves.get(name)?.collection.called ?? name
export const namedIn = ({ shelves }: Cellar, called: string): string =>
  [...shelves.values()].find(({ collection }) => collection.called === called)?.collection.name ?? called

export const shelf = ({ shelves }: Cellar, name: string): Shelf => shelves.get(name) as Shelf

type Settled = Pick<List, 'where' | 'order'>

/** What lists came to, by their filters: who asks in the same words again gives the very same ones. */
const known = new WeakMap<Shelf, WeakMap<List['where'], { order: List['order']; byPlace: Map<string, Settled> }>>()

/** A list as the database knows its columns; the same objects for the same list, where its place has values in the same columns. */
export function settled(cellar: Cellar, plan: List): List {
  const own = shelf(cellar, plan.collection)
  const { order, where, window } = plan
  const all = known.get(own) ?? new WeakMap()
  if (!known.has(own)) known.set(own, all)
  const before = all.get(where)
  const kept = before?.order === order ? before : { order, byPlace: new Map() }
  if (kept !== before) all.set(where, kept)
  const at = window.from === 'place' ? window.place : []
  const name = `${plan.parent?.collection} ${at.map((cell) => (cell === null ? 'n' : 'v')).join('')}`
  const found = kept.byPlace.get(name) ?? settledAt(cellar, own, plan, at)
  kept.byPlace.set(name, found)
  return { ...plan, ...found }
}

/** Its order says nothing of nulls where there are none, so that more indexes serve it. */
function settledAt(cellar: Cellar, own: Shelf, { where, order }: List, at: readonly unknown[]): Settled {
  const { full, named } = own
  const isFull = (column: string, i: number) => full.has(column) && at[i] !== null
  return {
    where: where.map((one) => settledCondition(cellar, own, one)),
    order: order.map((term, i): Term => {
      if (term.reach) return { ...term, reach: settledReach(cellar, own, term.reach) }
      const column = named(term.column)
      return isFull(column, i) ? { ...term, column, nulls: 'none' } : { ...term, column }
    }),
  }
}

function settledCondition(cellar: Cellar, own: Shelf, one: Condition): Condition {
  const column = own.named(one.column)
  if (one.is === 'any')
    return { ...one, column, of: one.of.map((all) => all.map((inner) => settledCondition(cellar, own, inner))) }
  if (one.is !== 'among') return { ...one, column }
  const other = shelf(cellar, one.collection)
  const { table: collection, account } = other.collection
  return {
    ...one,
    column,
    collection,
    owned: account !== null,
    where: one.where.map((inner) => settledCondition(cellar, other, inner)),
  }
}

function settledReach(cellar: Cellar, { named, collection: own }: Shelf, reach: Reach): Reach {
  const other = shelf(cellar, reach.collection)
  const { table: collection, account } = other.collection
  const owned = account !== null && own.account !== null
  const kept = reach.kept && named(reach.kept)
  return { ...reach, collection, owned, by: named(reach.by), column: other.named(reach.column), kept }
}

/** Refuses what is asked of columns that rows written by nodes of before do not have yet. */
export function* admitColumns({ lag }: Cellar, { collection, pending }: Shelf, { where, order }: List): Steps<void> {
  if (pending.size === 0 || lag) return
  const asked = [...where, ...order].map(({ column }) => column)
  if (!asked.some((column) => pending.has(column))) return
  const [row] = yield layoutStatement
  const layout = JSON.parse(row?.value as string) as Layout
  for (const column of pending) if (!layout.tables[collection.name]?.pending.includes(column)) pending.delete(column)
  const missing = collection.columns.find(({ name }) => pending.has(name) && asked.includes(name))
  if (!missing) return
  throw new Problem(
    'dependency-unavailable',
    `What ${collection.name} have in ${missing.field} is being brought to the newest declaration; lists cannot be filtered or sorted by it yet. Try again later.`,
  )
}

/** What a caller is told of a write by a node whose declaration the database has left behind. */
export const leftBehind = (cause: unknown): Problem =>
  new Problem(
    'dependency-unavailable',
    'This node runs a declaration that the database has left behind; nothing was changed. Try again: another node may answer.',
    { cause },
  )

const layoutStatement: Statement = { text: `SELECT value FROM ${meta} WHERE name = 'layout'`, values: [] }

const ofRows: ReadonlySet<Plan['do']> = new Set(['read', 'list', 'create', 'decide', 'once'])

/** Whether it has to be looked whether rows are behind before a plan is carried out. */
export const minds = ({ lag }: Cellar, plan: Plan): boolean => lag?.over === false && ofRows.has(plan.do)

/** Whether nodes of the declaration before may read what is written. */
export const isBeside = ({ lag }: Cellar, { former }: Shelf): boolean => lag?.over === false && former !== null

/** Brings up what is behind before anything is asked, some rows in a transaction; all who wait for it wait for the same one. */
export function abreast(lags: () => boolean | Promise<boolean>, raise: () => Promise<unknown>): () => Promise<void> {
  let raising: Promise<unknown> | null = null
  return async () => {
    while (await lags()) {
      raising ??= raise().finally(() => {
        raising = null
      })
      await raising
    }
  }
}

/** Whether rows have to be brought up first. */
export function* isBehind({ lag }: Cellar): Steps<boolean> {
  if (!lag) return false
  const [row] = yield lag.probe
  lag.over = Number(row?.behind) === 0
  return Number(row?.behind) === 2
}

/** A row, and what it holds for nodes of other shapes. */
export interface Held extends Found {
  readonly brought: Brought | null
  readonly shape: number
}

/** A row of a collection as it is stored, brought to the shape of today. */
export function found(
  { collection, shape: own, alike }: Pick<Shelf, 'collection' | 'shape' | 'alike'>,
  row: Answer,
): Held {
  const stored = { doc: row.doc as string, hidden: (row.hidden ?? null) as string | null }
  const [shape, revision] = [Number(row.shape), Number(row.revision)]
  const same = alike.has(shape)
  if (same && !hasAside(stored.hidden)) return { is: 'found', ...stored, revision, brought: null, shape }
  const seen = brought(collection, own, { ...stored, shape: same ? own : shape })
  return { is: 'found', ...textsOf(collection, seen.document), revision, brought: seen, shape }
}

/** What is stored beside a document, with what nodes of other declarations need of it. */
export function aside(
  { collection, shape, former }: Shelf,
  seen: Held | null,
  row: Stored,
  rows: readonly (Members | null)[] = [],
): string | null {
  const brought = seen?.brought ?? null
  return former || brought ? withAside(collection, { own: shape, former }, brought, row, rows) : row.hidden
}
