/** Time kinds: times, dates, durations and intervals. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import {
  dateText,
  durationPattern,
  durationText,
  intervalPattern,
  intervalText,
  timestampPattern,
  timestampText,
} from '../formats/time-texts.ts'
import { boundTerms, withBounds } from './bounds.ts'
import type { Field } from './field.ts'
import { boundedOptions, type FieldKind, generalOptions, type SampleSource, textBound } from './kind.ts'
import { pickSample } from './sample.ts'
import { formatCheck, type ValueCheck } from './value-check.ts'

const moment = { options: boundedOptions, order: 'range' } as const

export const timestamp: FieldKind = {
  ...moment,
  longest: 24,
  bound: (_, { dates }) => [
    textBound((one) => timestampText(one, dates.acceptOffsets)),
    "a date-time as '2026-01-31T09:30:00Z'",
  ],
  check: (field, { settings }) =>
    momentCheck(
      field,
      (value) => timestampText(value, settings.dates.acceptOffsets),
      `a date-time ${settings.dates.acceptOffsets ? 'with its offset' : 'in UTC'}, as "2026-01-31T09:30:00Z"`,
    ),
  terms: ({ options }, { settings }) =>
    boundTerms(options, (text) => timestampText(text, settings.dates.acceptOffsets)),
  schema: (terms, _, { zone, shared }) => {
    const description = withBounds('', terms)
    const schema = { type: 'string', format: 'date-time', pattern: timestampPattern(zone) }
    if (description !== undefined) return { ...schema, description }
    return shared(zone === 'written' ? 'Timestamp' : 'TimestampInput', {
      ...schema,
      examples: ['2026-01-31T09:30:00.000Z'],
    })
  },
  bare: true,
  plain: ({ min, max }) => min ?? max ?? '1970-01-01T00:00:00.000Z',
  other: () => '2000-01-31T09:30:00.000Z',
  examples: ({ min, max }) => ['2026-01-31T09:30:00Z', min, max],
  sample: (field, source) => sampleMoment(field, source).toISOString(),
}

export const date: FieldKind = {
  ...moment,
  longest: 10,
  bound: () => [textBound(dateText), "a date as '2026-01-31'"],
  check: (field) => momentCheck(field, dateText, 'a calendar date, as "2026-01-31"'),
  terms: ({ options }) => boundTerms(options, dateText),
  schema: (terms) => ({ type: 'string', format: 'date', description: withBounds('', terms) }),
  bare: '[0-9]{4}-[0-9]{2}-[0-9]{2}',
  plain: ({ min, max }) => min ?? max ?? '1970-01-01',
  other: () => '2000-01-31',
  examples: ({ min, max }) => ['2026-01-31', min, max],
  sample: (field, source) => sampleMoment(field, source).toISOString().slice(0, 10),
}

const span = { options: generalOptions, order: 'equality', longest: 100 } as const

export const duration: FieldKind = {
  ...span,
  check: () => formatCheck(durationText, 'an ISO 8601 duration, as "P3DT4H"'),
  schema: (_, __, { shared }) =>
    shared('Duration', {
      ...{ type: 'string', pattern: durationPattern, maxLength: 100, examples: ['P3D'] },
      description: 'A duration of ISO 8601; only its last part may have a fraction.',
    }),
  plain: () => 'PT0S',
  other: () => 'P1D',
  examples: () => ['P3D'],
  sample: (_, source) =>
    pickSample(
      ['PT0S', 'P1D', 'PT90M', 'P1Y2M', 'P3W', ...(source.sent ? ['P3Y6M4DT12H30M5S', 'PT0.5S'] : [])],
      source,
    ),
}

export const interval: FieldKind = {
  ...span,
  check: (_, { settings }) =>
    formatCheck(
      (value) => intervalText(value, settings.dates.acceptOffsets),
      'an ISO 8601 interval, as "2026-01-01T00:00:00Z/P1M"',
    ),
  schema: (_, __, { zone, shared }) =>
    shared(zone === 'written' ? 'Interval' : 'IntervalInput', {
      ...{ type: 'string', pattern: intervalPattern(zone), maxLength: 100, examples: ['2026-01-01T00:00:00.000Z/P1M'] },
      description: 'An interval of ISO 8601.',
    }),
  plain: () => '1970-01-01T00:00:00.000Z/PT0S',
  other: () => '2000-01-31T09:30:00.000Z/P1D',
  examples: () => ['2026-01-01T00:00:00Z/P1M'],
  sample: (field, source) =>
    source.sent && source.below(2) === 1
      ? pickSample(['2026-01-01/2026-02-01', 'P1D/2026-01-01'], source)
      : `${sampleMoment(field, source).toISOString()}/${pickSample(['PT1H', 'P1D', 'P2W'], source)}`,
}

/** A whole second from 1970 on; in a request, one between the bounds. */
function sampleMoment({ options: { min, max } }: Field, { below, sent }: SampleSource): Date {
  const [least, most] = [min, max].map((bound) => (bound === undefined ? undefined : Date.parse(String(bound))))
  if (!sent || (least === undefined && most === undefined)) return new Date(below(0xffffffff) * 1000)
  const from = least ?? Math.min(0, Number(most) - century)
  const to = most ?? from + century
  const seconds = below(Math.floor((to - from) / 1000) + 1)
  return new Date(from + seconds * 1000)
}

const century = 100 * 365 * 86_400_000

function momentCheck(
  { options: { min, max } }: Field,
  read: (text: string) => string | undefined,
  what: string,
): ValueCheck {
  const [least, most] = [min, max].map((bound) => (bound === undefined ? undefined : read(String(bound))))
  const format = formatCheck(read, what)
  return (value, at, faults) => {
    const text = format(value, at, faults)
    if (typeof text !== 'string') return undefined
    if (least !== undefined && text < least)
      return addViolation(faults, at, 'out-of-range', `must be at or after ${least}.`)
    if (most !== undefined && text > most)
      return addViolation(faults, at, 'out-of-range', `must be at or before ${most}.`)
    return text
  }
}
