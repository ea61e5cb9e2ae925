/** Completes what was read or written by other rows that it refers to, and carries out what is written along with it. The cellar. */
import type { Outcome, Page } from '../flow/outcome.ts'
import { isLasting } from '../flow/outcome.ts'
import type { Beside, Create, Decide, Found, Key, Other, Plan, Update, Write } from '../flow/plan.ts'
import { type Cell, type Collection, cellIn, keptIn, keyColumns, type Members } from '../resources/collection.ts'
import { type Answer, aside, type Cellar, found, isBehind, isBeside, type Shelf, type Steps, shelf } from './cellar.ts'
import type { Statement } from './compile.ts'
import { type Dialect, keyValues, quoted, rowColumns } from './dialect.ts'

const nothing = { beside: [], account: null }

/** What a plan wants beside its own rows, and the account that asks. */
export function besideOf(plan: Plan): { beside: readonly Beside[]; account: string | null } {
  const read = plan.do === 'once' ? plan.decide.read : plan.do === 'decide' ? plan.read : plan
  if (!('beside' in read) || read.beside === undefined) return nothing
  return { beside: read.beside, account: read.do === 'list' ? read.account : read.key.account }
}

type Document = Readonly<Record<string, unknown>>

/** An outcome with the other rows that were asked for. */
export function* completed(
  cellar: Cellar,
  steps: Steps<Outcome>,
  beside: readonly Beside[],
  account: string | null,
): Steps<Outcome> {
  const outcome = yield* steps
  const read = function* (document: Document): Steps<readonly (Other | null)[]> {
    const all: (Other | null)[] = []
    for (const one of beside) {
      const own = shelf(cellar, one.collection)
      const asked = rowStatement(own, one, document, { account, dialect: cellar.dialect })
      const row = asked === null ? undefined : (yield asked)[0]
      all.push(row ? { doc: textOf(own, one, row) as string, revision: Number(row.revision) } : null)
    }
    return all
  }
  const of = (doc: string) => read(JSON.parse(doc) as Document)
  switch (outcome.is) {
    case 'page':
      return yield* pageOf(cellar, outcome, beside, account)
    case 'found': {
      const document = JSON.parse(outcome.doc) as Document
      return { ...outcome, document, beside: yield* read(document) }
    }
    case 'created':
    case 'changed':
      return { ...outcome, beside: yield* of(outcome.doc) }
    case 'kept':
      return outcome.seen.is === 'found'
        ? { ...outcome, seen: { ...outcome.seen, beside: yield* of(outcome.seen.doc) } }
        : outcome
    case 'claimed':
      return outcome.answer
        ? { ...outcome, answer: { ...outcome.answer, beside: yield* of(outcome.answer.doc) } }
        : outcome
    default:
      return outcome
  }
}

function* pageOf(cellar: Cellar, page: Page, beside: readonly Beside[], account: string | null): Steps<Page> {
  const documents = JSON.parse(`[${page.data}]`) as Document[]
  return { ...page, documents, beside: yield* rowsOf(cellar, beside, documents, account) }
}

/** The rows beside all documents of a page, by their ids. */
function* rowsOf(
  cellar: Cellar,
  beside: readonly Beside[],
  docs: readonly Document[],
  account: string | null,
): Steps<Map<string, string>[]> {
  const all: Map<string, string>[] = []
  for (const one of beside) {
    const known = new Map<string, string>()
    const own = shelf(cellar, one.collection)
    const keys = new Map(
      docs.flatMap((doc): [string, Key][] => {
        const key = keyBeside(own, one, doc, account)
        return key ? [[key.id, key]] : []
      }),
    )
    for (const [id, row] of yield* rowsAt(cellar, own, [...keys.values()])) {
      const text = textOf(own, one, row)
      if (text !== null) known.set(id, text)
    }
    all.push(known)
  }
  return all
}

/** Rows by their ids: all at once where each question is a way there and back, else one by one, as such are remembered. */
function* rowsAt(
  { dialect }: Cellar,
  { collection, texts }: Shelf,
  keys: readonly Key[],
): Steps<[id: string, row: Answer | undefined][]> {
  const all: [string, Answer | undefined][] = []
  if (!dialect.fused || keys.length < 2) {
    for (const key of keys) {
      const values = keyValues(collection, key, dialect)
      all.push([key.id, (yield { text: texts.read, values, lone: 'read' })[0]])
    }
    return all
  }
  const wanted = new Map(keys.map((key) => [key.id, key]))
  for (const row of yield rowsStatement(collection, keys, dialect)) {
    const id = row.id as string
    if ((row.parent ?? null) === (wanted.get(id)?.parent ?? null)) all.push([id, row])
  }
  return all
}

/** Few different texts for any number of rows: the last one is asked for again until there is a power of two. */
function rowsStatement(collection: Collection, keys: readonly Key[], { mark }: Dialect): Statement {
  const names = keyColumns(collection) as readonly (keyof Key)[]
  const values: Cell[] = []
  const where = names.map((name) => {
    const own = [...new Set(keys.map((key) => key[name]))]
    const padded = Array.from({ length: 2 ** Math.ceil(Math.log2(own.length)) }, (_, i) => own[i] ?? own.at(-1) ?? null)
    return `${name} IN (${padded.map((value) => mark(values.push(value))).join(', ')})`
  })
  const told = [...names, 'revision', 'shape', 'doc', 'hidden'].join(', ')
  return { text: `SELECT ${told} FROM ${quoted(collection.table)} WHERE ${where.join(' AND ')}`, values, lone: 'read' }
}

interface Asking {
  readonly account: string | null
  readonly dialect: Dialect
}

function rowStatement(own: Shelf, one: Beside, doc: Document, { account, dialect }: Asking): Statement | null {
  const key = keyBeside(own, one, doc, account)
  return key && { text: own.texts.read, values: keyValues(own.collection, key, dialect), lone: 'read' }
}

/** What names the row beside a document; null where that leads to none. */
export function keyBeside({ collection }: Shelf, { by }: Beside, doc: Document, account: string | null): Key | null {
  const id = doc[by]
  if (typeof id !== 'string') return null
  const { composite, fields } = collection
  const owner = composite ? doc[fields[1]?.name as string] : null // the owner's id stands behind the own one
  return { id, parent: (owner ?? null) as string | null, account }
}

const textOf = (own: Shelf, one: Beside, row: Answer | undefined): string | null =>
  row ? textBeside(one, found(own, row)) : null

/** The text of a row beside, with what is never answered where that is asked for. */
export const textBeside = ({ whole }: Beside, { doc, hidden }: Pick<Found, 'doc' | 'hidden'>): string =>
  whole && hidden !== null ? JSON.stringify({ ...JSON.parse(hidden), ...JSON.parse(doc) }) : doc

/** Tells nodes of the declaration before what a write did, in the same transaction: what they show, and what they ask for. */
export function* told(cellar: Cellar, plan: Create | Update, steps: Steps<Outcome>): Steps<Outcome> {
  const own = shelf(cellar, plan.collection)
  if (isBeside(cellar, own)) yield* isBehind(cellar) // the change may have come to its end
  if (!isBeside(cellar, own)) return yield* steps
  const outcome = yield* together(steps)
  if (!isLasting(outcome)) return outcome
  yield* tell(cellar, own, plan.key, false)
  if (plan.do === 'update') yield* retell(cellar, plan.collection, plan.key)
  return outcome
}

/** Rows that show something of another one show what that one has now. */
export function* retell(cellar: Cellar, name: string, key: Key): Steps<void> {
  for (const own of cellar.shelves.values()) {
    const { collection, former } = own
    const besides = former ? (collection.besides?.(former.shape) ?? []) : []
    for (const { by } of besides.filter((one) => one.collection === name && !one.whole)) {
      const column = collection.columns.find(({ field }) => field === by)?.name ?? collection.parent?.column
      if (column === undefined) continue
      const shared = collection.account === null || key.account === null ? [] : [key.account]
      const whose = shared.length > 0 ? ` AND account = ${cellar.dialect.mark(2)}` : ''
      const text = `SELECT ${keyColumns(collection).join(', ')} FROM ${quoted(collection.table)} WHERE ${quoted(column)} = ${cellar.dialect.mark(1)}${whose}`
      const rows = yield { text, values: [key.id, ...shared] }
      for (const { account = null, parent = null, id } of rows as readonly Readonly<Record<string, string | null>>[])
        yield* tell(cellar, own, { account, parent, id: id as string }, true)
    }
  }
}

/** Writes what nodes of the declaration before know of a row, and the columns that only they have. */
function* tell(cellar: Cellar, own: Shelf, key: Key, counts: boolean): Steps<void> {
  const { collection, former, shape } = own
  const keys = keyValues(collection, key, cellar.dialect)
  const [row] = yield { text: own.texts.own, values: keys }
  if (!row || !former || Number(row.shape) < shape) return
  const seen = found(own, row)
  const document = { ...JSON.parse(seen.hidden ?? '{}'), ...JSON.parse(seen.doc) } as Members
  const rows: (Members | null)[] = []
  for (const one of collection.besides?.(former.shape) ?? []) {
    const other = shelf(cellar, one.collection)
    const asked = one.whole
      ? null
      : rowStatement(other, one, document, { account: key.account, dialect: cellar.dialect })
    const text = asked && textOf(other, one, (yield asked)[0])
    rows.push(one.whole ? document : text === null ? null : JSON.parse(text))
  }
  const hidden = aside(own, seen, seen, rows)
  const known = { ...document, ...keptIn(hidden)[former.shape] } as Members
  const names = ['hidden', ...former.columns.map(({ name }) => quoted(name))]
  const set = names.map((name, i) => `${name} = ${cellar.dialect.mark(i + 1)}`)
  if (counts) set.push('revision = revision + 1')
  const where = rowColumns(collection, cellar.dialect).map(
    (name, i) => `${name} = ${cellar.dialect.mark(names.length + i + 1)}`,
  )
  const text = `UPDATE ${quoted(collection.table)} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`
  yield { text, values: [hidden, ...former.columns.map((column) => cellIn(column, known)), ...keys] }
}

/** Writes what goes along with a write, in the same transaction; what refuses it refuses the whole. */
export function* along(plan: Write, outcome: Outcome, decided: (one: Decide) => Steps<Outcome>): Steps<Outcome> {
  const others = plan.do === 'remove' ? [] : (plan.along ?? [])
  if (!isLasting(outcome)) return outcome
  for (const one of others) {
    const other = yield* decided(one)
    if (other.is === 'duplicate' || other.is === 'unmet') return { ...other, collection: one.read.collection }
    if (!isLasting(other)) return other
  }
  return outcome
}

/** Steps of which none is all by itself: others follow in the same transaction. */
export function* together<T>(steps: Steps<T>): Steps<T> {
  let step = steps.next()
  while (!step.done) {
    const { text, values } = step.value
    step = steps.next(yield step.value.lone === 'write' ? { text, values } : step.value)
  }
  return step.value
}
