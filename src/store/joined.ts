/** Completes what was read or written by other rows that it refers to, and carries out what is written along with it. The cellar. */

import type { FoundRow, JoinedRow, RowKey } from '../flow/found-row.ts'
import type { Outcome, Page } from '../flow/outcome.ts'
import { isCommitted } from '../flow/outcome.ts'
import type { Create, Decide, Plan, RowJoin, RowWrite, Update } from '../flow/plan.ts'
import { type Cell, type Collection, cellIn, keptForOthers, keyColumns, type Members } from '../rows/collection.ts'
import type { Statement } from '../sql/compile.ts'
import { type Dialect, quoted, rowKeyColumns, rowKeyValues } from '../sql/dialect.ts'
import {
  hiddenColumn,
  type PreparedCollection,
  preparedCollection,
  type StoreContext,
  viewStoredRow,
} from './context.ts'
import { checkBacklog, oldNodesMayRead } from './old-nodes.ts'
import type { ResultRow, Steps } from './steps.ts'

const noJoins = { joined: [], account: null }

/** What a plan wants beside its own rows, and the account that asks. */
export function joinsOf(plan: Plan): { joined: readonly RowJoin[]; account: string | null } {
  const read = plan.do === 'once' ? plan.decide.read : plan.do === 'decide' ? plan.read : plan
  if (!('joined' in read) || read.joined === undefined) return noJoins
  return { joined: read.joined, account: read.do === 'list' ? read.account : read.key.account }
}

type ParsedDocument = Readonly<Record<string, unknown>>

/** An outcome with the other rows that were asked for. */
export function* withJoinedRows(
  cellar: StoreContext,
  steps: Steps<Outcome>,
  beside: readonly RowJoin[],
  account: string | null,
): Steps<Outcome> {
  const outcome = yield* steps
  const read = function* (document: ParsedDocument): Steps<readonly (JoinedRow | null)[]> {
    const all: (JoinedRow | null)[] = []
    for (const one of beside) {
      const own = preparedCollection(cellar, one.collection)
      const asked = joinedRowStatement(own, one, document, { account, dialect: cellar.dialect })
      const row = asked === null ? undefined : (yield asked)[0]
      all.push(row ? { doc: joinedTextOrNull(own, one, row) as string, revision: Number(row.revision) } : null)
    }
    return all
  }
  const of = (doc: string) => read(JSON.parse(doc) as ParsedDocument)
  switch (outcome.is) {
    case 'page':
      return yield* withJoinedTexts(cellar, outcome, beside, account)
    case 'found': {
      const document = JSON.parse(outcome.doc) as ParsedDocument
      return { ...outcome, document, joined: yield* read(document) }
    }
    case 'created':
    case 'changed':
      return { ...outcome, joined: yield* of(outcome.doc) }
    case 'kept':
      return outcome.seen.is === 'found'
        ? { ...outcome, seen: { ...outcome.seen, joined: yield* of(outcome.seen.doc) } }
        : outcome
    case 'claimed':
      return outcome.answer
        ? { ...outcome, answer: { ...outcome.answer, joined: yield* of(outcome.answer.doc) } }
        : outcome
    default:
      return outcome
  }
}

function* withJoinedTexts(
  cellar: StoreContext,
  page: Page,
  beside: readonly RowJoin[],
  account: string | null,
): Steps<Page> {
  const documents = JSON.parse(`[${page.data}]`) as ParsedDocument[]
  return { ...page, documents, joined: yield* readJoinedTexts(cellar, beside, documents, account) }
}

/** The rows beside all documents of a page, by their ids. */
function* readJoinedTexts(
  cellar: StoreContext,
  beside: readonly RowJoin[],
  docs: readonly ParsedDocument[],
  account: string | null,
): Steps<Map<string, string>[]> {
  const all: Map<string, string>[] = []
  for (const one of beside) {
    const known = new Map<string, string>()
    const own = preparedCollection(cellar, one.collection)
    const keys = new Map(
      docs.flatMap((doc): [string, RowKey][] => {
        const key = joinedKey(own, one, doc, account)
        return key ? [[key.id, key]] : []
      }),
    )
    for (const [id, row] of yield* readRowsByKey(cellar, own, [...keys.values()])) {
      const text = joinedTextOrNull(own, one, row)
      if (text !== null) known.set(id, text)
    }
    all.push(known)
  }
  return all
}

/** Rows by their ids: all at once where each question is a way there and back, else one by one, as such are remembered. */
function* readRowsByKey(
  { dialect }: StoreContext,
  { collection, texts }: PreparedCollection,
  keys: readonly RowKey[],
): Steps<[id: string, row: ResultRow | undefined][]> {
  const all: [string, ResultRow | undefined][] = []
  if (!dialect.combines || keys.length < 2) {
    for (const key of keys) {
      const values = rowKeyValues(collection, key, dialect)
      all.push([key.id, (yield { text: texts.read, values, autocommit: 'read' })[0]])
    }
    return all
  }
  const wanted = new Map(keys.map((key) => [key.id, key]))
  for (const row of yield rowsByKeyStatement(collection, keys, dialect)) {
    const id = row.id as string
    if ((row.parent ?? null) === (wanted.get(id)?.parent ?? null)) all.push([id, row])
  }
  return all
}

/** Few different texts for any number of rows: the last one is asked for again until there is a power of two. */
function rowsByKeyStatement(collection: Collection, keys: readonly RowKey[], { mark }: Dialect): Statement {
  const names = keyColumns(collection) as readonly (keyof RowKey)[]
  const values: Cell[] = []
  const where = names.map((name) => {
    const own = [...new Set(keys.map((key) => key[name]))]
    const padded = Array.from({ length: 2 ** Math.ceil(Math.log2(own.length)) }, (_, i) => own[i] ?? own.at(-1) ?? null)
    return `${name} IN (${padded.map((value) => mark(values.push(value))).join(', ')})`
  })
  const told = [...names, 'revision', 'shape', 'doc', 'hidden'].join(', ')
  return {
    text: `SELECT ${told} FROM ${quoted(collection.table)} WHERE ${where.join(' AND ')}`,
    values,
    autocommit: 'read',
  }
}

interface JoinContext {
  readonly account: string | null
  readonly dialect: Dialect
}

function joinedRowStatement(
  own: PreparedCollection,
  one: RowJoin,
  doc: ParsedDocument,
  { account, dialect }: JoinContext,
): Statement | null {
  const key = joinedKey(own, one, doc, account)
  return key && { text: own.texts.read, values: rowKeyValues(own.collection, key, dialect), autocommit: 'read' }
}

/** What names the row beside a document; null where that leads to none. */
export function joinedKey(
  { collection }: PreparedCollection,
  { by }: RowJoin,
  doc: ParsedDocument,
  account: string | null,
): RowKey | null {
  const id = doc[by]
  if (typeof id !== 'string') return null
  const { composite, fields } = collection
  const owner = composite ? doc[fields[1]?.name as string] : null // the owner's id stands behind the own one
  return { id, parent: (owner ?? null) as string | null, account }
}

const joinedTextOrNull = (own: PreparedCollection, one: RowJoin, row: ResultRow | undefined): string | null =>
  row ? joinedText(one, viewStoredRow(own, row)) : null

/** The text of a row beside, with what is never answered where that is asked for. */
export const joinedText = ({ withWriteOnly }: RowJoin, { doc, hidden }: Pick<FoundRow, 'doc' | 'hidden'>): string =>
  withWriteOnly && hidden !== null ? JSON.stringify({ ...JSON.parse(hidden), ...JSON.parse(doc) }) : doc

/** Tells nodes of the declaration before what a write did, in the same transaction: what they show, and what they ask for. */
export function* writeForOldNodes(cellar: StoreContext, plan: Create | Update, steps: Steps<Outcome>): Steps<Outcome> {
  const own = preparedCollection(cellar, plan.collection)
  if (oldNodesMayRead(cellar, own)) yield* checkBacklog(cellar) // the change may have come to its end
  if (!oldNodesMayRead(cellar, own)) return yield* steps
  const outcome = yield* withoutAutocommit(steps)
  if (!isCommitted(outcome)) return outcome
  yield* writeOldNodeColumns(cellar, own, plan.key, false)
  if (plan.do === 'update') yield* refreshJoiningRows(cellar, plan.collection, plan.key)
  return outcome
}

/** Rows that show something of another one show what that one has now. */
export function* refreshJoiningRows(cellar: StoreContext, name: string, key: RowKey): Steps<void> {
  for (const own of cellar.collections.values()) {
    const { collection, former } = own
    const besides = former ? (collection.joined?.(former.shape) ?? []) : []
    for (const { by } of besides.filter((one) => one.collection === name && !one.withWriteOnly)) {
      const column = collection.columns.find(({ field }) => field === by)?.name ?? collection.parent?.column
      if (column === undefined) continue
      const shared = collection.account === null || key.account === null ? [] : [key.account]
      const whose = shared.length > 0 ? ` AND account = ${cellar.dialect.mark(2)}` : ''
      const text = `SELECT ${keyColumns(collection).join(', ')} FROM ${quoted(collection.table)} WHERE ${quoted(column)} = ${cellar.dialect.mark(1)}${whose}`
      const rows = yield { text, values: [key.id, ...shared] }
      for (const { account = null, parent = null, id } of rows as readonly Readonly<Record<string, string | null>>[])
        yield* writeOldNodeColumns(cellar, own, { account, parent, id: id as string }, true)
    }
  }
}

/** Writes what nodes of the declaration before know of a row, and the columns that only they have. */
function* writeOldNodeColumns(
  cellar: StoreContext,
  own: PreparedCollection,
  key: RowKey,
  counts: boolean,
): Steps<void> {
  const { collection, former, shape } = own
  const keys = rowKeyValues(collection, key, cellar.dialect)
  const [row] = yield { text: own.texts.readForUpdate, values: keys }
  if (!row || !former || Number(row.shape) < shape) return
  const seen = viewStoredRow(own, row)
  const document = { ...JSON.parse(seen.hidden ?? '{}'), ...JSON.parse(seen.doc) } as Members
  const rows: (Members | null)[] = []
  for (const one of collection.joined?.(former.shape) ?? []) {
    const other = preparedCollection(cellar, one.collection)
    const asked = one.withWriteOnly
      ? null
      : joinedRowStatement(other, one, document, { account: key.account, dialect: cellar.dialect })
    const text = asked && joinedTextOrNull(other, one, (yield asked)[0])
    rows.push(one.withWriteOnly ? document : text === null ? null : JSON.parse(text))
  }
  const hidden = hiddenColumn(own, seen, seen, rows)
  const known = { ...document, ...keptForOthers(hidden)[former.shape] } as Members
  const names = ['hidden', ...former.columns.map(({ name }) => quoted(name))]
  const set = names.map((name, i) => `${name} = ${cellar.dialect.mark(i + 1)}`)
  if (counts) set.push('revision = revision + 1')
  const where = rowKeyColumns(collection, cellar.dialect).map(
    (name, i) => `${name} = ${cellar.dialect.mark(names.length + i + 1)}`,
  )
  const text = `UPDATE ${quoted(collection.table)} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`
  yield { text, values: [hidden, ...former.columns.map((column) => cellIn(column, known)), ...keys] }
}

/** Writes what goes along with a write, in the same transaction; what refuses it refuses the whole. */
export function* runJoinedWrites(
  plan: RowWrite,
  outcome: Outcome,
  decided: (one: Decide) => Steps<Outcome>,
): Steps<Outcome> {
  const others = plan.do === 'remove' ? [] : (plan.along ?? [])
  if (!isCommitted(outcome)) return outcome
  for (const one of others) {
    const other = yield* decided(one)
    if (other.is === 'duplicate' || other.is === 'unmet') return { ...other, collection: one.read.collection }
    if (!isCommitted(other)) return other
  }
  return outcome
}

/** Steps of which none is all by itself: others follow in the same transaction. */
export function* withoutAutocommit<T>(steps: Steps<T>): Steps<T> {
  let step = steps.next()
  while (!step.done) {
    const { text, values } = step.value
    step = steps.next(yield step.value.autocommit === 'write' ? { text, values } : step.value)
  }
  return step.value
}
