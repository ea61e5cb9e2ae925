/** Counts the statements of embedded rows, and proves from the plans of both databases that indexes bound what they read. The store. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { storeContext } from '../../src/catalog/context.ts'
import { type ResultRow, runStepsAsync } from '../../src/catalog/steps.ts'
import type { Call } from '../../src/flow/call.ts'
import { nobody } from '../../src/flow/caller.ts'
import type { Plan } from '../../src/flow/plan.ts'
import type { Route } from '../../src/flow/route.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { type Dialect, postgresDialect, sqliteDialect } from '../../src/sql/dialect.ts'
import type { Statement } from '../../src/sql/statements.ts'
import { perform } from '../../src/store/perform.ts'
import { openStore } from '../../src/terminal/open.ts'
import { connected, freshPostgres } from '../help/postgres.ts'
import { testWorld } from '../help/world.ts'

/** Orders with a customer and lines; the lines of one order are very many. */
function shopOf(owned: boolean): Service {
  const owner = owned ? { owner: 'accountId' } : {}
  return service({
    name: 'shop',
    resources: {
      customers: { prefix: 'cus', ...owner, fields: { name: f.text() }, access: 'authenticated' },
      orders: {
        prefix: 'ord',
        ...owner,
        fields: { customerId: f.ref('customers', { optional: true }) },
        access: 'authenticated',
        embed: ['customer', 'orderLines.product', 'slots'],
      },
      'order-lines': {
        prefix: 'lin',
        parent: 'orders',
        fields: { quantity: f.integer({ optional: true, sort: true }), productId: f.ref('products') },
        order: ['-quantity'],
        access: 'authenticated',
        settings: { list: { pageSize: 5 } },
      },
      slots: { parent: 'orders', key: 'number', fields: { number: f.integer({ min: 0 }) }, access: 'authenticated' },
      products: { prefix: 'prd', ...owner, fields: { name: f.text() }, access: 'authenticated' },
    },
    settings: { list: { pageSize: 50, pagination: { totals: 'off' } } },
  }) as unknown as Service
}

const [orders, lines, others] = [60, 20_000, 40_000]

/** The rows as INSERT statements, with a series of numbers as `n`. */
function fill(owned: boolean, series: (from: number, to: number) => string): string[] {
  const [account, a] = owned ? ['account, ', "'a', "] : ['', '']
  const into = (table: string, columns: string, values: string, count: number) =>
    `INSERT INTO ${table} (${account}${columns}, revision, shape, doc) SELECT ${a}${values}, 1, 1, ${document(table)} FROM ${series(1, count)}`
  const document = (table: string) => {
    const refs = { orders: `"customerId":"cus_' || n || '"`, order_lines: `"orderId":"ord_1","productId":"prd_1"` }
    return `'{"id":"' || ${keys[table]} || '",${refs[table as keyof typeof refs] ?? '"name":"x"'}}'`
  }
  const keys: Record<string, string> = {
    customers: `'cus_' || n`,
    products: `'prd_' || n`,
    orders: `'ord_' || n`,
    order_lines: `'lin_' || n`,
    slots: 'n',
  }
  const many = `CASE WHEN n > 300 THEN 'ord_1' ELSE 'ord_' || (1 + n % ${orders}) END`
  return [
    into('customers', 'id', keys.customers as string, others),
    into('products', 'id', keys.products as string, others),
    into('orders', 'id, "by_customerId"', `${keys.orders}, 'cus_' || n`, orders),
    into(
      'order_lines',
      'id, "by_orderId", "by_quantity", "by_productId"',
      `${keys.order_lines}, ${many}, CASE WHEN n % 3 = 0 THEN NULL ELSE n END, 'prd_' || n % ${others}`,
      lines,
    ),
    into('slots', 'parent, id', `${many}, CAST(n AS TEXT)`, lines),
  ]
}

/** The plan of a request, as its route makes it. */
function planOf(shop: Service, target: string): Plan {
  const route = shop.places.find(({ template }) => template === '/orders')?.methods.get('GET') as Route
  const world = serviceWorld(testWorld(), { clock: trustedClock(() => 0), secret: 's' })
  const call = { method: 'GET', target, headers: {} } as Call
  const carried = { label: 'v1', prefix: '', query: '', inPath: 0 } as never
  const caller = { ...nobody, id: 'ann', account: 'a' }
  const asked = { call, caller, carried, params: [], query: route.query(call, world, carried), body: null, world }
  return route.plan(route.parse(asked))
}

/** The statements of a plan, which `run` carries out. */
async function statementsOf(
  shop: Service,
  dialect: Dialect,
  target: string,
  run: (statement: Statement) => Promise<readonly ResultRow[]>,
): Promise<Statement[]> {
  const collections = [...shop.resources.values()].map(({ collection }) => collection)
  const layout = changeBetween(null, collections, dialect).after
  const all: Statement[] = []
  await runStepsAsync(
    perform(storeContext(collections, { layout, former: null }, dialect), planOf(shop, target)),
    (one) => {
      all.push(one)
      return run(one)
    },
  )
  return all
}

const counts: [embed: string, statements: number][] = [
  ['customer', 1],
  ['customer,slots', 2],
  ['orderLines', 1],
  ['customer,orderLines.product,slots', 4],
]

for (const owned of [false, true]) {
  const whose = owned ? 'rows of accounts' : 'rows of all'
  const shop = shopOf(owned)

  test(`R232: SQLite reads ${whose} with one statement a name, by indexes`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'embed-'))
    const url = join(folder, 'shop.db')
    await (await openStore(shop, `sqlite:${url}`, 'apply')).close()
    const db = new DatabaseSync(url)
    const numbers = (from: number, to: number) =>
      `(WITH RECURSIVE s (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM s WHERE n < ${to}) SELECT n FROM s)`
    for (const text of fill(owned, numbers)) db.exec(text)
    const run = async ({ text, values }: Statement) => db.prepare(text).all(...(values as never[])) as never
    for (const [embed, count] of counts) {
      for (const size of [2, 50]) {
        const all = await statementsOf(shop, sqliteDialect, `/orders?page_size=${size}&embed=${embed}`, run)
        const plain = await statementsOf(shop, sqliteDialect, `/orders?page_size=${size}`, run)
        assert.equal(
          all.length,
          plain.length + count,
          `${embed} of ${size}:\n${all.map(({ text }) => text).join('\n')}`,
        )
        for (const { text, values } of all.slice(plain.length)) {
          const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as never[]))
          const steps = plan.map(({ detail }) => String(detail))
          const scans = steps.filter((one) => /^SCAN (?!.*VIRTUAL TABLE|\(|range)/.test(one))
          assert.deepEqual(scans, [], `${text}\n${steps.join('\n')}`)
          const sorts = steps.filter((one) => /USE TEMP B-TREE/.test(one))
          assert.ok(sorts.length <= 1, `only the rows that were found are sorted: ${text}\n${steps.join('\n')}`)
        }
      }
    }
    db.close()
    rmSync(folder, { recursive: true })
  })

  test(`R232: PostgreSQL reads ${whose} with one statement a name, and few more than it answers`, async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    await (await openStore(shop, url, 'apply')).close()
    const client = await connected(t, url)
    for (const text of fill(owned, (from, to) => `generate_series(${from}, ${to}) AS n`)) await client.query(text)
    await client.query('ANALYZE')
    const run = async ({ text, values }: Statement) => (await client.query(text, [...values])).rows
    for (const [embed, count] of counts) {
      for (const size of [2, 50]) {
        const all = await statementsOf(shop, postgresDialect, `/orders?page_size=${size}&embed=${embed}`, run)
        const plain = await statementsOf(shop, postgresDialect, `/orders?page_size=${size}`, run)
        assert.equal(
          all.length,
          plain.length + count,
          `${embed} of ${size}:\n${all.map(({ text }) => text).join('\n')}`,
        )
        for (const { text, values } of all.slice(plain.length)) {
          const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values])
          const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan)
          const read = nodes.filter((one) => one['Relation Name'] !== undefined).map(rowsReadBy)
          const says = `${embed} of ${size}: ${read}\n${text}\n${JSON.stringify(rows, null, 1)}`
          assert.ok(!nodes.some((one) => one['Node Type'] === 'Seq Scan'), says)
          assert.ok(read.reduce((sum, one) => sum + one, 0) <= 2 * size * 21, says)
        }
      }
    }
  })
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Actual Loops': number
  readonly Plans?: readonly PlanNode[]
}
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]
const rowsReadBy = (node: PlanNode): number =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
