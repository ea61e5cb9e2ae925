/** Time kinds: times, dates, durations and intervals. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import { dateText, durationText, intervalText, timestampText } from '../formats/time.ts'
import type { Field } from './field.ts'
import { boundedOptions, type FieldKind, generalOptions, textBound } from './kind.ts'
import { formatCheck, type ValueCheck } from './value-check.ts'

export const timestamp: FieldKind = {
  options: boundedOptions,
  order: 'range',
  longest: 24,
  bound: (_, { dates }) => [
    textBound((one) => timestampText(one, dates.acceptOffsets)),
    "a date-time as '2026-01-31T09:30:00Z'",
  ],
  check: (field, { settings }) =>
    momentCheck(
      field,
      (value) => timestampText(value, settings.dates.acceptOffsets),
      'a date-time in UTC, as "2026-01-31T09:30:00Z"',
    ),
  plain: ({ min, max }) => min ?? max ?? '1970-01-01T00:00:00.000Z',
  other: () => '2000-01-31T09:30:00.000Z',
}

export const date: FieldKind = {
  options: boundedOptions,
  order: 'range',
  longest: 10,
  bound: () => [textBound(dateText), "a date as '2026-01-31'"],
  check: (field) => momentCheck(field, dateText, 'a calendar date, as "2026-01-31"'),
  plain: ({ min, max }) => min ?? max ?? '1970-01-01',
  other: () => '2000-01-31',
}

export const duration: FieldKind = {
  options: generalOptions,
  order: 'equality',
  longest: 100,
  check: () => formatCheck(durationText, 'an ISO 8601 duration, as "P3DT4H"'),
  plain: () => 'PT0S',
  other: () => 'P1D',
}

export const interval: FieldKind = {
  options: generalOptions,
  order: 'equality',
  longest: 100,
  check: (_, { settings }) =>
    formatCheck(
      (value) => intervalText(value, settings.dates.acceptOffsets),
      'an ISO 8601 interval, as "2026-01-01T00:00:00Z/P1M"',
    ),
  plain: () => '1970-01-01T00:00:00.000Z/PT0S',
  other: () => '2000-01-31T09:30:00.000Z/P1D',
}

function momentCheck(
  { options: { min, max } }: Field,
  read: (text: string) => string | undefined,
  what: string,
): ValueCheck {
  const [least, most] = [min, max].map((bound) => (bound === undefined ? undefined : read(String(bound))))
  const format = formatCheck(read, what)
  return (value, at, faults) => {
    const made = format(value, at, faults)
    if (typeof made !== 'string') return undefined
    if (least !== undefined && made < least)
      return addViolation(faults, at, 'out-of-range', `must be at or after ${least}.`)
    if (most !== undefined && made > most)
      return addViolation(faults, at, 'out-of-range', `must be at or before ${most}.`)
    return made
  }
}
