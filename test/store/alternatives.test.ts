/** Proves from EXPLAIN ANALYZE on PostgreSQL that a page of alternatives reads few rows, at any depth. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { storeContext } from '../../src/catalog/context.ts'
import type { ListRows, Window } from '../../src/flow/plan.ts'
import { Prepared } from '../../src/flow/prepared.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { readListQuery } from '../../src/lists/list-query.ts'
import { listRules } from '../../src/lists/list-rules.ts'
import { parsePairs } from '../../src/lists/query-string.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { postgresDialect } from '../../src/sql/dialect.ts'
import type { Statement } from '../../src/sql/statements.ts'
import { perform } from '../../src/store/perform.ts'
import { openStore } from '../../src/terminal/open.ts'
import { connected, freshPostgres } from '../help/postgres.ts'
import { testWorld } from '../help/world.ts'

const shop = service({
  name: 'shop',
  settings: { list: { or: true } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        status: f.enum(['new', 'paid', 'lost'], { filter: true }),
        total: f.integer({ filter: 'range', sort: true }),
      },
      indexes: [['status', 'total']],
      access: 'public',
    },
  },
})
const rows = 20_000
const size = 20
const own = listRules(shop.resources.get('orders') as Resource, shop.resources)
const collections = [...shop.resources.values()].map(({ collection }) => collection)
const context = storeContext(
  collections,
  { layout: changeBetween(null, collections, postgresDialect).after, former: null },
  postgresDialect,
)
const world = serviceWorld(testWorld(), { clock: trustedClock(() => 0), secret: 's' })

/** The first statement of a page. */
function pageStatement(text: string, total: number | null): Statement {
  const { where, order } = readListQuery(parsePairs(text), own, 'orders', world)
  const position = order.map(({ column }) => (column === 'id' ? 'm' : BigInt(total ?? 0)))
  const window: Window =
    total === null
      ? { from: 'offset', offset: 0, limit: size }
      : { from: 'place', position, back: false, including: false, limit: size }
  const list: ListRows = {
    ...{ do: 'list', collection: 'orders', parent: null, account: null, time: 0, where, order, window },
    ...{ prepared: new Prepared(), countTo: null, withPositions: false },
  }
  const { value } = perform(context, list).next()
  return value as Statement
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Actual Loops': number
  readonly Plans?: readonly PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

test('R234: a page of alternatives reads few rows more than it has, at any depth', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  await (await openStore(shop, url, 'apply')).close()
  const client = await connected(t, url)
  await client.query(`INSERT INTO orders (id, revision, shape, doc, by_status, by_total)
    SELECT 'ord_' || n, 1, 1, '{}', (ARRAY['new', 'paid', 'lost'])[1 + n % 3], n FROM generate_series(1, ${rows}) AS n`)
  await client.query('ANALYZE orders')
  for (const [or, totals] of [
    ['(status=paid;status=lost)', [null, 10, rows / 2]],
    ['(status=paid;total[gte]=15000)', [null, 10, rows / 2, 16_000]],
    ['(total[gte]=0;status=paid)', [null, 10, rows / 2]],
    ['(total[lte]=10;total[gte]=19990)', [null, 5, 11]],
  ] as const) {
    for (const total of totals) {
      const { text, values } = pageStatement(`or=${or}&sort=total`, total)
      const { rows: found } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values])
      const nodes = nodesOf(found[0]['QUERY PLAN'][0].Plan)
      const scans = nodes.filter((node) => node['Node Type'].includes('Scan') && !node.Plans)
      const read = scans.map(
        (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      )
      const says = `${or} ${total}: ${read}\n${text}\n${JSON.stringify(found, null, 1)}`
      assert.ok(!nodes.some((node) => node['Node Type'] === 'Seq Scan'), says)
      // The planner may take the index of the sort alone where a third of the rows match, which reads three times as many.
      assert.ok(read.reduce((sum, one) => sum + one, 0) <= 12 * (size + 1), says)
    }
  }
})
