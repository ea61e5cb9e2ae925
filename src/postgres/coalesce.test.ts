/** Coalesce: statements of one turn are sent together, on a fake connection that answers at once. The store. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import type { ResultRow } from '../catalog/steps.ts'
import type { Cell } from '../rows/collection.ts'
import { type CoalescableStatement, coalesce } from './coalesce.ts'
import type { Connection, DatabaseQuery } from './connect.ts'

const connection = {} as Connection
const many = { text: 'many', types: ['text', 'text', 'text'], at: [0, 1] } as const
const asks = (parent: string, id: string, value: Cell = null): CoalescableStatement => ({
  text: 'one',
  values: [parent, id, value],
  many,
})

/** The rows of a fake query: one for each id except `nobody`. */
function rowsOf({ lists }: DatabaseQuery): ResultRow[] {
  const all = lists?.rows ?? []
  return all.flatMap(([parent, id, value]) => (id === 'nobody' ? [] : [{ at0: parent, at1: id, value: value ?? null }]))
}

function coalesceFakes(shares: boolean, answer: (question: DatabaseQuery, n: number) => ResultRow[] = rowsOf) {
  const sent: DatabaseQuery[] = []
  const single: Cell[] = []
  const ask = coalesce({
    lend: (act) => act(connection),
    count: () => {},
    send: async (_, question) => answer(question, sent.push(question)),
    alone: async ({ values }) => {
      if (values[1] === 'wrong') throw new Error('wrong')
      single.push(values[1] as Cell)
      return [{ alone: true }]
    },
    isForAll: (error) => (error as Error).message === 'gone',
    allowsSameRow: shares,
    world: testWorld(),
  })
  return { ask, sent, single }
}

const outcomes = (all: readonly PromiseSettledResult<readonly ResultRow[]>[]) =>
  all.map((one) => (one.status === 'fulfilled' ? (one.value[0] ?? null) : String(one.reason.message)))

test('reads of one turn are one query, and each gets its own rows', async () => {
  const { ask, sent } = coalesceFakes(true)
  const all = await Promise.allSettled([
    ask(asks('a', '2', 'x')),
    ask(asks('a', 'nobody')),
    ask(asks('a', '1')),
    ask(asks('b', '1')),
  ])
  assert.deepEqual(outcomes(all), [
    { at0: 'a', at1: '2', value: 'x' },
    null,
    { at0: 'a', at1: '1', value: null },
    { at0: 'b', at1: '1', value: null },
  ])
  assert.deepEqual(
    sent.map(({ text, lists }) => [text, lists?.rows]),
    [
      [
        'many',
        [
          ['a', '1', null],
          ['a', '2', 'x'],
          ['a', 'nobody', null],
          ['b', '1', null],
        ],
      ],
    ],
  )
})

test('reads of the same row share it, changes of it wait for each other', async () => {
  const both = [asks('a', '1', 'first'), asks('a', '1', 'second')]
  const reading = coalesceFakes(true)
  const read = await Promise.allSettled(both.map(reading.ask))
  assert.equal(reading.sent.length, 1)
  assert.deepEqual(read[0], read[1])
  const writing = coalesceFakes(false)
  const written = outcomes(await Promise.allSettled(both.map(writing.ask)))
  assert.deepEqual(
    written.map((one) => (one as ResultRow).value),
    ['first', 'second'],
  )
  assert.equal(writing.sent.length, 2)
})

test('batches have a maximum, and batches of changes are halved down to a few', async () => {
  const rows: [shares: boolean, sizes: number[]][] = [
    [true, [100, 100, 50]],
    [false, [100, 75, 38, 19, 16, 2]],
  ]
  for (const [shares, sizes] of rows) {
    const short = coalesceFakes(shares)
    await Promise.all(Array.from({ length: 250 }, (_, n) => short.ask(asks('a', `${n}`))))
    assert.deepEqual(
      short.sent.map(({ lists }) => lists?.rows.length),
      sizes,
    )
  }
  const long = coalesceFakes(false)
  await Promise.all(Array.from({ length: 4 }, (_, n) => long.ask(asks('a', `${n}`, 'x'.repeat(600_000)))))
  assert.deepEqual(
    long.sent.map(({ lists }) => lists?.rows.length),
    [2, 2],
  )
})

test('a refused statement does not refuse others of its batch', async () => {
  const fails = (): never => {
    throw new Error('wrong')
  }
  const { ask, single } = coalesceFakes(false, fails)
  const all = await Promise.allSettled([ask(asks('a', '1')), ask(asks('a', 'wrong')), ask(asks('a', '2'))])
  assert.deepEqual(outcomes(all), [{ alone: true }, 'wrong', { alone: true }])
  assert.deepEqual(single, ['1', '2'])
  const own = coalesceFakes(false, fails)
  assert.deepEqual(outcomes(await Promise.allSettled([own.ask(asks('a', '1'))])), ['wrong'])
  assert.deepEqual(own.single, [])
})

test('a lost connection fails all its statements, and later ones are not delayed', async () => {
  const { ask, single } = coalesceFakes(false, (question, n) => {
    if (n === 1) throw new Error('gone')
    return rowsOf(question)
  })
  const all = await Promise.allSettled([ask(asks('a', '1')), ask(asks('a', '2')), ask(asks('a', '1'))])
  assert.deepEqual(outcomes(all), ['gone', 'gone', { at0: 'a', at1: '1', value: null }])
  assert.deepEqual(single, [])
})

test('without a connection all callers get the error', async () => {
  let none = true
  const ask = coalesce({
    lend: async (act) => {
      if (none) throw new Error('none')
      await act(connection)
    },
    count: () => {},
    send: async (_, question) => rowsOf(question),
    alone: async () => [],
    isForAll: () => true,
    allowsSameRow: false,
    world: testWorld(),
  })
  assert.deepEqual(outcomes(await Promise.allSettled([ask(asks('a', '1')), ask(asks('a', '2'))])), ['none', 'none'])
  none = false
  assert.deepEqual(await ask(asks('a', '1')), [{ at0: 'a', at1: '1', value: null }])
})
