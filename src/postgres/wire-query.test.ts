/** Wire query: which statements a connection prepares and closes, and arrays in PostgreSQL's binary format. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeLists, preparedFor, preparedStatements, type Wire } from './wire-query.ts'

test('a text is prepared at its second use, and closed when it has not been used for long', () => {
  const closed: string[] = []
  const known: Record<string, string> = { bylaw_1: 'a' }
  const wire = {
    parsedStatements: known,
    submittedNamedStatements: {},
    close: (one: { name: string }) => closed.push(one.name),
  }
  const find = preparedStatements(wire as unknown as Wire, () => 0)
  assert.equal(find('a'), undefined)
  const first = find('a')
  assert.equal(first?.name, 'bylaw_1')
  for (const text of ['b', 'b']) find(text)
  for (let n = 0; n < 1000; n++) {
    assert.equal(find('a'), first)
    for (let i = 0; i < 2; i++) find(`${n}`)
  }
  assert.ok(closed.includes('bylaw_2') && !closed.includes('bylaw_1'))
  assert.ok(1002 - closed.length <= 500)
  for (let n = 1000; n < 2000; n++) for (let i = 0; i < 2; i++) find(`${n}`)
  assert.ok(closed.includes('bylaw_1') && known.bylaw_1 === undefined)
  assert.notEqual(find('a')?.name, 'bylaw_1')
})

test('with many resources the statements of all stay prepared', () => {
  const wire = { parsedStatements: {}, submittedNamedStatements: {}, close: () => {} } as unknown as Wire
  const resources = Array.from({ length: 1000 }, (_, i) => `read ${i}`)
  const find = preparedStatements(wire, () => 0, preparedFor(resources.length))
  for (let i = 0; i < 2; i++) resources.forEach((text) => void find(text))
  assert.ok(resources.every((text) => find(text) !== undefined))
})

test('a statement is prepared again after a second, then after four times as long each time, up to five minutes', () => {
  const closed: string[] = []
  const parsedStatements: Record<string, string> = {}
  const close = (one: { name: string }) => closed.push(one.name)
  let time = 0
  const find = preparedStatements(
    { parsedStatements, submittedNamedStatements: {}, close } as unknown as Wire,
    () => time,
  )
  find('a')
  const changes: number[] = []
  for (let name = find('a')?.name; time < 1_500_000; time += 500) {
    const next = find('a')?.name
    if (next !== name) changes.push(time)
    name = next
  }
  assert.deepEqual(changes, [1000, 5000, 21_000, 85_000, 341_000, 641_000, 941_000, 1_241_000])
  assert.deepEqual(
    closed,
    changes.map((_, i) => `bylaw_${i + 1}`),
  )
})

test('two connections share no prepared statement', () => {
  const wire = { parsedStatements: {}, submittedNamedStatements: {}, close: () => {} } as unknown as Wire
  const [one, other] = [preparedStatements(wire, () => 0), preparedStatements(wire, () => 0)]
  one('a')
  assert.equal(one('a')?.name, 'bylaw_1')
  assert.equal(other('a'), undefined)
})

test('arrays of texts and integers are encoded with nulls, empty texts and negative numbers', () => {
  const rows = [
    ['ä', -1],
    ['', 2 ** 40],
    [null, null],
  ]
  const [texts, integers] = encodeLists({ types: ['text', 'bigint'], rows }) as [Buffer, Buffer]
  const head = (type: number) => [1, 1, type, 3, 1]
  assert.deepEqual(
    [0, 4, 8, 12, 16].map((at) => texts.readInt32BE(at)),
    head(25),
  )
  assert.deepEqual(
    [0, 4, 8, 12, 16].map((at) => integers.readInt32BE(at)),
    head(20),
  )
  assert.equal(texts.subarray(20).toString('hex'), '00000002c3a400000000ffffffff')
  assert.equal(integers.subarray(20).toString('hex'), '00000008ffffffffffffffff000000080000010000000000ffffffff')
})
