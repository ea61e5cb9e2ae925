/** Proves from EXPLAIN QUERY PLAN that declared orders and filters use their index, on every page. The store. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { storeContext } from '../../src/catalog/context.ts'
import { resolveList } from '../../src/catalog/resolve-list.ts'
import type { ListRows, Term, Window } from '../../src/flow/plan.ts'
import { Prepared } from '../../src/flow/prepared.ts'
import { serviceWorld, trustedClock } from '../../src/flow/world.ts'
import { readListQuery } from '../../src/lists/list-query.ts'
import { type ListRules, listRules } from '../../src/lists/list-rules.ts'
import { parsePairs } from '../../src/lists/query-string.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { changeBetween } from '../../src/schema/schema-change.ts'
import { sqliteDialect } from '../../src/sql/dialect.ts'
import { type Statement, statementTexts } from '../../src/sql/statements.ts'
import { openSqlite } from '../../src/sqlite/open.ts'
import { perform } from '../../src/store/perform.ts'
import { testWorld } from '../help/world.ts'
import { orderedService } from './ordered-service.ts'

const folder = mkdtempSync(join(tmpdir(), 'plans-'))
const collections = [...orderedService.resources.values()].map(({ collection }) => collection)
await openSqlite(`sqlite:${join(folder, 'board.db')}`, collections, 'apply').close()
const db = new DatabaseSync(join(folder, 'board.db'))
after(() => {
  db.close()
  rmSync(folder, { recursive: true })
})

const world = serviceWorld(testWorld(), { clock: trustedClock(() => 0), secret: 's' })
const made = new Map(
  [...orderedService.resources].map(([name, one]) => [name, listRules(one as Resource, orderedService.resources)]),
)
const shelves = storeContext(
  collections,
  { layout: changeBetween(null, collections, sqliteDialect).after, former: null },
  sqliteDialect,
)

/** The windows of a list: its first page, and the pages after and before a position. */
function windows({ columns }: ListRules, order: readonly Term[]): Window[] {
  const place = order.map(({ column }) => (columns.get(column)?.type === 'integer' ? 5n : 'm'))
  const nothing = order.map(
    ({ column, nulls }, i) => (nulls === 'none' ? (place[i] as string) : null) ?? (column === 'id' ? 'm' : null),
  )
  const at = [place, ...(order.some(({ nulls }) => nulls !== 'none') ? [nothing] : [])]
  const near = at.flatMap((one) =>
    [false, true].map((back) => ({ from: 'place', position: one, back, including: false, limit: 20 }) as const),
  )
  return [{ from: 'offset', offset: 0, limit: 20 }, ...near]
}

/** All statements that a list runs if no row is found, so that all key ranges are read. */
function statements(name: string, text: string, owner: string | null): { statement: Statement; behind: boolean }[] {
  const own = made.get(name) as ListRules
  const { collection } = own.resource
  const asked = readListQuery(parsePairs(text), own, name, world)
  const parent = owner === null ? null : { collection: collection.parent?.collection as string, id: owner }
  const first: ListRows = {
    do: 'list',
    prepared: new Prepared(),
    collection: name,
    parent,
    account: null,
    time: 0,
    where: asked.where,
    order: asked.order,
    window: asked.window,
    countTo: null,
    withPositions: true,
  }
  return windows(own, resolveList(shelves, first).order).flatMap((window) => {
    const plan = { ...first, window }
    const steps = perform(shelves, plan)
    const found: { statement: Statement; behind: boolean }[] = []
    let step = steps.next()
    if (parent && !step.done) step = steps.next([{ found: 1 }])
    for (; !step.done; step = steps.next([])) found.push({ statement: step.value, behind: window.from === 'place' })
    return found.filter(({ statement }) => !statement.text.includes('"id" = ')) // the row at a position, found by its key
  })
}

/** How a statement finds its rows; the join after that is the same for all. */
const details = ({ text, values }: Statement) =>
  db
    .prepare(`EXPLAIN QUERY PLAN ${text}`)
    .all(...values)
    .map(({ detail }) => String(detail).replace(/(COVERING )?INDEX sqlite_autoindex_\w+_1/, 'PRIMARY KEY'))
    .filter((line) => line !== 'CO-ROUTINE page' && line !== 'SCAN page')

/** Asserts that every statement reads one index in order, and seeks after a position. `partial` counts terms that may be sorted. */
function served(
  name: string,
  text: string,
  indexes: readonly string[],
  { owner = null as string | null, partial = 0 } = {},
): void {
  const all = statements(name, text, owner)
  assert.ok(all.length >= 3)
  for (const { statement, behind } of all) {
    const [first = '', ...more] = details(statement)
    const says = `${name}?${text}\n${statement.text}\n${[first, ...more].join('\n')}`
    const index = / USING (?:(?:COVERING )?INDEX (\S+)|(PRIMARY KEY))/.exec(first) ?? [first, undefined, 'PRIMARY KEY']
    assert.ok(
      indexes.some((one) => index?.[1]?.endsWith(`__${one}`) || index?.[2] === one),
      says,
    )
    if (behind || owner !== null || statement.text.includes(' WHERE ')) assert.match(first, /^SEARCH/, says)
    const sorts = more.map((line) => /FOR LAST (\d+) TERMS? OF ORDER BY/.exec(line)?.[1] ?? line)
    assert.ok(
      sorts.every((count) => Number(count) <= partial),
      says,
    )
  }
}

const directions = (sort: string, nulls: boolean) =>
  ['asc', 'desc'].flatMap((order) =>
    (nulls ? ['first', 'last'] : ['last']).map((one) => `${sort}&order=${order}&nulls=${one}`),
  )
const reversals = (name: string) => [`custom_sort=${name}`, `custom_sort=${name}&order=desc`]

test('an item is read by its primary key', () => {
  for (const collection of collections) {
    const { read, exists } = statementTexts(collection, sqliteDialect)
    for (const text of [read, exists]) {
      const keys = collection.composite ? '(parent=? AND id=?)' : '(id=?)'
      assert.deepEqual(details({ text, values: [] }), [`SEARCH ${collection.table} USING PRIMARY KEY ${keys}`])
    }
  }
})

test('the order of creation uses the primary key, a declared one an index', () => {
  served('tasks', '', ['PRIMARY KEY'])
  served('notes', '', ['-by_rank__by_text'])
})

test('every sort has an index, in both directions, with nulls first or last', () => {
  for (const [name, [key]] of (made.get('tasks') as ListRules).sorts) {
    for (const sort of directions(`sort=${name}`, key?.nullable === true))
      served('tasks', sort, [`by_${name}`, `by_${name}__-by_effort`, `-by_${name}__-by_title`])
  }
})

test('every criterion has an index, mixed directions included, and is read backwards for its reverse', () => {
  for (const sort of reversals('urgency')) served('tasks', sort, ['by_dueOn__-by_effort'])
  for (const sort of reversals('dearest')) served('tasks', sort, ['-by_cost__-by_title'])
  for (const sort of reversals('plainest')) served('tasks', sort, ['by_title__-id'])
  for (const sort of reversals('newest')) served('tasks', sort, ['by_createdAt'])
})

test('if a later term may be null, rows are sorted within equal earlier terms', () => {
  for (const sort of reversals('pressing'))
    served('tasks', sort, ['-by_effort__by_dueOn__by_title', 'by_effort'], { partial: 3 })
})

test('every single filter has an index, which is in the order of creation', () => {
  const moment = '2026-01-01T00:00:00Z'
  for (const filter of [
    'status=open',
    'dueOn=2026-01-01',
    'cost=1',
    'cost[null]=true',
    'place.city=Rome',
    `createdAt=${moment}`,
    'code=x',
  ])
    served('tasks', filter, [`by_${filter.split(/[=[]/, 1)[0]}`])
  served('tasks', 'title=a', ['by_title', 'by_title__-id'])
  served('tasks', `teamId=tea_${'0'.repeat(26)}`, ['by_teamId'])
})

test('a range and a sort by the same field are one range of its index, on any page', () => {
  for (const [field, range] of [
    ['effort', 'effort[gte]=3'],
    ['effort', 'effort[gte]=3&effort[lte]=9'],
    ['dueOn', 'dueOn[lte]=2026-01-01'],
    ['createdAt', 'createdAt[gte]=2026-01-01T00:00:00Z'],
    ['title', 'title[like]=a%25'],
  ]) {
    for (const order of ['asc', 'desc']) {
      for (const { statement, behind } of statements('tasks', `${range}&sort=${field}&order=${order}`, null)) {
        const [first = '', ...more] = details(statement)
        assert.deepEqual(more, [], first)
        assert.match(first, /^SEARCH/)
        if (behind && statement.text.includes(', "id") ')) assert.match(first, /\(by_\w+,id\)[<>]/, statement.text)
      }
    }
  }
})

test('a declared composite index serves a filter by its first field and a sort by its second', () => {
  for (const sort of directions('status=open&sort=dueOn', true)) served('tasks', sort, ['by_status__by_dueOn'])
  for (const sort of directions('status=open&effort=3&sort=title', false))
    served('tasks', sort, ['by_status__by_effort__by_title'])
})

test('a filter that fixes a term of the order leaves the rest of it to the index', () => {
  served('notes', 'rank=1', ['-by_rank__by_text', 'by_rank'])
  served('notes', 'rank=1&text=a', ['-by_rank__by_text', 'by_rank', 'by_text'])
  for (const { statement, behind } of statements('notes', 'rank=1&sort=rank', null)) {
    assert.match(details(statement)[0] as string, behind ? /\(by_rank=\? AND id[<>]\?\)$/ : /\(by_rank=\?\)$/)
  }
})

test('each alternative is read from an index in the order of the list, up to the size of the page', () => {
  for (const [or, sort] of [
    ['(status=open;status=done)', 'sort=dueOn'],
    ['(status=in:%28open,done%29;dueOn[gte]=2026-01-01)', 'sort=dueOn&order=desc'],
    ['(status=open;cost=1;code=x;dueOn[null]=true)', ''],
    ['(effort[gte]=3;effort[lte]=9)', 'sort=effort'],
  ]) {
    for (const { statement } of statements('tasks', `or=${or?.replaceAll('%', '%25')}&${sort}`, null)) {
      const lines = details(statement)
      const says = `${statement.text}\n${lines.join('\n')}`
      const reads = lines.filter((line) => /^(SEARCH|SCAN) tasks/.test(line))
      assert.ok(reads.length > 0, says)
      for (const line of reads) assert.match(line, /^SEARCH tasks USING (COVERING )?INDEX/, says)
      assert.match(lines.find((line) => / own /.test(line)) ?? '', /^SEARCH own USING PRIMARY KEY \(id=\?\)/, says)
      // Without this line between the two, the rows of the part would be sorted before its limit.
      for (const [i, line] of lines.entries())
        if (reads.includes(line)) assert.match(lines[i + 1] ?? '', /^SCAN part\d$/, says)
    }
  }
})

test('the flat list of owned children has the indexes of any list', () => {
  served('steps', '', ['by_position'])
  for (const sort of directions('sort=weight', true)) served('steps', sort, ['by_weight'])
  for (const sort of reversals('last')) served('steps', sort, ['-by_position__by_label'])
})

test('below an owner, the order of creation, the declared order and every criterion have an index', () => {
  const owner = 'tsk_1'
  for (const text of ['', ...directions('sort=position', false)])
    served('steps', text, ['by_taskId__by_position'], { owner })
  for (const sort of reversals('last')) served('steps', sort, ['by_taskId__-by_position__by_label'], { owner })
  for (const sort of reversals('heavy')) served('steps', sort, ['by_taskId__-by_weight', 'by_taskId'], { owner })
  for (const sort of directions('sort=label', false)) served('steps', sort, ['by_taskId__by_label'], { owner })
})

test('below an owner, another sort orders the children of this one owner only', () => {
  for (const { statement } of statements('steps', 'sort=createdAt', 'tsk_1'))
    assert.match(details(statement)[0] as string, /^SEARCH steps USING INDEX \S+ \(by_taskId=\?/)
})

test('children with a composite key have every index below their owner', () => {
  const owner = 'tea_1'
  served('slots', '', ['PRIMARY KEY'], { owner })
  for (const sort of directions('sort=depth', true))
    served('slots', sort, ['parent__by_depth', 'parent__-by_depth__by_number'], { owner })
  for (const sort of directions('sort=createdAt', false)) served('slots', sort, ['parent__by_createdAt'], { owner })
  for (const sort of reversals('deepest')) served('slots', sort, ['parent__-by_depth__by_number'], { owner })
  for (const [filter, column] of [
    ['depth=1', 'by_depth'],
    ['depth[null]=true', 'by_depth'],
    ['number=1', 'by_number'],
    [`taskId=tsk_${'0'.repeat(26)}`, 'by_taskId'],
  ])
    served('slots', filter as string, [`parent__${column}`], { owner })
})

test('searches of a deletion have an index: children by parent, references by target', () => {
  for (const [table, column] of [
    ['steps', 'by_taskId'],
    ['tasks', 'by_teamId'],
    ['slots', 'by_taskId'],
    ['slots', 'parent'],
  ]) {
    const [first] = details({
      text: `SELECT id, revision FROM "${table}" WHERE "${column}" = ?1 LIMIT 1`,
      values: ['x'],
    })
    assert.match(
      first as string,
      new RegExp(`^SEARCH ${table} USING (COVERING )?(INDEX \\S+|PRIMARY KEY) \\(${column}=\\?\\)`),
    )
  }
})
