/** Proves from EXPLAIN on both stores that a search uses the index of words, in every order and on every page. R235. The store. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { storeContext } from '../../src/catalog/context.ts'
import type { ListRows, Window } from '../../src/flow/plan.ts'
import { Prepared } from '../../src/flow/prepared.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { readListQuery } from '../../src/lists/list-query.ts'
import { listRules } from '../../src/lists/list-rules.ts'
import { parsePairs } from '../../src/lists/query-string.ts'
import { encodeRow } from '../../src/resources/document.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { type Dialect, postgresDialect, sqliteDialect } from '../../src/sql/dialect.ts'
import { type Statement, statementTexts } from '../../src/sql/statements.ts'
import { perform } from '../../src/store/perform.ts'
import { openStore } from '../../src/terminal/open.ts'
import { freshFile } from '../help/file.ts'
import { connected, freshPostgres } from '../help/postgres.ts'
import { testWorld } from '../help/world.ts'

const shop = service({
  name: 'shop',
  resources: {
    books: {
      prefix: 'bok',
      owner: 'accountId',
      fields: {
        title: f.text({ max: 200, search: true }),
        note: f.text({ max: 200, optional: true, search: true }),
        year: f.integer({ sort: true, filter: 'range' }),
      },
      access: 'authenticated',
    },
  },
})
const rows = 3000
const books = shop.resources.get('books') as Resource
const rules = listRules(books, shop.resources)
const collections = [books.collection]
const world = serviceWorld(testWorld(), { clock: trustedClock(() => 0), secret: 's' })

/** The statement of a page; of one at a position if `after` is set. */
function pageStatement(text: string, after: boolean, dialect: Dialect): Statement {
  const layout = changeBetween(null, collections, dialect).after
  const context = storeContext(collections, { layout, former: null }, dialect)
  const { where, order } = readListQuery(parsePairs(text), rules, 'books', world)
  const position = order.map(({ column }) => (column === 'id' ? 'm' : 5n))
  const window: Window = after
    ? { from: 'place', position, back: false, including: false, limit: 20 }
    : { from: 'offset', offset: 0, limit: 20 }
  const list: ListRows = {
    ...{ do: 'list', collection: 'books', parent: null, account: 'a', time: 0, where, order, window },
    ...{ prepared: new Prepared(), countTo: 100, withPositions: true },
  }
  return perform(context, list).next().value as Statement
}

const queries = [
  'search=word777',
  'search=word777%20even',
  'search=word777&sort=year',
  'search=word777&year[gte]=0&sort=year&order=desc',
]
const pages = queries.flatMap((query) => [false, true].map((after) => [query, after] as const))

/** The values of the statement that inserts a row. The rows of the other account all have the word that is searched. */
function rowValues(i: number) {
  const at = '2026-01-01T00:00:00.000Z'
  const id = `bok_${String(i).padStart(26, '0')}`
  const other = i % 3 === 1
  const title = `Word${other ? 777 : i} ${i % 2 ? 'odd' : 'even'}`
  const { doc, hidden, cells } = encodeRow(books, {
    id,
    title,
    note: null,
    year: i % 100,
    createdAt: at,
    updatedAt: at,
  })
  return [other ? 'b' : 'a', id, 1, 1, doc, hidden, ...cells]
}

test('R235: SQLite reads the rows of a search by its index', async (t) => {
  const file = freshFile(t)
  await (await openStore(shop, `sqlite:${file}`, 'apply')).close()
  const db = new DatabaseSync(file)
  t.after(() => db.close())
  const insert = db.prepare(statementTexts(books.collection, sqliteDialect).insert)
  db.exec('BEGIN')
  for (let i = 0; i < rows; i++) insert.run(...(rowValues(i) as string[]))
  db.exec('COMMIT')
  for (const [query, after] of pages) {
    const { text, values } = pageStatement(query, after, sqliteDialect)
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as string[]))
    const steps = plan.map(({ detail }) => String(detail))
    const says = `${query} ${after}: ${text}\n${steps.join('\n')}`
    assert.ok(
      steps.some((step) => /^SCAN search__books\S* VIRTUAL TABLE INDEX \d+:M/.test(step)),
      says,
    )
    assert.ok(steps.includes('SEARCH books USING INTEGER PRIMARY KEY (rowid=?)'), says)
    assert.ok(!steps.some((step) => /^SCAN books/.test(step)), says)
  }
})

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly Plans?: readonly PlanNode[]
}
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

test('R235: PostgreSQL reads the rows of a search by its index', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  await (await openStore(shop, url, 'apply')).close()
  const client = await connected(t, url)
  const { insert } = statementTexts(books.collection, postgresDialect)
  await client.query('BEGIN')
  for (let i = 0; i < rows; i++) await client.query({ name: 'insert', text: insert, values: rowValues(i) })
  await client.query('COMMIT')
  await client.query('VACUUM ANALYZE books')
  for (const [query, after] of pages) {
    const { text, values } = pageStatement(query, after, postgresDialect)
    const { rows: found } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values])
    const nodes = nodesOf(found[0]['QUERY PLAN'][0].Plan)
    const says = `${query} ${after}: ${text}\n${JSON.stringify(found, null, 1)}`
    const scan = nodes.find((node) => node['Index Name']?.startsWith('search__books'))
    assert.equal(scan?.['Node Type'], 'Bitmap Index Scan', says)
    assert.ok(scan['Actual Rows'] <= 2, `it reads words of other accounts: ${says}`)
    assert.ok(!nodes.some((node) => node['Node Type'] === 'Seq Scan'), says)
  }
})
