/** Lists of values that a server receives and returns unchanged. Part 8, loss. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { realWorld } from '../../src/flow/real-world.ts'
import { connect } from '../../src/postgres/connect.ts'
import { parseConnectionUrl } from '../../src/postgres/connection-url.ts'
import type { Cell } from '../../src/rows/collection.ts'
import type { ValueLists } from '../../src/sql/statements.ts'
import { freshPostgres } from '../help/postgres.ts'

const times = { connect: 2000, statement: 5000, lock: 1000, idle: 10_000, silence: 6000 }
const { url, drop } = await freshPostgres()
const connection = await connect(parseConnectionUrl(url, {}), times, realWorld)
after(async () => {
  connection.close()
  await drop()
})

async function returned(lists: ValueLists): Promise<unknown[][]> {
  const marks = lists.types.map((type, i) => `$${i + 1}::${type}[]`).join(', ')
  const names = lists.types.map((_, i) => `c${i}`)
  const text = `SELECT ${names.join(', ')} FROM unnest(${marks}) WITH ORDINALITY AS one (${names.join(', ')}, n) ORDER BY n`
  const rows = await connection.ask({ text, values: [], lists, flush: true })
  return rows.map((row) => names.map((name) => row[name]))
}

test('lists of parameters return their values unchanged', async () => {
  const given: [text: Cell, integer: Cell][] = [
    ['', 0],
    ['a', 1],
    [null, -1],
    ['"\\{},NULL\n', null],
    ['äöü', 2 ** 31 - 1],
    ['𝒳€', -(2 ** 31)],
    ['null', 2 ** 31],
    [' ', -(2 ** 31) - 1],
    ['x'.repeat(200_000), Number.MAX_SAFE_INTEGER],
    ['€'.repeat(50_000), Number.MIN_SAFE_INTEGER],
    ['b', 2n ** 63n - 1n],
    ['c', -(2n ** 63n)],
    ['d', 5n],
  ]
  const back = await returned({ types: ['text', 'bigint'], rows: given })
  assert.deepEqual(
    back.map(([text, integer]) => [text, integer === null ? null : BigInt(integer as number)]),
    given.map(([text, integer]) => [text, integer === null ? null : BigInt(integer)]),
  )
})

test('columns of nulls only, and empty lists, are lists as well', async () => {
  const rows = [
    [null, null],
    [null, null],
  ]
  assert.deepEqual(await returned({ types: ['bigint', 'text'], rows }), rows)
  assert.deepEqual(await returned({ types: ['bigint', 'text'], rows: [[]] }), [[null, null]])
})

test('a number that no column can hold is refused, and the connection stays usable', async () => {
  for (const wrong of [2n ** 63n, 1.5])
    await assert.rejects(async () => returned({ types: ['bigint'], rows: [[wrong]] }), RangeError)
  await assert.rejects(returned({ types: ['text'], rows: [['a\u0000b']] }), { code: '22021' })
  assert.deepEqual(await returned({ types: ['text'], rows: [['a']] }), [['a']])
})

test('a connection keeps up to 500 statements prepared, and answers beyond that', async () => {
  const own = await connect(parseConnectionUrl(url, {}), times, realWorld)
  const count = 1500
  const ask = async (n: number) => (await own.ask({ text: `SELECT $1::bigint + ${n} AS sum`, values: [1] }))[0]?.sum
  const all = Array.from({ length: count * 3 }, (_, i) => i % count)
  for (let from = 0; from < all.length; from += 300) {
    const asked = all.slice(from, from + 300)
    assert.deepEqual(
      await Promise.all(asked.map(ask)),
      asked.map((n) => n + 1),
    )
  }
  for (let i = 0; i < 3; i++) assert.deepEqual(await Promise.all(all.slice(0, 300).map(ask)), all.slice(1, 301))
  const text = "SELECT count(*) AS kept FROM pg_prepared_statements WHERE statement LIKE '%AS sum'"
  const [row] = await own.ask({ text, values: [] })
  own.close()
  assert.ok(Number(row?.kept) >= 250 && Number(row?.kept) <= 500, `${row?.kept}`)
})
