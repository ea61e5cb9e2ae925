/** R238: records of CSV are read as they were written, however their lines arrive, and mistakes end with their line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvHeader, csvLines } from '../exports/csv-text.ts'
import { CsvRecords } from './csv-records.ts'
import { linesIn } from './lines.ts'

const character = fc.oneof(
  fc.constantFrom(...'\'"=+-@,;\t\r\n 0.1a\uFEFFé🙂'),
  fc.string({ unit: 'grapheme', maxLength: 1 }),
)
const text = fc.option(fc.string({ unit: character, maxLength: 8 }))

/** The records of content that arrives in pieces of a size. */
async function recordsOf(
  content: string,
  size: number,
  most = 10_000,
): Promise<(readonly (string | null)[] | string)[]> {
  async function* pieces() {
    const bytes = Buffer.from(content)
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const records = new CsvRecords(most)
  const all: (readonly (string | null)[] | string)[] = []
  for await (const lines of linesIn(pieces(), most))
    for (const { bytes } of lines)
      try {
        if (bytes === null) records.lose()
        const record = records.take(String(bytes))
        if (record) all.push(record)
      } catch (error) {
        all.push((error as Error).message.slice(0, 20))
      }
  return all
}

test('an import reads the output of an export', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(text, text), { maxLength: 6 }),
      fc.integer({ min: 1, max: 40 }),
      async (rows, size) => {
        const columns = [['a'], ['b']]
        const items = rows.map(([a, b]) => ({ a, b }))
        const [names, ...found] = await recordsOf(csvHeader(columns) + csvLines(columns, items), size)
        assert.deepEqual(names, ['a', 'b'])
        const plain = (cell: string | null) => (cell && /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell)
        assert.deepEqual(
          found.map((record) => (record as (string | null)[]).map(plain)),
          rows,
        )
      },
    ),
  )
})

test('a mistake in one record leaves the next one alone', async () => {
  const content = 'a,b\n1,"x"y\n2,z"z\n3,"long\nvalue ""q"""\r\n4,\n"5'
  assert.deepEqual(await recordsOf(content, 3), [
    ['a', 'b'],
    'Something stands aft',
    'A quote stands in a ',
    ['3', 'long\nvalue "q"'],
    ['4', null],
  ])
})

test('a record that is too long is refused where it ends, without keeping it', async () => {
  const long = `1,"${'x\n'.repeat(100)}"\n2,b\n3,${'y'.repeat(70)}\n4,d\n`
  const lost = `1,"a\n${'x'.repeat(90)}"\n2,b\n",c\n3,d\n`
  assert.deepEqual(await recordsOf(lost, 9, 80), ['The record is larger', ['3', 'd']])
  assert.deepEqual(await recordsOf(long, 7, 80), [
    'The record is larger',
    ['2', 'b'],
    ['3', 'y'.repeat(70)],
    ['4', 'd'],
  ])
})
