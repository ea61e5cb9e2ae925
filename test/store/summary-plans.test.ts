/** Proves from EXPLAIN on both databases that a summary reads only the index that `bylaw check` advises. The store. R236. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import type pg from 'pg'
import { storeContext } from '../../src/catalog/context.ts'
import type { ListRows } from '../../src/flow/plan.ts'
import { indexAdvice } from '../../src/lists/index-advice.ts'
import { listRules } from '../../src/lists/list-rules.ts'
import { summaryQueryReader } from '../../src/lists/summary-query.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { citusDialect, type Dialect, postgresDialect, sqliteDialect } from '../../src/sql/dialect.ts'
import type { Statement } from '../../src/sql/statements.ts'
import { perform } from '../../src/store/perform.ts'
import { summaryColumns } from '../../src/summaries/summary-columns.ts'
import { openStore } from '../../src/terminal/open.ts'
import { freshFile } from '../help/file.ts'
import { connected, freshPostgres } from '../help/postgres.ts'

const shop = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: {
        status: f.enum(['new', 'paid', 'lost'], { filter: true }),
        total: f.decimal({ scale: 2 }),
        note: f.text(),
      },
      summaries: { byStatus: { group: ['status', { month: 'createdAt' }], sum: ['total'], max: ['total'] } },
      indexes: [['status', 'createdAt', 'total']],
      access: 'authenticated',
    },
    payments: {
      prefix: 'pay',
      fields: { amount: f.integer({ filter: 'range' }), note: f.text() },
      summaries: { byMonth: { group: [{ month: 'createdAt' }], sum: ['amount'] } },
      indexes: [['createdAt', 'amount']],
      access: 'public',
    },
  },
})
const orders = shop.resources.get('orders') as Resource
const collections = [...shop.resources.values()].map(({ collection }) => collection)

type Answer = (statement: Statement) => readonly Readonly<Record<string, unknown>>[]

/** The statement that reads a summary with filters; those before it are answered by `answer`. */
function summaryStatement(dialect: Dialect, target: string, answer: Answer = () => []): Statement {
  const layout = changeBetween(null, collections, dialect).after
  const context = storeContext(collections, { layout, former: null }, dialect)
  const resource = shop.resources.get(target.split('/')[1] as string) as Resource
  const columns = summaryColumns(resource, resource.summaries[0] as Resource['summaries'][number])
  const { where, order, window, prepared } = summaryQueryReader(
    listRules(resource, shop.resources),
    columns.order,
    1000,
  )(target)
  const list: ListRows = {
    ...{ do: 'list', collection: resource.collection.name, parent: null, account: 'a', time: 0, where, order, window },
    ...{ prepared, countTo: null, withPositions: false, summary: columns.summary },
  }
  const steps = perform(context, list)
  let statement = steps.next().value as Statement
  while (!statement.text.includes('AS total')) statement = steps.next(answer(statement)).value as Statement
  return statement
}

const targets = [
  '/orders/summaries/by-status',
  '/orders/summaries/by-status?status=paid&createdAt[gte]=2026-01-01T00:00:00Z',
]
const columns = 'account, id, revision, shape, doc, "by_status", "by_total", "by_createdAt", "by_updatedAt"'
const status = (n: string) => `CASE ${n} % 3 WHEN 0 THEN 'new' WHEN 1 THEN 'paid' ELSE 'lost' END`

/** Vacuums until all pages are visible to all, which an older transaction of another test puts off. */
async function vacuumed(client: pg.Client): Promise<void> {
  const pages = "SELECT relpages > relallvisible AS hidden FROM pg_class WHERE oid = 'orders'::regclass"
  const until = performance.now() + 30_000
  do await client.query('VACUUM ANALYZE orders')
  while ((await client.query(pages)).rows[0].hidden && performance.now() < until)
}

test('R236: the advice is satisfied', () => assert.deepEqual(indexAdvice(orders), []))

test('R236: SQLite reads a summary from its index alone', async (t) => {
  const file = freshFile(t)
  await (await openStore(shop, `sqlite:${file}`, 'apply')).close()
  const db = new DatabaseSync(file)
  db.exec(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000)
    INSERT INTO orders (${columns}) SELECT 'a', 'ord_' || n, 1, 1, printf('{"note":"%s"}', hex(zeroblob(200))), ${status('n')}, n,
      '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM numbers; ANALYZE`)
  for (const target of targets) {
    const { text, values } = summaryStatement(sqliteDialect, target)
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as string[]))
    assert.match(JSON.stringify(plan), /USING COVERING INDEX index__orders__account__by_status__by_createdAt__by_total/)
  }
  db.close()
})

test('R236: SQLite reads the index of a range only if few rows are in the range', async (t) => {
  const file = freshFile(t)
  await (await openStore(shop, `sqlite:${file}`, 'apply')).close()
  const db = new DatabaseSync(file)
  const at = "'2026-01-01T00:00:00.000Z'"
  db.exec(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000)
    INSERT INTO payments (id, revision, shape, doc, "by_amount", "by_createdAt", "by_updatedAt")
      SELECT 'pay_' || n, 1, 1, printf('{"note":"%s"}', hex(zeroblob(200))), n, ${at}, ${at} FROM numbers`)
  const planOf = (query: string) => {
    const { text, values } = summaryStatement(
      sqliteDialect,
      `/payments/summaries/by-month?${query}`,
      (one) => db.prepare(one.text).all(...(one.values as number[])) as never,
    )
    return JSON.stringify(db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as number[])))
  }
  const whole = /SCAN payments USING COVERING INDEX index__payments__by_createdAt__by_amount/
  for (const query of ['amount[gte]=2', 'amount[gte]=1800', 'amount[lte]=1500', 'amount[gte]=10&amount[lte]=1900'])
    assert.match(planOf(query), whole, query)
  for (const query of ['amount[gte]=1950', 'amount[lte]=50', 'amount[gte]=100&amount[lte]=150', 'amount[gte]=3000'])
    assert.match(planOf(query), /SEARCH payments USING INDEX index__payments__by_amount/, query)
  db.close()
})

test('R236: PostgreSQL reads a summary from its index alone', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  await (await openStore(shop, url, 'apply')).close()
  const client = await connected(t, url)
  await client.query(`INSERT INTO orders (${columns}) SELECT 'a', 'ord_' || n, 1, 1, '{"note":"' || repeat('x', 1200) || '"}',
    ${status('n')}, n, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM generate_series(1, 20000) AS n`)
  await client.query('CHECKPOINT') // the tests commit asynchronously, and rows of a commit that is not flushed are not visible to all
  await vacuumed(client)
  for (const target of targets) {
    const { text, values } = summaryStatement(postgresDialect, target)
    const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${text}`, [...values])
    const plan = JSON.stringify(rows)
    assert.match(plan, /Index Only Scan/, plan)
    assert.match(plan, /index__orders__account__by_status__by_createdAt__by_total/, plan)
    assert.doesNotMatch(plan, /Seq Scan/, plan)
  }
})

test('R236: on Citus a summary is one statement without subqueries, which each shard answers for itself', () => {
  const { text } = summaryStatement(citusDialect, targets[0] as string)
  assert.equal(text.match(/SELECT/g)?.length, 1, text)
  assert.match(text, /GROUP BY "by_status", substr\("by_createdAt", 1, 7\) LIMIT 1001$/)
})
