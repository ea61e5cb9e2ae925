/** R238: values can be read back from CSV, and no spreadsheet runs a text as a formula. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { unguardFormula } from '../formats/formula-guard.ts'
import { csvHeader, csvLines } from './csv-text.ts'

/** The cells of RFC 4180; null for an empty cell without quotes. */
function cellsOf(text: string): (string | null)[][] {
  const rows: (string | null)[][] = []
  let row: (string | null)[] = []
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  while (cell.lastIndex < text.length) {
    const [, quoted, plain, end] = cell.exec(text) as RegExpExecArray
    row.push(quoted === undefined ? plain || null : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

const columns = [['id'], ['note'], ['size', 'width'], ['tags']]
const character = fc.oneof(
  fc.constantFrom(...'\'"=+-@,;\t\r\n 0.1a\uFEFFé🙂'),
  fc.string({ unit: 'grapheme', maxLength: 1 }),
)
const note = fc.option(fc.string({ unit: character, maxLength: 8 }))
const item = fc.record({
  id: fc.constant('ord_1'),
  note,
  size: fc.option(fc.record({ width: fc.option(fc.integer()) })),
  tags: fc.array(note, { maxLength: 3 }),
})

test('each value can be read back from its cell', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 5 }), (items) => {
      const [header, ...rows] = cellsOf(csvHeader(columns) + csvLines(columns, items))
      assert.deepEqual(header, ['id', 'note', 'size.width', 'tags'])
      const read = rows.map(([id, text, width, tags]) => ({
        id,
        note: text == null ? null : unguardFormula(text),
        width: width == null ? null : Number(width),
        tags: JSON.parse(tags as string),
      }))
      const stored = items.map(({ size, ...one }) => ({ ...one, width: size?.width ?? null }))
      assert.deepEqual(
        read,
        stored.map(({ id, note, width, tags }) => ({ id, note, width, tags })),
      )
    }),
  )
})

test('no cell begins as a formula, unless it is a number', () => {
  fc.assert(
    fc.property(note, (text) => {
      const [[cell] = []] = cellsOf(csvLines([['note'], ['id']], [{ note: text, id: 'x' }]))
      assert.ok(cell == null || !/^[=+\-@\t\r]/.test(cell) || /^[+-]?\d+(\.\d+)?$/.test(cell), cell ?? '')
    }),
  )
})
