/** Cellar: the collections with what was prepared for them, and what stories of the store are made of. The cellar. */
import type { Found, List, Term } from '../flow/plan.ts'
import { type Collection, documentIn, type Texts as Stored, textsOf } from '../resources/collection.ts'
import { type Statement, type Texts, texts } from './compile.ts'
import type { Dialect } from './dialect.ts'

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

/** A collection with what was prepared for it. */
export interface Shelf {
  readonly collection: Collection
  readonly texts: Texts
  /** The number of the shape that is written today. */
  readonly shape: number
  /** The columns in which no row is without a value. */
  readonly full: ReadonlySet<string>
}

export interface Cellar {
  readonly dialect: Dialect
  readonly shelves: ReadonlyMap<string, Shelf>
}

export function cellar(
  collections: Iterable<Collection>,
  shapes: Readonly<Record<string, number>>,
  dialect: Dialect,
  isFull: (collection: Collection, column: string) => boolean = () => true,
): Cellar {
  const shelves = new Map<string, Shelf>()
  for (const collection of collections) {
    const required = collection.columns.filter((column) => column.required).map(({ name }) => name)
    const full = new Set(required.filter((column) => isFull(collection, column)))
    const shape = shapes[collection.name] ?? 0
    shelves.set(collection.name, { collection, texts: texts(collection, dialect), shape, full })
  }
  return { dialect, shelves }
}

export const shelf = ({ shelves }: Cellar, name: string): Shelf => shelves.get(name) as Shelf

/** A list whose order says nothing of nulls where there are none, so that more indexes serve it. */
export function settled({ full }: Shelf, plan: List): List {
  const at = plan.window.from === 'place' ? plan.window.place : null
  const isFull = ({ column }: Term, i: number) => full.has(column) && at?.[i] !== null
  return { ...plan, order: plan.order.map((term, i) => (isFull(term, i) ? { ...term, nulls: 'none' } : term)) }
}

/** A row of a collection as it is stored, brought to the shape of today. */
export function found({ collection, shape }: Pick<Shelf, 'collection' | 'shape'>, row: Answer): Found {
  const stored = { doc: row.doc as string, hidden: (row.hidden ?? null) as string | null }
  const { doc, hidden }: Stored = row.shape === shape ? stored : textsOf(collection, documentIn(collection, stored))
  return { is: 'found', doc, hidden, revision: Number(row.revision) }
}
