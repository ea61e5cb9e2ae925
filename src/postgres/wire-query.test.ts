/** Wire query: which statements a connection prepares and closes, and arrays in PostgreSQL's binary format. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeLists, preparedStatements, type Wire } from './wire-query.ts'

test('a text is prepared at its second use, and closed when it has not been used for long', () => {
  const closed: string[] = []
  const known: Record<string, string> = { bylaw_1: 'a' }
  const wire = {
    parsedStatements: known,
    submittedNamedStatements: {},
    close: (one: { name: string }) => closed.push(one.name),
  }
  const find = preparedStatements(wire as unknown as Wire)
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

test('two connections share no prepared statement', () => {
  const wire = { parsedStatements: {}, submittedNamedStatements: {}, close: () => {} } as unknown as Wire
  const [one, other] = [preparedStatements(wire), preparedStatements(wire)]
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
