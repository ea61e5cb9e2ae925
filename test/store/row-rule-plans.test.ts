/** Proves from the plans of both databases that a list of the rows of a rule reads few rows more than it has. The store. R170. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { caller, f, service } from 'bylaw'
import { storeContext } from '../../src/catalog/context.ts'
import { callerOf } from '../../src/flow/credential.ts'
import type { ListRows } from '../../src/flow/plan.ts'
import { Prepared } from '../../src/flow/prepared.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { indexAdvice } from '../../src/lists/index-advice.ts'
import { readListQuery } from '../../src/lists/list-query.ts'
import { listRules } from '../../src/lists/list-rules.ts'
import { parsePairs } from '../../src/lists/query-string.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { visibleRows } from '../../src/rules/row-rules.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { type Dialect, postgresDialect, sqliteDialect } from '../../src/sql/dialect.ts'
import type { Statement } from '../../src/sql/statements.ts'
import { perform } from '../../src/store/perform.ts'
import { openStore } from '../../src/terminal/open.ts'
import { freshFile } from '../help/file.ts'
import { connected, freshPostgres } from '../help/postgres.ts'
import { testWorld } from '../help/world.ts'

const desk = service({
  name: 'desk',
  scopes: { all: 'All orders' },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: { title: f.text({ max: 50, sort: true }), assigneeId: f.text({ max: 50 }), second: f.text({ max: 50 }) },
      indexes: [
        ['assigneeId', 'title'],
        ['second', 'title'],
      ],
      access: {
        read: [{ scope: 'all' }, { where: { assigneeId: caller } }, { where: { second: caller } }],
        write: 'all',
      },
    },
  },
})
const orders = desk.resources.get('orders') as Resource
const collections = [...desk.resources.values()].map(({ collection }) => collection)
const world = serviceWorld(testWorld(), { clock: trustedClock(() => 0), secret: 's' })
const rows = 20_000
const columns = '(account, id, revision, shape, doc, by_title, "by_assigneeId", by_second)'

/** The first statement of a page that the caller reads. */
function pageStatement(dialect: Dialect, text: string): Statement {
  const layout = changeBetween(null, collections, dialect).after
  const context = storeContext(collections, { layout, former: null }, dialect)
  const { where, order } = readListQuery(parsePairs(text), listRules(orders, desk.resources), 'orders', world)
  const ann = callerOf('u7', { account: 'a', scopes: [], tier: null, features: [] })
  const visible = visibleRows(desk.resources, ann)
  assert.ok(visible)
  const list: ListRows = {
    ...{ do: 'list', collection: 'orders', parent: null, account: 'a', time: 0, where, order },
    ...{ window: { from: 'offset', offset: 0, limit: 20 }, prepared: new Prepared(), countTo: null },
    ...{ withPositions: false, rights: { visible, admit: () => {}, admitWritten: () => {} } },
  }
  return perform(context, list).next().value as Statement
}

test('R170: an index has the rows of each alternative in the orders of the list', () => {
  assert.deepEqual(indexAdvice(orders), [])
})

for (const query of ['', 'sort=title', 'sort=title&order=desc']) {
  test(`R170: SQLite finds the rows of a rule by indexes, in the order of the list (${query})`, async (t) => {
    const file = freshFile(t)
    const store = await openStore(desk, `sqlite:${file}`, 'apply')
    t.after(() => store.close())
    const db = new DatabaseSync(file)
    t.after(() => db.close())
    const { text, values } = pageStatement(sqliteDialect, query)
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as string[]))
    const details = plan.map(({ detail }) => String(detail)).join('\n')
    assert.match(details, /by_assigneeId=\?/)
    assert.match(details, /by_second=\?/)
    assert.doesNotMatch(details, /SCAN orders/)
  })

  test(`R170: PostgreSQL reads few rows of a rule (${query})`, async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    await (await openStore(desk, url, 'apply')).close()
    const client = await connected(t, url)
    await client.query(`INSERT INTO orders ${columns}
      SELECT 'a', 'ord_' || n, 1, 1, '{}', 't' || n, 'u' || n % 40, 'u' || n % 39 FROM generate_series(1, ${rows}) AS n`)
    await client.query('ANALYZE orders')
    const { text, values } = pageStatement(postgresDialect, query)
    const { rows: found } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values])
    const read = nodesOf(found[0]['QUERY PLAN'][0].Plan)
      .filter((node) => node['Node Type'].includes('Scan') && !/Subquery|CTE/.test(node['Node Type']))
      .reduce(
        (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        0,
      )
    assert.ok(read > 0 && read <= 200, `${read} rows of ${rows} were read:\n${JSON.stringify(found[0]['QUERY PLAN'])}`)
  })
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Actual Loops': number
  readonly Plans?: readonly PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]
