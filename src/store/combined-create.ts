/** Combined create: a creation with all that it requires and records as one statement. Pure. The store. */

import type { PreparedCollection, StoreContext } from '../catalog/context.ts'
import type { Create } from '../flow/plan.ts'
import { claimTable, keptRowText } from '../ledgers/idempotency-claims.ts'
import type { EventValues } from '../ledgers/outbox.ts'
import { type Collection, keyColumns } from '../rows/collection.ts'
import { quoted, rowKeyValues } from '../sql/dialect.ts'
import type { Statement } from '../sql/statements.ts'
import {
  equalColumns,
  type ListType,
  listTypeOf,
  ownEventTypes,
  ownEventValues,
  recordedParts,
  recordingName,
  type StatementText,
  textTypes,
  valueRows,
  valuesOf,
  withClause,
} from './combined.ts'

const maxRequiredRows = 5
const claimColumns = Object.keys(claimTable.columns)

/**
 * A creation as one statement, which writes everything and returns a row, or writes nothing and returns none; null if it
 * needs more statements. It locks the rows that the new row requires, then takes the idempotency key, and inserts the row if
 * both succeeded.
 */
export function combinedCreate(
  context: StoreContext,
  own: PreparedCollection,
  plan: Create,
  { revision, hidden, event }: CreatedParts,
): Statement | null {
  const { dialect } = context
  if (!dialect.combines || plan.id !== 'fresh' || (plan.claim?.expired ?? null) !== null) return null
  const held = requiredRows(plan)
  if (held.length > maxRequiredRows || held.some(({ collection }) => context.rights?.visible.of(collection)))
    return null
  const { collection, shape } = own
  const { doc, cells } = plan.row
  const values = rowKeyValues(collection, plan.key, dialect).concat([revision, shape, doc, hidden], cells)
  const targets = held.map(({ collection: name }) => (context.collections.get(name) as PreparedCollection).collection)
  for (const [i, { id }] of held.entries())
    values.push(...rowKeyValues(targets[i] as Collection, { id, parent: null, account: plan.key.account }, dialect))
  if (plan.claim) {
    const { hash, fingerprint, time, keeps } = plan.claim
    const answer = keeps ? keptRowText(own, doc, revision) : null
    values.push(hash, collection.called ?? plan.collection, plan.key.parent, plan.key.id, fingerprint, time, answer)
  }
  if (event) values.push(...ownEventValues(event))
  const name = `create ${event ? `${recordingName(event)} ` : ''}${plan.claim ? 'with a key ' : ''}${held.map(({ collection: one }) => one).join(' ')}`
  const { text, many } = own.prepared.form(name, () =>
    createTexts({ collection, targets, claimed: plan.claim !== null, event }, context),
  )
  return { text, ...(many && { many }), values, autocommit: 'write' }
}

/** The parts of a new row that its plan does not have. */
interface CreatedParts {
  readonly revision: number
  readonly hidden: string | null
  /** Null if no event is recorded. */
  readonly event: EventValues | null
}

/** The collection of a new row, those of the rows that it requires, and whether it takes an idempotency key. */
interface NewRow {
  readonly collection: Collection
  readonly targets: readonly Collection[]
  readonly claimed: boolean
  /** A sample of the events that these statements record. */
  readonly event: EventValues | null
}

// long because: both texts are built from the same parts
function createTexts({ collection, targets, claimed, event }: NewRow, context: StoreContext): StatementText {
  const { dialect } = context
  const names = keyColumns(collection)
  const columns = [
    ...names,
    'revision',
    'shape',
    'doc',
    'hidden',
    ...collection.columns.map(({ name }) => quoted(name)),
  ]
  const types: ListType[] = [
    ...textTypes(names),
    'bigint',
    'bigint',
    'text',
    'text',
    ...collection.columns.map(listTypeOf),
  ]
  const [width, id] = [types.length, names.length - 1]
  const starts = targets.map((target) => types.push(...textTypes(keyColumns(target))) - keyColumns(target).length)
  const claim = types.length
  if (claimed) types.push('text', 'text', 'text', 'text', 'text', 'bigint', 'text')
  const places = { key: 0, revision: names.length, shape: names.length + 1, doc: names.length + 2, own: types.length }
  if (event) types.push(...ownEventTypes(event))

  const [one, each] = valuesOf(types, dialect)
  const recorded = event ? recordedParts(context, { event, collection, places }) : () => []
  const range = (from: number, count: number, value: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => value(from + i)).join(', ')
  const into = `INSERT INTO ${quoted(collection.table)} (${columns.join(', ')})`
  const claiming = `INSERT INTO ${claimTable.name} (${claimColumns.join(', ')})`
  const free = 'ON CONFLICT (hash) DO NOTHING RETURNING hash, id'
  const holding = targets.map((target, i) => {
    const match = keyColumns(target).map((name, k) => `own.${name} = ${one((starts[i] as number) + k)}`)
    return `held${i} AS (SELECT 1 FROM ${quoted(target.table)} AS own WHERE ${match.join(' AND ')}${dialect.rowLocks?.shared})`
  })
  const held = targets.map((_, i) => `held${i}`)
  const from = (tables: readonly string[]) => (tables.length === 0 ? '' : ` FROM ${tables.join(', ')}`)
  const steps = claimed
    ? [...holding, `claim AS (${claiming} SELECT ${range(claim, claimColumns.length, one)}${from(held)} ${free})`]
    : holding
  const whenReady = from(claimed ? ['claim'] : held)
  const insert = `${into} SELECT ${range(0, width, one)}${whenReady} RETURNING revision`
  const text = withClause([...steps, ...recorded(whenReady, one)]) + insert
  if (!dialect.coalesces) return { text }

  const holdingAll = targets.map((target, i) => {
    const match = equalColumns('own', keyColumns(target), starts[i] as number)
    return `held${i} AS (SELECT one.c${id} AS of FROM one JOIN ${quoted(target.table)} AS own ON ${match}${dialect.rowLocks?.shared} OF own)`
  })
  const present = `one${held.map((name) => ` JOIN ${name} ON ${name}.of = one.c${id}`).join('')}`
  const claimAll = `claim AS (${claiming} SELECT ${range(claim, claimColumns.length, each)} FROM ${present} ORDER BY one.c${claim} ${free})`
  const stepsOfAll = [
    `one AS (SELECT * FROM ${valueRows(types, dialect)})`,
    ...holdingAll,
    ...(claimed ? [claimAll] : []),
  ]
  const ready = claimed ? `one JOIN claim ON claim.hash = one.c${claim} AND claim.id = one.c${id}` : present
  const insertAll = `${into} SELECT ${range(0, width, each)} FROM ${ready} RETURNING ${names[id]} AS at0, revision`
  const all = withClause([...stepsOfAll, ...recorded(` FROM ${ready}`, each)]) + insertAll
  return { text, many: { text: all, types, at: [id] } }
}

/** The rows that must exist: the owner, and all references except one to the new row itself. */
function requiredRows({ parent, references, collection, key }: Create): readonly NonNullable<Create['parent']>[] {
  if (parent === null && references.length === 0) return []
  const others = references.filter((one) => one.collection !== collection || one.id !== key.id)
  const all = [...(parent ? [parent] : []), ...others]
  return [...new Map(all.map((one) => [`${one.collection}/${one.id}`, one])).values()]
}
