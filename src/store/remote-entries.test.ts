/** Tests the statements on a sharded database, and the entries that a row has on other shards. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { type StoreContext, storeContext } from '../catalog/context.ts'
import { isRowConflict, type ResultRow, runSteps } from '../catalog/steps.ts'
import type { Plan } from '../flow/plan.ts'
import { shardKeyOf } from '../flow/shard-key.ts'
import { changeBetween } from '../schema/schema-change.ts'
import { citusDialect } from '../sql/dialect.ts'
import { type Statement, statementTexts } from '../sql/statements.ts'
import { perform } from './perform.ts'

const { resources } = service({
  name: 'statements',
  resources: {
    customers: { prefix: 'cus', fields: { email: f.email({ unique: true }) }, access: 'public' },
    orders: { prefix: 'ord', fields: { customerId: f.ref('customers'), name: f.text() }, access: 'public' },
    slots: { parent: 'orders', key: 'number', fields: { number: f.text() }, access: 'public' },
  },
})
const collections = [...resources.values()].map(({ collection }) => collection)
const change = changeBetween(null, collections, citusDialect)
const own: StoreContext = storeContext(collections, { layout: change.after, former: null }, citusDialect)

const [customer, other, order] = [
  'cus_01hzxw3k5qf7m8n9p0r1s2t3v4',
  'cus_01hzxw3k5qf7m8n9p0r1s2t3zz',
  'ord_01hzxw3k5qf7m8n9p0r1s2t300',
]
const key = (id: string) => ({ id, parent: null, account: null })
const email = (text: string) => JSON.stringify({ id: customer, email: text })
const orderOf = (id: string) => JSON.stringify({ id: order, customerId: id, name: 'a' })

/** Performs a plan with the given rows as answers; returns the statements that were sent. */
function sent(plan: Plan, answer: (text: string) => readonly ResultRow[]): { sent: Statement[]; outcome: unknown } {
  const all: Statement[] = []
  const run = (statement: Statement) => {
    all.push(statement)
    return answer(statement.text)
  }
  try {
    return { outcome: runSteps(perform(own, plan), run), sent: all }
  } catch (error) {
    return { outcome: isRowConflict(error) ? 'moved' : error, sent: all }
  }
}

const shortly = ({ text }: Statement): string => text.replace(/ \(.*| WHERE.*/s, '')

test('a table is distributed before it has indexes, and only ids have a unique index', () => {
  const [made] = change.steps.filter(({ about }) => about === 'create customers')
  assert.match(
    made?.sql[0] ?? '',
    /^CREATE TABLE "customers" \(home integer NOT NULL, id .* PRIMARY KEY \(home, id\)\)$/,
  )
  assert.equal(
    made?.sql[1],
    `SELECT create_distributed_table('"customers"', 'home', colocate_with => 'bylaw_tombstones')`,
  )
  assert.ok(made?.sql.every((text) => !text.includes('UNIQUE')))
  const shared = change.steps.flatMap(({ sql }) => sql).filter((text) => text.includes('create_distributed_table'))
  assert.deepEqual(
    shared.map((text) => /\('"(\w+)"'/.exec(text)?.[1]),
    ['bylaw_tombstones', 'bylaw_keys', 'bylaw_values', 'bylaw_links', 'customers', 'orders', 'slots'],
  )
})

test('a row is found by its shard key, and a child by that of its parent', () => {
  const [orders, slots] = [collections[1], collections[2]].map((one) => statementTexts(one as never, citusDialect))
  assert.equal(orders?.read, 'SELECT revision, shape, doc, hidden FROM "orders" WHERE home = $1 AND id = $2')
  assert.equal(slots?.exists, 'SELECT 1 AS found FROM "slots" WHERE home = $1 AND parent = $2 AND id = $3')
  const read = { do: 'read', collection: 'slots', key: { id: 'a', parent: order, account: null }, time: 1 } as const
  assert.deepEqual(sent(read, () => [{ doc: '{}', shape: 1, revision: 1 }]).sent[0]?.values, [0, order, 'a'])
})

const created = (doc: string) =>
  ({
    do: 'create',
    collection: 'customers',
    key: key(customer),
    parent: null,
    row: { doc, hidden: null, cells: [] },
    time: 5,
    id: 'fresh',
    references: [],
    claim: null,
  }) as const

test('a value is reserved before the row is inserted, and the second one is refused', () => {
  const made = sent(created(email('a@b.c')), () => [{ home: 1 }])
  assert.deepEqual(made.sent.map(shortly), ['INSERT INTO bylaw_values', 'INSERT INTO "customers"'])
  const [home, name, value] = made.sent[0]?.values ?? []
  assert.deepEqual([home, name], [shardKeyOf(value as string), 'unique__customers__by_email'])
  assert.equal(made.sent[1]?.values[0], shardKeyOf(customer as string))
  const second = sent(created(email('a@b.c')), (text) => (text.includes('bylaw_values') ? [] : [{ home: 1 }]))
  assert.deepEqual(second.outcome, { is: 'duplicate', fields: ['email'] })
  assert.equal(second.sent.length, 1)
})

function updated(collection: string, id: string, was: string, is: string): Plan {
  const row = { doc: is, hidden: null, cells: [] }
  const written = { collection, key: key(id), revision: 1, time: 5, row, changedCells: [], references: [] }
  return {
    do: 'decide',
    read: { do: 'read', collection, key: key(id), time: 5 },
    decide: (current) => {
      assert.equal(current.is === 'found' && current.doc, was)
      return { do: 'update', ...written }
    },
  }
}

test('a change updates only the changed reservations', () => {
  const there = (doc: string) => () => [{ doc, hidden: null, shape: 1, revision: 1, home: 1 }]
  const same = sent(updated('customers', customer as string, email('a@b.c'), email('a@b.c')), there(email('a@b.c')))
  assert.deepEqual(same.sent.map(shortly), [
    'SELECT revision, shape, doc, hidden FROM "customers"',
    'UPDATE "customers" SET revision = revision + 1, shape = $1, doc = $2, hidden = $3',
  ])
  assert.equal(same.sent[1]?.autocommit, 'write')
  const moved = sent(updated('customers', customer as string, email('a@b.c'), email('d@e.f')), there(email('a@b.c')))
  assert.deepEqual(moved.sent.slice(1, 3).map(shortly).sort(), ['DELETE FROM bylaw_values', 'INSERT INTO bylaw_values'])
  const turned = sent(
    updated('orders', order as string, orderOf(customer as string), orderOf(other as string)),
    there(orderOf(customer as string)),
  )
  assert.deepEqual(
    turned.sent.slice(1, 3).map(({ text, values }) => [shortly({ text, values }), values[0], values[1]]),
    [
      ['DELETE FROM bylaw_links', shardKeyOf(customer as string), `customers/${customer}`],
      ['INSERT INTO bylaw_links', shardKeyOf(other as string), `customers/${other}`],
    ],
  )
})

test('inserting a link again refreshes its time, as old links are not pending', () => {
  const { sent: all } = sent(
    { ...created(orderOf(customer as string)), collection: 'orders', key: key(order as string) },
    () => [{ home: 1 }],
  )
  const [link, row] = all
  assert.match(link?.text ?? '', /^INSERT INTO bylaw_links .* DO UPDATE SET time = excluded\.time RETURNING home$/s)
  assert.deepEqual(link?.values.slice(1), [`customers/${customer}`, 'orders', JSON.stringify([null, null, order]), 5])
  assert.match(row?.text ?? '', /^INSERT INTO "orders"/)
})

test('a pending value cannot be released yet', () => {
  const plan = updated('customers', customer as string, email('a@b.c'), email('d@e.f'))
  const late = sent(plan, (text) =>
    text.startsWith('DELETE') ? [] : [{ doc: email('a@b.c'), hidden: null, shape: 1, revision: 1, home: 1 }],
  )
  assert.equal(late.outcome, 'moved')
})

const removal = (): Plan => ({
  do: 'decide',
  read: { do: 'read', collection: 'customers', key: key(customer as string), time: 5 },
  decide: () => ({
    do: 'remove',
    collection: 'customers',
    key: key(customer as string),
    revision: 1,
    time: 100_000_000,
    takes: new Set(),
  }),
})

/** The rows that the database returns while a customer is deleted: a link from an order, the order, and its tombstone. */
const deleting = (there: ResultRow | null, stone: ResultRow | null, time: number) => (text: string) => {
  if (text.includes('FROM bylaw_links') && text.startsWith('SELECT'))
    return [{ holder: JSON.stringify([null, null, order]), time }]
  if (text.includes('FROM "orders"')) return there ? [there] : []
  if (text.includes('FROM bylaw_tombstones') && text.startsWith('SELECT')) return stone ? [stone] : []
  return [{ doc: email('a@b.c'), hidden: null, shape: 1, revision: 1, home: 1 }]
}

test('a row cannot be deleted while links to it exist', () => {
  const found = (id: string) => ({ doc: orderOf(id), hidden: null, shape: 1, revision: 1 })
  const outcome = (...how: Parameters<typeof deleting>) => sent(removal(), deleting(...how)).outcome
  const now = 99_999_999
  assert.deepEqual(outcome(found(customer as string), null, now), { is: 'used', collection: 'orders' })
  assert.deepEqual(outcome(found(other as string), null, now), { is: 'removed' }, 'it refers to another one now')
  assert.equal(outcome(null, null, now), 'moved', 'it is on its way')
  assert.deepEqual(outcome(null, { time: 1, revision: 2 }, now), { is: 'removed' }, 'it was deleted')
  assert.deepEqual(outcome(null, null, 1), { is: 'removed' }, 'nothing is on its way for a day')
})

test('a deleted row deletes its reservations and links', () => {
  const { sent: all } = sent(removal(), deleting(null, { time: 1, revision: 2 }, 1))
  const deeds = all.map(shortly)
  assert.ok(deeds.indexOf('DELETE FROM "customers"') < deeds.indexOf('DELETE FROM bylaw_values'))
  assert.ok(deeds.includes('DELETE FROM bylaw_links'))
  assert.ok(deeds.indexOf('DELETE FROM bylaw_values') < deeds.indexOf('INSERT INTO bylaw_tombstones'))
})
