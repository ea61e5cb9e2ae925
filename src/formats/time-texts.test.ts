/** Time texts: valid and invalid dates, date-times, durations and intervals, and their canonical form. Part 2. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dateText, durationMilliseconds, durationText, intervalText, timestampText } from './time-texts.ts'

/** Pairs of a text and its canonical form, undefined if it is invalid. */
function table<T>(read: (text: string) => T, rows: readonly (readonly [text: string, becomes: T])[]): void {
  for (const [text, becomes] of rows) assert.equal(read(text), becomes, JSON.stringify(text))
}

function refused(read: (text: string) => unknown, texts: readonly string[]): void {
  for (const text of texts) assert.equal(read(text), undefined, JSON.stringify(text))
}

test('a calendar date is unchanged', () => {
  for (const text of ['2026-01-31', '2024-02-29', '2000-02-29', '0000-02-29', '0000-01-01', '0001-01-01', '9999-12-31'])
    assert.equal(dateText(text), text)
})

test('an invalid calendar date is refused', () => {
  refused(dateText, ['2026-02-29', '1900-02-29', '2100-02-29', '2026-02-30', '2026-04-31', '2026-06-31', '2026-13-01'])
  refused(dateText, [
    '2026-00-10',
    '2026-01-00',
    '2026-01-32',
    '2026-1-1',
    '26-01-01',
    '20260101',
    '2026-W01-1',
    '2026-001',
  ])
  refused(dateText, [
    '',
    ' 2026-01-01',
    '2026-01-01 ',
    '2026-01-01\n',
    '+2026-01-01',
    '-0001-01-01',
    '10000-01-01',
    '٢٠٢٦-٠١-٠١',
  ])
  refused(dateText, ['2026-01-01T00:00:00Z', '2026/01/01', '2026–01–01'])
})

test('a date-time gets exactly three fraction digits, more are cut', () => {
  table(timestampText, [
    ['2026-11-20T09:04:00Z', '2026-11-20T09:04:00.000Z'],
    ['2026-11-20T09:04:00.1Z', '2026-11-20T09:04:00.100Z'],
    ['2026-11-20T09:04:00.12Z', '2026-11-20T09:04:00.120Z'],
    ['2026-11-20T09:04:00.123456Z', '2026-11-20T09:04:00.123Z'],
    ['2026-11-20T09:04:00.999999999Z', '2026-11-20T09:04:00.999Z'],
    ['2026-11-20T23:59:59Z', '2026-11-20T23:59:59.000Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ])
})

test('an invalid date-time in UTC is refused', () => {
  refused(timestampText, [
    '2026-02-30T00:00:00Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T23:60:00Z',
    '2026-11-20T23:59:60Z',
  ])
  refused(timestampText, ['2026-11-20 09:04:00Z', '2026-11-20t09:04:00Z', '2026-11-20T09:04:00z', '2026-11-20T09:04Z'])
  refused(timestampText, [
    '2026-11-20T09:04:00',
    '2026-11-20T09:04:00.Z',
    '2026-11-20T09:04:00.1234567890Z',
    '1763629440',
  ])
  refused(timestampText, ['2026-11-20T09:04:00,5Z', '2026-11-20T9:04:00Z', '2026-11-20T09:04:00Z[Europe/Paris]', ''])
  refused(timestampText, ['2026-11-20', '20261120T090400Z', '-2026-11-20T09:04:00Z', '+002026-11-20T09:04:00Z', 'now'])
  refused(timestampText, ['2026-11-20T09:04:00+03:00', '2026-11-20T09:04:00+00:00', '2026-11-20T09:04:00Z\n'])
})

test('offsets are converted to UTC if allowed', () => {
  table(
    (text) => timestampText(text, true),
    [
      ['2026-11-20T09:04:00Z', '2026-11-20T09:04:00.000Z'],
      ['2026-11-20T09:04:00+03:00', '2026-11-20T06:04:00.000Z'],
      ['2026-11-20T09:04:00.5-03:30', '2026-11-20T12:34:00.500Z'],
      ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
      ['2024-02-28T23:00:00-02:00', '2024-02-29T01:00:00.000Z'],
      ['2026-11-20T09:04:00-00:00', '2026-11-20T09:04:00.000Z'],
      ['2026-11-20T09:04:00+23:59', '2026-11-19T09:05:00.000Z'],
    ],
  )
  refused(
    (text) => timestampText(text, true),
    [
      '2026-11-20T09:04:00+24:00',
      '2026-11-20T09:04:00+03:60',
      '2026-11-20T09:04:00+0300',
      '2026-11-20T09:04:00+3',
      '2026-11-20T09:04:00z',
      '2026-02-30T09:04:00+03:00',
      '0000-01-01T00:00:00+00:01',
      '9999-12-31T23:59:59-00:01',
    ],
  )
})

test('a duration has at least one part, and a fraction only in the last one', () => {
  for (const text of ['P3DT4H', 'P1Y', 'P1M', 'PT1M', 'P1Y2M10DT2H30M5S', 'P2W', 'PT0S', 'PT0.5S', 'P1.5D', 'PT36H'])
    assert.equal(durationText(text), text)
  refused(durationText, ['P', 'PT', 'P1', '1D', 'P1DT', 'P1H', 'PT1D', 'P1D2M', 'P1W2D', '-P1D', 'P-1D', '+P1D', 'p1d'])
  refused(durationText, [
    'P1.5DT1H',
    'P1,5D',
    'P.5D',
    'P1.D',
    'PT1H30',
    'P1D ',
    ' P1D',
    'P1D\n',
    '',
    'P1S',
    '86400',
    'P1Y1Y',
  ])
  refused(durationText, ['P1234567890D', 'PT0.1234567890S'])
})

test('an interval has two ends, or one and a duration', () => {
  table(intervalText, [
    ['2026-01-01T00:00:00Z/P1M', '2026-01-01T00:00:00.000Z/P1M'],
    ['P1M/2026-01-01T00:00:00Z', 'P1M/2026-01-01T00:00:00.000Z'],
    ['2026-01-01T00:00:00Z/2026-02-01T00:00:00.5Z', '2026-01-01T00:00:00.000Z/2026-02-01T00:00:00.500Z'],
    ['2026-01-01/2026-02-01', '2026-01-01/2026-02-01'],
    ['2026-01-01/2026-01-01', '2026-01-01/2026-01-01'],
    ['2026-01-01/PT36H', '2026-01-01/PT36H'],
  ])
  refused(intervalText, ['2026-02-01/2026-01-01', 'P1M/P1M', '2026-01-01', '2026-01-01/', '/2026-01-01', '/', ''])
  refused(intervalText, [
    '2026-01-01/2026-02-01/2026-03-01',
    '2026-01-01/2026-02-01T00:00:00Z',
    '2026-01-01--2026-02-01',
  ])
  refused(intervalText, ['2026-01-01/02-01', 'R5/2026-01-01/P1M', '2026-01-01T00:00:00+01:00/P1M', '2026-01-01/P'])
  refused(intervalText, ['2026-02-30/P1M', '2026-01-01T00:00:01Z/2026-01-01T00:00:00Z'])
})

test('an interval accepts offsets if date-times do, and compares its ends in UTC', () => {
  const read = (text: string) => intervalText(text, true)
  table(read, [['2026-01-01T01:00:00+01:00/P1M', '2026-01-01T00:00:00.000Z/P1M']])
  refused(read, ['2026-01-01T00:00:00-01:00/2026-01-01T00:30:00Z'])
})

test('the duration of a setting has a fixed length', () => {
  table(durationMilliseconds, [
    ['PT10S', 10_000],
    ['P30D', 2_592_000_000],
    ['P1W', 604_800_000],
    ['P1DT1H1M1S', 90_061_000],
    ['PT0.5S', 500],
    ['PT0S', 0],
  ])
  refused(durationMilliseconds, ['P1M', 'P1Y', '10', 'PT', ''])
})
