/** Embedded outcome: reads the rows that are embedded in the rows of an outcome, one statement for each name. R232. The store. */

import { type PreparedCollection, preparedCollection, type StoreContext, viewStoredRow } from '../catalog/context.ts'
import { refusePendingColumns } from '../catalog/old-nodes.ts'
import { resolveList } from '../catalog/resolve-list.ts'
import type { ResultRow, Steps } from '../catalog/steps.ts'
import type { EmbeddedRows, FoundRow, StoredRows } from '../flow/found-row.ts'
import { documentSeparator, type Outcome } from '../flow/outcome.ts'
import type { ListRows, Plan, RowEmbed, RowJoin } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { refuseJoinedOrder } from '../ledgers/remote-entries.ts'
import { idsValue, pairsStatement, rowsByIdStatement, rowsOfOwnersStatement } from '../sql/embedded-rows.ts'
import { arrayText, fillSlots } from '../sql/list-statements.ts'
import { slot, slotAt } from '../sql/ranges.ts'
import { joinsOf, withJoinedTexts } from './joined.ts'

/** An outcome with the rows that are embedded in its rows, or in the row that was written. R232. */
export function* withEmbeddedRows(
  context: StoreContext,
  steps: Steps<Outcome>,
  embeds: readonly RowEmbed[],
  plan: Plan,
): Steps<Outcome> {
  const outcome = yield* steps
  switch (outcome.is) {
    case 'page': {
      const owner = (plan.do === 'list' && plan.parent?.id) || ''
      return { ...outcome, embedded: yield* readEmbedded(context, embeds, outcome, () => owner) }
    }
    case 'found':
      return {
        ...outcome,
        embedded: yield* readEmbedded(context, embeds, rowsOfItem(outcome, joinsOf(plan).joined), noOwner),
      }
    case 'created':
    case 'changed':
      return { ...outcome, embedded: yield* readEmbedded(context, embeds, { data: outcome.doc }, noOwner) }
    case 'kept': {
      const { current } = outcome
      if (current.is !== 'found') return outcome
      const embedded = yield* readEmbedded(context, embeds, { data: current.doc }, noOwner)
      return { ...outcome, current: { ...current, embedded } }
    }
    default:
      return outcome
  }
}

/** The id of the owner whose list has the row with an index. */
type OwnerOf = (row: number) => string
const noOwner: OwnerOf = () => ''

const rowsOfItem = ({ doc, document, joined = [] }: FoundRow, joins: readonly RowJoin[]): StoredRows => ({
  data: doc,
  joined: joined.map((row, i) => new Map(row ? [[String(document?.[joins[i]?.by as string]), row.doc]] : [])),
})

function* readEmbedded(
  context: StoreContext,
  embeds: readonly RowEmbed[],
  rows: StoredRows,
  ownerOf: OwnerOf,
): Steps<readonly EmbeddedRows[]> {
  const all: EmbeddedRows[] = []
  for (const one of embeds) {
    const rowIds = rows.data === '' ? [] : one.ids(rows)
    const ids = one.pairsOf === undefined ? rowIds : rowIds.map((id, i) => id && pairName(ownerOf(i), id))
    const wanted = [...new Set(ids.filter((id) => id !== null))]
    const read = one.list
      ? readFirstRows(context, one, one.list, wanted)
      : one.pairsOf === undefined
        ? readRowsById(context, one, wanted)
        : readPairs(context, one, one.pairsOf, wanted)
    const { docs, parts } = wanted.length === 0 ? noRows : yield* read
    const data = { data: docs.join(documentSeparator) }
    const isWhole = docs.length === 0 || one.joined.length === 0
    const texts = isWhole ? data : yield* withJoinedTexts(context, data, one.joined, one.account)
    const owners = [...parts].flatMap(([id, { count }]) => Array<string>(count).fill(id))
    const embedded = yield* readEmbedded(context, one.embeds, texts, (row) => owners[row] as string)
    all.push({ ...texts, parts: ids.map((id) => (id === null ? noPart : (parts.get(id) ?? noPart))), embedded })
  }
  return all
}

type RowsPart = EmbeddedRows['parts'][number]

interface RowsById {
  readonly docs: readonly string[]
  readonly parts: ReadonlyMap<string, RowsPart>
}

const noRows: RowsById = { docs: [], parts: new Map() }
const noPart: RowsPart = { from: 0, count: 0, hasMore: false }

function* readRowsById(
  context: StoreContext,
  { collection, account }: RowEmbed,
  ids: readonly string[],
): Steps<RowsById> {
  const own = preparedCollection(context, collection)
  const statement = own.prepared.form('embedded', () => rowsByIdStatement(own.collection, context.dialect))
  const stored = yield fillSlots(statement, embedValues(context, account, ids))
  const test = context.rights?.visible.of(collection)
  const rows = test ? stored.filter((row) => test.matches(viewStoredRow(own, row).doc)) : stored
  const parts = rows.map(({ id }, from): [string, RowsPart] => [id as string, { from, count: 1, hasMore: false }])
  return { docs: documentsOf(own, rows), parts: new Map(parts) }
}

const pairName = (owner: string, id: string): string => `${encodeURIComponent(owner)}/${encodeURIComponent(id)}`

/** Finds the pairs of given owners with given rows. */
function* readPairs(
  context: StoreContext,
  { collection, account }: RowEmbed,
  column: string,
  names: readonly string[],
): Steps<RowsById> {
  const own = preparedCollection(context, collection)
  const statement = own.prepared.form('pairs', () => pairsStatement(own.collection, context.dialect))
  const sides = names.map((name) => name.split('/').map(decodeURIComponent))
  const [owners, others] = [0, 1].map((side) => [...new Set(sides.map((one) => one[side] as string))])
  const isParent = column === 'parent'
  const [parents, ids] = (isParent ? [owners, others] : [others, owners]) as [string[], string[]]
  const rows = yield fillSlots(statement, [...embedValues(context, account, parents), idsValue(ids, context.dialect)])
  const parts = rows.map(({ parent, id }, from): [string, RowsPart] => [
    isParent ? pairName(parent as string, id as string) : pairName(id as string, parent as string),
    { from, count: 1, hasMore: false },
  ])
  return { docs: documentsOf(own, rows), parts: new Map(parts) }
}

/** The first page of a list for each of its owners. */
function* readFirstRows(
  context: StoreContext,
  { collection, account }: RowEmbed,
  list: ListRows,
  owners: readonly string[],
): Steps<RowsById> {
  const own = preparedCollection(context, collection)
  const plan = resolveList(context, context.rights ? { ...list, rights: context.rights } : list)
  refuseJoinedOrder(context, plan)
  yield* refusePendingColumns(context, own, plan)
  const { limit } = plan.window
  const statement = plan.prepared.form('embedded', () => {
    const parent = plan.parent && { ...plan.parent, id: slot<string>(slotAt.owner) }
    const window = { ...plan.window, limit: limit + 1 }
    const first = { ...plan, parent, window, account: slot<string>(slotAt.account) }
    return rowsOfOwnersStatement(own.collection, first, context.dialect)
  })
  const rows = yield fillSlots(statement, embedValues(context, account, owners))
  const parts = new Map<string, RowsPart>()
  const listed: ResultRow[] = []
  for (const [owner, its] of Map.groupBy(rows, (row) => row.owner as string)) {
    const count = Math.min(its.length, limit)
    parts.set(owner, { from: listed.length, count, hasMore: its.length > limit })
    listed.push(...its.slice(0, limit))
  }
  return { docs: documentsOf(own, listed), parts }
}

/** The values of the slots of both statements. */
const embedValues = ({ dialect }: StoreContext, account: string | null, ids: readonly string[]) => [
  account,
  idsValue(ids, dialect),
  dialect.distribute && arrayText(ids.map(shardKeyOf)),
]

const documentsOf = (own: PreparedCollection, rows: readonly ResultRow[]): string[] =>
  rows.map((row) => viewStoredRow(own, row).doc)
