/** Tests the statements that plans compile to, and how SQLite runs the frequent ones. The store. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { standardKinds } from '../fields/kinds.ts'
import type { Condition, ListRows, Term } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import type { DeclarationContext } from '../resources/declaration.ts'
import { makeResource } from '../resources/resource.ts'
import { type Collection, indexesOf } from '../rows/collection.ts'
import { changeBetween } from '../schema/schema-change.ts'
import { readSettings } from '../settings.ts'
import { type Dialect, postgresDialect, rowKeyValues, sqliteDialect } from './dialect.ts'
import { countStatement, listStatement } from './list-statements.ts'
import { allRanges } from './ranges.ts'
import { type Statement, statementTexts, tombstoneId, updateText } from './statements.ts'

const { resources } = service({
  name: 'statements',
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        name: f.text({ filter: 'like', sort: true }),
        total: f.decimal({ scale: 2, filter: 'range', sort: true }),
        dueOn: f.date({ optional: true, sort: true }),
        code: f.text({ unique: true }),
      },
      access: 'public',
    },
    slots: { parent: 'orders', key: 'number', fields: { number: f.text() }, access: 'public' },
  },
})
const collections = [...resources.values()].map(({ collection }) => collection)
const [orders, slots] = collections as [Collection, Collection]
const dialects: readonly Dialect[] = [sqliteDialect]

const context = {
  resources: {
    carts: {
      fields: { code: f.text({ unique: true }), rank: f.integer({ sort: true }) },
      owner: 'accountId',
      access: 'authenticated',
      order: ['-rank'],
    },
    lines: { fields: { cartId: f.ref('carts') }, parent: 'carts', key: 'number', access: 'authenticated' },
  },
  concepts: {},
  settings: readSettings(undefined, undefined, false, () => {}),
  kinds: standardKinds,
} as unknown as DeclarationContext
const [carts, lines] = Object.entries(context.resources).map(
  ([name, one]) => makeResource(name, one, context).collection,
) as [Collection, Collection]

/** Compares one text per dialect, in the order of `dialects`. */
function shown(text: (dialect: Dialect) => string, ...expected: readonly string[]): void {
  assert.deepEqual(dialects.map(text), expected)
}

test('items', () => {
  const of = (collection: Collection, name: keyof ReturnType<typeof statementTexts>) => (dialect: Dialect) =>
    statementTexts(collection, dialect)[name]
  shown(of(orders, 'read'), 'SELECT revision, shape, doc, hidden FROM "orders" WHERE id = ?1')
  shown(of(slots, 'read'), 'SELECT revision, shape, doc, hidden FROM "slots" WHERE parent = ?1 AND id = ?2')
  shown(of(orders, 'exists'), 'SELECT 1 AS found FROM "orders" WHERE id = ?1')
  shown(
    of(orders, 'insert'),
    'INSERT INTO "orders" (id, revision, shape, doc, hidden, "by_name", "by_total", "by_dueOn", "by_code", "by_createdAt", "by_updatedAt") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)',
  )
  shown(of(slots, 'remove'), 'DELETE FROM "slots" WHERE parent = ?1 AND id = ?2 AND revision = ?3 RETURNING revision')
})

test('a change writes the texts, and the cells that moved', () => {
  shown(
    (dialect) => updateText(orders, [1, 5], dialect),
    'UPDATE "orders" SET revision = revision + 1, shape = ?1, doc = ?2, hidden = ?3, "by_total" = ?4, "by_updatedAt" = ?5 WHERE id = ?6 AND revision = ?7 RETURNING revision',
  )
  shown(
    (dialect) => updateText(slots, [], dialect),
    'UPDATE "slots" SET revision = revision + 1, shape = ?1, doc = ?2, hidden = ?3 WHERE parent = ?4 AND id = ?5 AND revision = ?6 RETURNING revision',
  )
})

test('keys of rows, and keys of deleted rows', () => {
  assert.deepEqual(rowKeyValues(orders, { id: 'a', parent: null, account: null }, sqliteDialect), ['a'])
  assert.deepEqual(rowKeyValues(slots, { id: 'a', parent: 'b', account: null }, sqliteDialect), ['b', 'a'])
  assert.equal(tombstoneId(orders, { id: 'a/b', parent: null, account: null }), 'a/b')
  assert.notEqual(
    tombstoneId(slots, { id: 'b/c', parent: 'a', account: null }),
    tombstoneId(slots, { id: 'c', parent: 'a/b', account: null }),
  )
})

test('the account that rows belong to is a part of every statement and begins every index', () => {
  const of = (collection: Collection, name: keyof ReturnType<typeof statementTexts>) => (dialect: Dialect) =>
    statementTexts(collection, dialect)[name]
  shown(
    of(carts, 'read'),
    'SELECT revision, shape, doc, hidden FROM "carts" INDEXED BY "sqlite_autoindex_carts_1" WHERE account = ?1 AND id = ?2',
  )
  shown(
    of(lines, 'exists'),
    'SELECT 1 AS found FROM "lines" INDEXED BY "sqlite_autoindex_lines_1" WHERE account = ?1 AND parent = ?2 AND id = ?3',
  )
  shown(
    of(carts, 'remove'),
    'DELETE FROM "carts" INDEXED BY "sqlite_autoindex_carts_1" WHERE account = ?1 AND id = ?2 AND revision = ?3 RETURNING revision',
  )
  assert.deepEqual(rowKeyValues(lines, { id: 'a', parent: 'b', account: 'c' }, sqliteDialect), ['c', 'b', 'a'])
  const stones = [
    tombstoneId(lines, { id: 'b/c', parent: 'a', account: 'x' }),
    tombstoneId(lines, { id: 'c', parent: 'a/b', account: 'x' }),
    tombstoneId(lines, { id: 'c', parent: 'b', account: 'x/a' }),
    tombstoneId(carts, { id: 'c', parent: null, account: null }),
    tombstoneId(carts, { id: 'c', parent: null, account: 'null' }),
  ]
  assert.equal(new Set(stones).size, 5)
  const [statement] = listed(
    carts,
    { ...plan([{ column: 'by_code', is: 'eq', value: 'x' }]), account: 'a' },
    sqliteDialect,
  )
  assert.equal(
    statement?.text,
    'SELECT doc, shape FROM "carts" WHERE account = ?1 AND unlikely("by_code" = ?2) ORDER BY "id" LIMIT 0 + 21',
  )
  for (const collection of [carts, lines])
    for (const { columns } of indexesOf(collection)) assert.equal(columns[0], 'account')
  assert.deepEqual(
    carts.uniques.map(({ columns }) => columns),
    [['account', 'by_code'], ['id']],
  )
  assert.match(JSON.stringify(changeBetween(null, [carts], sqliteDialect).steps), /account AS .{2,3}accountId/)
})

const id: Term = { column: 'id', descending: false, nulls: 'none' }
const plan = (
  where: readonly Condition[],
  order: readonly Term[] = [id],
  parent: ListRows['parent'] = null,
): ListRows => ({
  do: 'list',
  prepared: new Prepared(),
  collection: 'orders',
  parent,
  account: null,
  time: 0,
  where,
  order,
  window: { from: 'offset', offset: 0, limit: 20 },
  countTo: 100,
  withPositions: false,
})

/** The statements of a list, one for each key range of its order. */
const listed = (collection: Collection, list: ListRows, dialect: Dialect): Statement[] =>
  allRanges(list.order).map((range) => listStatement(collection, list, range, { offset: 0, limit: 21 }, dialect))

test('conditions', () => {
  const table: readonly (readonly [Condition, values: unknown[], ...expected: string[]])[] = [
    [{ column: 'by_name', is: 'eq', value: 'a' }, ['a'], '"by_name" = ?1'],
    [{ column: 'by_name', is: 'ne', value: 'a' }, ['a'], '"by_name" <> ?1'],
    [{ column: 'by_total', is: 'gte', value: 100n }, [100n], '"by_total" >= ?1'],
    [{ column: 'by_total', is: 'lt', value: 100n }, [100n], '"by_total" < ?1'],
    [{ column: 'by_name', is: 'in', values: [] }, [], '1 = 0'],
    [{ column: 'by_dueOn', is: 'null' }, [], '"by_dueOn" IS NULL'],
    [{ column: 'by_dueOn', is: 'present' }, [], '"by_dueOn" IS NOT NULL'],
    [{ column: 'by_name', is: 'like', parts: ['', '*_%', ''] }, ['*[*]_%*'], '+"by_name" GLOB ?1'],
    [
      { column: 'by_name', is: 'like', parts: ['ab', ''] },
      ['ab*', 'ab', 'ac'],
      '"by_name" >= ?2 AND "by_name" < ?3 AND +"by_name" GLOB ?1',
    ],
  ]
  for (const [condition, values, ...expected] of table) {
    dialects.forEach((dialect, i) => {
      const [statement] = listed(orders, plan([condition]), dialect)
      assert.equal(statement?.text, `SELECT doc, shape FROM "orders" WHERE ${expected[i]} ORDER BY "id" LIMIT 0 + 21`)
      assert.deepEqual(statement?.values, values)
    })
  }
})

test('a set whose members are each read in index order merges their lists without sorting', () => {
  const set: Condition = { column: 'by_name', is: 'in', values: ['a', 'b', 'a'] }
  const [merged] = listed(orders, plan([set]), sqliteDialect)
  const one = (n: number) => `SELECT doc, shape, "id" AS sorted0 FROM "orders" WHERE "by_name" = ?${n}`
  const merge = (text: string) => `SELECT doc, shape FROM (${text} ORDER BY sorted0 LIMIT 0 + 21) AS merged`
  assert.equal(merged?.text, merge(`${one(1)} UNION ALL ${one(2)}`))
  assert.deepEqual(merged?.values, ['a', 'b'])
  const part = (n: number) =>
    `(SELECT doc, shape, "id" AS sorted0 FROM "orders" WHERE "by_name" = $${n} ORDER BY "id" LIMIT 0 + 21)`
  const [cut] = listed(orders, plan([set]), postgresDialect)
  assert.equal(cut?.text, merge(`${part(1)} UNION ALL ${part(2)}`))
  const total: Term = { column: 'by_total', descending: true, nulls: 'none' }
  const others: readonly (readonly [Condition[], Term[]])[] = [
    [[set], [total, id]], // no index begins with both
    [[set, { column: 'by_code', is: 'in', values: ['x', 'y'] }], [id]],
    [[{ column: 'by_name', is: 'in', values: Array.from({ length: 17 }, (_, i) => `${i}`) }], [id]],
  ]
  for (const [where, order] of others)
    assert.match(listed(orders, plan(where, order), sqliteDialect)[0]?.text ?? '', /"by_name" IN \(\?1, \?2/)
  const db = new DatabaseSync(':memory:')
  for (const { sql } of changeBetween(null, collections, sqliteDialect).steps) for (const text of sql) db.exec(text)
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${merged?.text}`).all('a', 'b')
  assert.match(JSON.stringify(steps), /MERGE/)
  assert.doesNotMatch(JSON.stringify(steps), /TEMP B-TREE|SCAN (?!merged)/)
})

test('on PostgreSQL skipped rows are read by their keys only', () => {
  const total: Term = { column: 'by_total', descending: true, nulls: 'none' }
  const far = (collection: Collection, order: readonly Term[], parent: ListRows['parent'] = null) =>
    allRanges(order).map((range) =>
      listStatement(collection, plan([], order, parent), range, { offset: 40, limit: 21 }, postgresDialect),
    )
  const [first] = far(orders, [total, id])
  const keys = 'SELECT id AS key0 FROM "orders" ORDER BY "by_total" DESC, "id" LIMIT 0 + 21 OFFSET $1'
  const fetched = 'JOIN "orders" AS own ON own.id = key0 ORDER BY "by_total" DESC, "id"'
  assert.deepEqual(first, { text: `SELECT doc, shape FROM (${keys}) AS place ${fetched}`, values: [40] })
  const [below] = far(slots, [id], { collection: 'orders', id: 'o' })
  assert.match(
    below?.text ?? '',
    /^SELECT doc, shape FROM \(SELECT parent AS key0, id AS key1 FROM "slots" WHERE "parent" = \$1 /,
  )
  assert.match(below?.text ?? '', /ON own\.parent = key0 AND own\.id = key1 ORDER BY "id"$/)
})

test('an order whose first term may be null is read in two ranges', () => {
  const list = plan(
    [],
    [
      { column: 'by_dueOn', descending: true, nulls: 'last' },
      { ...id, descending: true },
    ],
  )
  const of = (i: number) => (dialect: Dialect) => listed(orders, list, dialect)[i]?.text ?? ''
  shown(
    of(0),
    'SELECT doc, shape FROM "orders" WHERE "by_dueOn" IS NOT NULL ORDER BY "by_dueOn" DESC, "id" DESC LIMIT 0 + 21',
  )
  shown(of(1), 'SELECT doc, shape FROM "orders" WHERE "by_dueOn" IS NULL ORDER BY "id" DESC LIMIT 0 + 21')
})

test('a count stops at its limit', () => {
  const list = plan([{ column: 'by_name', is: 'eq', value: 'a' }])
  shown(
    (dialect) => countStatement(orders, list, null, 101, dialect).text,
    'SELECT count(*) AS total FROM (SELECT 1 FROM "orders" WHERE "by_name" = ?1 LIMIT ?2) AS matching',
  )
})

test('SQLite finds items by the primary key and pages by an index, without sorting', () => {
  const db = new DatabaseSync(':memory:')
  for (const { sql } of changeBetween(null, collections, sqliteDialect).steps) for (const text of sql) db.exec(text)
  const way = ({ text, values }: Statement) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all(...values)
      .map(({ detail }) => String(detail).replace(/INDEX sqlite_autoindex_\w+_1/, 'PRIMARY KEY'))
  const [order, slot] = [statementTexts(orders, sqliteDialect), statementTexts(slots, sqliteDialect)]
  assert.deepEqual(way({ text: order.read, values: ['a'] }), ['SEARCH orders USING PRIMARY KEY (id=?)'])
  assert.deepEqual(way({ text: slot.read, values: ['a', 'b'] }), ['SEARCH slots USING PRIMARY KEY (parent=? AND id=?)'])
  const update = { text: updateText(orders, [5], sqliteDialect), values: [1, '', null, '', 'a', 1] }
  assert.deepEqual(way(update), ['SEARCH orders USING PRIMARY KEY (id=?)'])
  const lists: readonly (readonly [ListRows, RegExp])[] = [
    [plan([]), /^SCAN orders USING PRIMARY KEY$/],
    [
      plan([{ column: 'by_name', is: 'eq', value: 'a' }]),
      /USING (COVERING )?INDEX index__orders__by_name \(by_name=\?\)/,
    ],
    [
      plan(
        [],
        [
          { column: 'by_total', descending: true, nulls: 'none' },
          { ...id, descending: true },
        ],
      ),
      /USING INDEX index__orders__by_total/,
    ],
    [plan([], [{ column: 'by_dueOn', descending: false, nulls: 'last' }, id]), /USING INDEX index__orders__by_dueOn/],
  ]
  for (const [list, expected] of lists)
    for (const statement of listed(orders, list, sqliteDialect)) {
      const steps = way(statement)
      assert.match(String(steps[0]), expected)
      assert.equal(steps.length, 1, steps.join())
    }
  db.close()
})
