/** Walks through lists in all styles with random rows, orders and filters, and compares the pages with a model. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runsOf } from '../help/runs.ts'
import {
  type Ask,
  embeddedSize,
  type Kind,
  listedServices,
  type Made,
  opened,
  type ServiceWithLists,
} from './listed-services.ts'
import { matching, type Row, sorted } from './model.ts'
import { asks, changes, type Deed, inputs } from './samples.ts'

/** The number of sets of rows for each service, of requests for each set, and of requests during changes. */
const sets = runsOf(20)
const asksEach = 25
const changing = runsOf(80)

/** The rows that a request should return, in order. */
function expected(opening: ServiceWithLists, rows: readonly Row[], ask: Ask): string[] {
  return sorted(matching(rows, ask), opening.order(ask), ask.search).map(({ id }) => id)
}

async function comparePages(opening: ServiceWithLists, ask: Ask, ids: readonly string[]): Promise<void> {
  const { limit } = ask
  const pages = Math.ceil(ids.length / limit)
  for (let page = 1; page <= pages + 1; page++) {
    const got = await opening.ask(ask, { page: String(page), page_size: String(limit) })
    const from = (page - 1) * limit
    assert.deepEqual(got.ids, ids.slice(from, from + limit), `page ${page}`)
    const { nextCursor: _, ...reported } = got.pagination
    const information = { currentPage: page, pageSize: limit, totalPages: pages, totalRecords: ids.length }
    assert.deepEqual(reported, { ...information, hasMore: page < pages })
  }
}

async function compareOffsets(opening: ServiceWithLists, ask: Ask, ids: readonly string[]): Promise<void> {
  const { limit } = ask
  for (const offset of [0, 1, limit, ask.offset, Math.max(0, ids.length - 1), ids.length]) {
    const got = await opening.ask(ask, { offset: String(offset), limit: String(limit) })
    assert.deepEqual(got.ids, ids.slice(offset, offset + limit), `offset ${offset}`)
    const { nextCursor: _, ...reported } = got.pagination
    assert.deepEqual(reported, { limit, offset, totalRecords: ids.length, hasMore: offset + limit < ids.length })
  }
}

async function compareCursors(opening: ServiceWithLists, ask: Ask, ids: readonly string[]): Promise<void> {
  const limit = String(ask.limit)
  let step = await opening.ask(ask, { cursor: '', limit })
  let from = 0
  for (;;) {
    assert.deepEqual(step.ids, ids.slice(from, from + ask.limit), `forward from ${from}`)
    const { nextCursor, prevCursor, hasMore } = step.pagination
    assert.equal(hasMore, from + ask.limit < ids.length)
    assert.equal(nextCursor !== null, hasMore)
    assert.equal(prevCursor !== null, from > 0)
    if (nextCursor === null) break
    from += ask.limit
    step = await opening.ask(ask, { cursor: nextCursor as string, limit })
  }
  for (let to = from; to > 0; to -= ask.limit) {
    step = await opening.ask(ask, { cursor: step.pagination.prevCursor as string, limit })
    assert.deepEqual(step.ids, ids.slice(to - ask.limit, to), `back to ${to}`)
    assert.equal(step.pagination.hasMore, true)
  }
  assert.equal(step.pagination.prevCursor, null)
  if (ids.length > ask.limit) {
    const again = await opening.ask(ask, { cursor: step.pagination.nextCursor as string, limit })
    assert.deepEqual(again.ids, ids.slice(ask.limit, 2 * ask.limit), 'turned around')
  }
}

async function compare(opening: ServiceWithLists, rows: readonly Row[], ask: Ask): Promise<void> {
  const ids = expected(opening, rows, ask)
  try {
    await comparePages(opening, ask, ids)
    await compareOffsets(opening, ask, ids)
    await compareCursors(opening, ask, ids)
  } catch (error) {
    const names = new Map(rows.map((row) => [row.id, row]))
    const shown = JSON.stringify(ids.map((id) => names.get(id)))
    throw new Error(`${opening.name} ${JSON.stringify(ask)}\nexpected ${shown}\n${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** A hall embeds the first rows in the default order. */
async function compareEmbedded(opening: ServiceWithLists, rows: readonly Row[]): Promise<void> {
  const plain: Ask = { sort: null, order: null, nulls: null, filters: [], any: null, search: null, limit: 1, offset: 0 }
  const ids = expected(opening, rows, plain)
  const found = await opening.embedded()
  const wanted = { ids: ids.slice(0, embeddedSize), hasMore: ids.length > embeddedSize }
  if (found) assert.deepEqual(found, wanted, `${opening.name} ${JSON.stringify(rows)}`)
}

const places = listedServices.flatMap((made) => (['SQLite', 'PostgreSQL'] as const).map((kind) => ({ made, kind })))

/** The share of cases that a database has time for. */
const share = ({ file }: Made, kind: Kind, all: number): number =>
  Math.ceil(kind === 'PostgreSQL' ? all / 10 : file ? all / 4 : all)

for (const { made, kind } of places) {
  test(`${made.name} (${kind}): pages, offsets and cursors show every row once and in order`, async () => {
    await fc.assert(
      fc.asyncProperty(
        inputs,
        fc.array(asks(made), { minLength: asksEach, maxLength: asksEach }),
        async (given, asked) => {
          const opening = await opened(made, kind)
          const rows = await opening.add(given)
          for (const ask of asked) await compare(opening, rows, ask)
          await compareEmbedded(opening, rows)
          await opening.close()
        },
      ),
      { numRuns: share(made, kind, sets) },
    )
  })
}

/** Continues a walk during writes, and returns the rows it saw. */
async function walked(
  opening: ServiceWithLists,
  ask: Ask,
  deeds: readonly Deed[],
  rows: Row[],
  back: boolean,
): Promise<{ shown: string[]; touched: Set<string> }> {
  const shown: string[] = []
  const touched = new Set<string>()
  const limit = String(ask.limit)
  const start = back ? await lastPage(opening, ask) : await opening.ask(ask, { cursor: '', limit })
  let step = start
  for (let i = 0; ; i++) {
    shown.push(...(back ? step.ids.toReversed() : step.ids))
    const cursor = (back ? step.pagination.prevCursor : step.pagination.nextCursor) as string | null
    if (cursor === null) return { shown, touched }
    for (const deed of deeds.slice(i * 3, i * 3 + 3)) await opening.change(deed, rows, touched)
    step = await opening.ask(ask, { cursor, limit })
  }
}

async function lastPage(opening: ServiceWithLists, ask: Ask) {
  let step = await opening.ask(ask, { cursor: '', limit: String(ask.limit) })
  while (step.pagination.nextCursor !== null)
    step = await opening.ask(ask, { cursor: step.pagination.nextCursor as string, limit: String(ask.limit) })
  return step
}

for (const { made, kind } of places) {
  test(`${made.name} (${kind}): under concurrent writes no unchanged row is missed or shown twice`, async () => {
    await fc.assert(
      fc.asyncProperty(inputs, asks(made), changes, fc.boolean(), async (given, ask, deeds, back) => {
        const opening = await opened(made, kind)
        const rows = await opening.add(given)
        const before = expected(opening, rows, ask)
        const { shown, touched } = await walked(opening, ask, deeds, [...rows], back)
        const still = before.filter((id) => !touched.has(id))
        assert.deepEqual(
          shown.filter((id) => !touched.has(id) && before.includes(id)),
          back ? still.toReversed() : still,
        )
        const moved = shown.filter((id) => !opening.moved.has(id))
        assert.equal(new Set(moved).size, moved.length, 'a row was shown twice')
        await opening.close()
      }),
      { numRuns: share(made, kind, changing) },
    )
  })
}
