/** Proves from EXPLAIN QUERY PLAN that lists of one account only read the rows of that account. The store. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { service } from 'bylaw'
import { preparedCollection, storeContext } from '../../src/catalog/context.ts'
import { resolveList } from '../../src/catalog/resolve-list.ts'
import { runSteps } from '../../src/catalog/steps.ts'
import type { ListRows } from '../../src/flow/plan.ts'
import { Prepared } from '../../src/flow/prepared.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { readListQuery } from '../../src/lists/list-query.ts'
import { type ListRules, listRules } from '../../src/lists/list-rules.ts'
import { parsePairs } from '../../src/lists/query-string.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { sqliteDialect } from '../../src/sql/dialect.ts'
import { isBounded } from '../../src/sql/ranges.ts'
import { type Statement, statementTexts } from '../../src/sql/statements.ts'
import { migrateSqlite } from '../../src/sqlite/migrate.ts'
import { statementRunner } from '../../src/sqlite/sqlite.ts'
import { perform } from '../../src/store/perform.ts'
import { testWorld } from '../help/world.ts'
import { orderedService } from './ordered-service.ts'

/** The service with all kinds of lists, with an account for every item. */
const owned = Object.entries(orderedService.declaration.resources).map(([name, one]) => [
  name,
  { ...one, access: 'authenticated', ...('parent' in one ? {} : { owner: 'accountId' }) },
])
const { resources } = service({ name: 'board', resources: Object.fromEntries(owned) })
const collections = [...resources.values()].map(({ collection }) => collection)
const plain = [...orderedService.resources.values()].map(({ collection }) => collection)
const db = new DatabaseSync(':memory:')
migrateSqlite({ db, run: statementRunner(db), collections, consent: {}, world: realWorld })
after(() => db.close())

const world = serviceWorld(testWorld(), { clock: trustedClock(() => 0), secret: 's' })
const made = new Map([...resources].map(([name, one]) => [name, listRules(one, resources)]))
const shelves = storeContext(
  collections,
  { layout: changeBetween(null, collections, sqliteDialect).after, former: null },
  sqliteDialect,
)

function planOf(name: string, text: string, parent: string | null): ListRows {
  const own = made.get(name) as ListRules
  const { where, order, window, countTo } = readListQuery(parsePairs(text), own, name, world)
  const below =
    parent === null ? null : { collection: own.resource.collection.parent?.collection as string, id: parent }
  return {
    do: 'list',
    prepared: new Prepared(),
    collection: name,
    parent: below,
    account: 'acc',
    time: 0,
    where,
    order,
    window,
    countTo,
    withPositions: true,
  }
}

/** What a page returns that is not the last one, so that its list is counted. */
const fullPage = { count: 1000, docs: '{},\n{}', oldest: 1, newest: 1 }

/** The query plans of SQLite for a list and its count. */
function details(plan: ListRows): string[] {
  const found: string[] = []
  const run = ({ text, values }: Statement) => {
    const lines = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values)
    const own = lines
      .map(({ detail }) => String(detail))
      .filter((line) => !/CO-ROUTINE|SCAN (matching|page)/.test(line))
    found.push(...own)
    return /^SELECT 1/.test(text) ? [{ found: 1 }] : /^SELECT count/.test(text) ? [{ ...fullPage, total: 0 }] : []
  }
  runSteps(perform(shelves, plan), run)
  return found
}

const ordered: readonly (readonly [name: string, query: string, parent?: string])[] = [
  ['teams', ''],
  ['tasks', ''],
  ['tasks', 'sort=title'],
  ['tasks', 'sort=dueOn&order=desc&nulls=last'],
  ['tasks', 'sort=effort&effort[gte]=3'],
  ['tasks', 'status=open'],
  ['tasks', 'code=x'],
  ['tasks', 'title[gte]=a&sort=title'],
  ['tasks', 'place.city=Rome'],
  ['tasks', 'teamId=tea_00000000000000000000000000'],
  ['tasks', 'custom_sort=newest'],
  ['tasks', 'status=open&sort=dueOn'],
  ['notes', ''],
  ['steps', ''],
  ['steps', '', 'tsk_1'],
  ['steps', 'custom_sort=heavy', 'tsk_1'],
  ['steps', 'taskId=tsk_00000000000000000000000000'],
  ['slots', '', 'tea_1'],
  ['slots', 'sort=depth', 'tea_1'],
  ['slots', 'number=1', 'tea_1'],
  ['slots', 'custom_sort=deepest', 'tea_1'],
]

for (const [name, text, parent] of ordered)
  test(`${name}?${text} ${parent ?? ''} reads one index, which begins with the account, in its order`, () => {
    const plan = planOf(name, text, parent ?? null)
    assert.ok(
      isBounded(preparedCollection(shelves, name).collection, resolveList(shelves, plan), sqliteDialect),
      'it is bounded',
    )
    const lines = details(plan)
    assert.ok(lines.length >= 2)
    // The existence of the owner is checked on the index of ids alone, which contains the account.
    const own = lines.filter((line) => !/COVERING INDEX unique__\w+__id \(id=\? AND account=\?\)/.test(line))
    for (const line of own) assert.match(line, /^SEARCH \w+ USING (COVERING )?(INDEX \S+|PRIMARY KEY) \(account=\?/)
  })

test('lists without an index for their order use the account too', () => {
  for (const text of ['title[like]=%25x%25', 'status=open&code[null]=true&sort=title', 'custom_sort=pressing'])
    for (const line of details(planOf('tasks', text, null)).filter((one) => !one.startsWith('USE TEMP')))
      assert.match(line, /^SEARCH .*account=\?/, text)
})

test('dependents of a deletion are searched by the account too', () => {
  for (const [table, column] of [
    ['steps', 'by_taskId'],
    ['tasks', 'by_teamId'],
    ['slots', 'by_taskId'],
  ]) {
    const text = `EXPLAIN QUERY PLAN SELECT id FROM "${table}" WHERE "${column}" = ?1 AND account = ?3 LIMIT ?2`
    const [first] = db.prepare(text).all('x', 1, 'acc')
    assert.match(
      String(first?.detail),
      new RegExp(`^SEARCH ${table} USING (COVERING )?INDEX \\S+ \\(account=\\? AND ${column}=\\?\\)`),
    )
  }
})

test('an item is found by its primary key', () => {
  for (const collection of collections) {
    const { read, remove } = statementTexts(collection, sqliteDialect)
    for (const text of [read, remove]) {
      const [first] = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all()
      assert.match(String(first?.detail), /^SEARCH \w+ USING INDEX sqlite_autoindex_\w+_1 \(account=\? AND .*id=\?\)$/)
    }
  }
})

test('tables that get accounts are created again if empty, otherwise refused', () => {
  const before = { layout: changeBetween(null, plain, sqliteDialect).after, former: null }
  const after = { layout: changeBetween(null, collections, sqliteDialect).after, former: null }
  for (const [from, to, says] of [
    [before, collections, 'its rows belong to accounts now'],
    [after, plain, 'its rows belonged to accounts'],
  ] as const) {
    const { steps } = changeBetween(from, to, sqliteDialect)
    const anew = steps.filter(({ about }) => about.includes(says))
    assert.equal(anew.length, collections.length)
    for (const { empty } of anew) assert.ok(empty)
  }
})
