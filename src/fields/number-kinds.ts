/** Number kinds: whole numbers, those of 64 bits, and decimals. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import {
  bigintPattern,
  bigintText,
  decimalPattern,
  decimalText,
  scaledInteger,
  sortableText,
  sortedNumber,
  unitsText,
} from '../formats/number-texts.ts'
import { boundTerms, defaultPrecision, withBounds } from './bounds.ts'
import type { Field } from './field.ts'
import { boundedOptions, type CellForm, countBound, type FieldKind, type SampleSource, textBound } from './kind.ts'
import { pickSample } from './sample.ts'
import { boundsCheck, stringCheck, typeInWords, type ValueCheck, valueInWords } from './value-check.ts'

const isNumber = (read: string): boolean => /^-?\d/.test(read)
const [leastInteger, mostInteger] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]

export const integer: FieldKind = {
  options: boundedOptions,
  order: 'range',
  longest: 17,
  bound: () => [countBound(leastInteger), 'a whole number, as 1'],
  check: integerCheck,
  parse: [(text) => (/^-?(0|[1-9][0-9]*)$/.test(text) ? Number(text) : undefined), 'a whole number'],
  cell: () => ({ type: 'integer', cell: (value) => value as number, value: Number }),
  terms: ({ options: { min = leastInteger, max = mostInteger } }) => ({ min, max }),
  schema: ({ min, max }) => ({
    type: 'integer',
    format: 'int64',
    minimum: min ?? leastInteger,
    maximum: max ?? mostInteger,
  }),
  plain: ({ min, max }) => (Number(min) > 0 ? min : Number(max) < 0 ? max : 0),
  other: ({ max }, plain) => Number(plain) + (Number(plain) === Number(max) ? -1 : 1),
  examples: ({ min, max }) => [1, min, max, 0],
  sample: sampleInteger,
}

export const bigint: FieldKind = {
  options: boundedOptions,
  order: 'range',
  longest: 20,
  bound: () => [
    textBound((one) => (isNumber(bigintText(one)) ? BigInt(one) : undefined)),
    "a whole number as a text, as '1'",
  ],
  check: bigintCheck,
  cell: () => ({ type: 'integer', cell: (value) => BigInt(value as string) }),
  terms: ({ options }) => boundTerms(options, bigintText),
  schema: (terms) => ({
    type: 'string',
    pattern: bigintPattern.source,
    description: withBounds('A whole number of 64 bits.', terms),
  }),
  bare: true,
  plain: ({ min, max }) => min ?? max ?? '0',
  other: ({ max }, plain) => (String(plain) === String(max) ? `${BigInt(String(plain)) - 1n}` : '1'),
  examples: ({ min, max }) => ['1', min, max, '0'],
  sample: sampleBigint,
}

export const decimal: FieldKind = {
  options: [...boundedOptions, 'precision', 'scale'],
  order: 'range',
  longest: 41,
  bound: ({ options: { precision = defaultPrecision, scale = 0 } }) => [
    textBound((one) => (isNumber(decimalText(one, precision, scale)) ? scaledInteger(one, scale) : undefined)),
    `a decimal as a text with up to ${scale} digits after the point, as '1'`,
  ],
  faults: digitFaults,
  check: decimalCheck,
  cell: decimalCell,
  terms: ({ options }) => {
    const { precision = defaultPrecision, scale = 0 } = options
    return { precision, scale, ...boundTerms(options, (text) => decimalText(text, precision, scale)) }
  },
  schema: (terms, use, { shared }) => {
    const { precision = 0, scale = 0, min, max } = terms
    const isAnswered = use === 'answered'
    const { pattern = decimalPattern(precision, scale, isAnswered) } = terms
    const digits = `A decimal number with up to ${precision} digits, ${scale} of them behind the point.`
    const schema = { type: 'string', pattern, description: withBounds(digits, terms) }
    if (min !== undefined || max !== undefined || terms.pattern !== undefined) return schema
    const example = `${precision > scale ? '1' : '0'}${scale === 0 ? '' : `.${'5'.padEnd(scale, '0')}`}`
    return shared(`Decimal${precision}x${scale}${isAnswered ? '' : 'Input'}`, { ...schema, examples: [example] })
  },
  bare: true,
  plain: ({ min, max, scale = 0 }) => min ?? max ?? (0).toFixed(scale),
  other: ({ max, scale = 0 }, plain) => (Number(plain) + (String(plain) === String(max) ? -1 : 1)).toFixed(scale),
  examples: ({ min, max, scale = 0 }) => [(10).toFixed(scale), min, max, (1).toFixed(scale), (0).toFixed(scale)],
  sample: sampleDecimal,
}

/** The mistakes in the digits of a decimal. */
function* digitFaults({ options: { precision = defaultPrecision, scale } }: Field) {
  if (!isWithin(precision, 1, 38))
    yield [`\`precision\` is ${valueInWords(precision)}.`, 'Write the total number of digits, 1 to 38.'] as const
  else if (!isWithin(scale, 0, precision)) {
    const mend = `Write the number of digits after the point, 0 to ${precision}, as scale: 2.`
    yield [`\`scale\` is ${valueInWords(scale)}.`, mend] as const
  }
}

const isWithin = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most

function integerCheck({ options }: Field): ValueCheck {
  const { min = leastInteger, max = mostInteger } = options as { min?: number; max?: number }
  return (value, at, faults) => {
    if (typeof value !== 'number')
      return addViolation(faults, at, 'invalid-type', `must be a whole number, not ${typeInWords(value)}.`)
    if (!Number.isInteger(value)) return addViolation(faults, at, 'invalid-type', 'must be a whole number.')
    if (value < min) return addViolation(faults, at, 'out-of-range', `must be at least ${min}.`)
    if (value > max) return addViolation(faults, at, 'out-of-range', `must be at most ${max}.`)
    return value === 0 ? 0 : value // -0 is 0
  }
}

function bigintCheck(field: Field): ValueCheck {
  const bounds = boundsCheck(field, (one) => BigInt(one))
  return stringCheck((value, at, faults) => {
    const read = bigintText(value)
    if (read === 'format')
      return addViolation(faults, at, 'invalid-format', 'must be a whole number as a string, as "42".')
    if (read === 'range') return addViolation(faults, at, 'out-of-range', 'must fit 64 bits.')
    return bounds(read, at, faults)
  }, 'a whole number as a string, as "42"')
}

function decimalCheck(field: Field): ValueCheck {
  const { precision = defaultPrecision, scale = 0 } = field.options
  const example = scale === 0 ? '"10"' : `"10.${'5'.padEnd(scale, '0')}"`
  const bounds = boundsCheck(field, (one) => scaledInteger(one, scale))
  return stringCheck((value, at, faults) => {
    const read = decimalText(value, precision, scale)
    if (read === 'format')
      return addViolation(faults, at, 'invalid-format', `must be a decimal number as a string, as ${example}.`)
    if (read === 'digits')
      return addViolation(faults, at, 'out-of-range', `must have at most ${scale} digits after the point.`)
    if (read === 'range')
      return addViolation(faults, at, 'out-of-range', `must have at most ${precision - scale} digits before the point.`)
    return bounds(read, at, faults)
  }, `a decimal number as a string, as ${example}`)
}

/** A decimal as a whole number of its smallest steps: a 64-bit column up to 18 digits, else a sortable text. */
function decimalCell({ precision = defaultPrecision, scale = 0 }: Field['options']): CellForm {
  const number = (value: unknown) => clampToPrecision(scaledInteger(value as string, scale), precision)
  const how = `${precision}.${scale}`
  if (precision <= 18) return { type: 'integer', how, cell: number, value: (text) => unitsText(BigInt(text), scale) }
  return {
    type: 'text',
    how,
    cell: (value) => sortableText(number(value), precision),
    value: (text) => unitsText(sortedNumber(text, precision), scale),
  }
}

/** Limits a number to the declared digits; rows of an earlier declaration that have more sort first or last. */
function clampToPrecision(value: bigint, precision: number): bigint {
  const most = 10n ** BigInt(precision) - 1n
  return value > most ? most : value < -most ? -most : value
}

function sampleNumber({ options: { min, max } }: Field, source: SampleSource): number {
  const [least, most] = [Number(min ?? -1e6), Number(max ?? 1e6)]
  const near = [0, 1, -1, 10, 99, 100, 101, 1000, least, most, least + 1, most - 1]
  const value =
    source.below(3) === 0 ? pickSample(near, source) : least + (source.below(0x7fffffff) / 0x7fffffff) * (most - least)
  return Math.trunc(Math.min(most, Math.max(least, value)))
}

function sampleInteger(field: Field, source: SampleSource): number {
  if (!source.sent) return sampleNumber(field, source)
  const [min, max] = [Number(field.options.min ?? leastInteger), Number(field.options.max ?? mostInteger)]
  const { mostlySmall } = source.sent
  const nearest = Math.min(Math.max(0, min), max)
  const isBelow = source.below(3) === 2 && min < nearest
  return isBelow ? nearest - mostlySmall(nearest - min + 1) : nearest + mostlySmall(max - nearest + 1)
}

function sampleBigint(field: Field, source: SampleSource): string {
  if (!source.sent) return String(sampleNumber(field, source))
  const [min = -(2n ** 63n), max = 2n ** 63n - 1n] = unitsOfBounds(field, 0)
  return String(sentUnits(min, max, source))
}

function sampleDecimal(field: Field, source: SampleSource): string {
  const { scale = 0, precision = defaultPrecision, min } = field.options
  if (source.sent) {
    const greatest = 10n ** BigInt(precision) - 1n
    const [least = -greatest, most = greatest] = unitsOfBounds(field, scale)
    return unitsText(sentUnits(least, most, source), scale)
  }
  const whole = Math.abs(sampleNumber(field, source)) % 10 ** Math.min(15, Math.max(1, precision - scale))
  const part = scale === 0 ? '' : `.${String(source.below(10 ** Math.min(9, scale))).padStart(scale, '0')}`
  return `${Number(min ?? -1) < 0 && whole > 0 && source.below(4) === 0 ? '-' : ''}${whole}${part}`
}

/** The bounds as whole numbers of the smallest step. */
const unitsOfBounds = ({ options: { min, max } }: Field, scale: number) =>
  [min, max].map((bound) => (bound === undefined ? undefined : scaledInteger(String(bound), scale)))

/** A number within bounds: the least, the greatest, or one that is mostly small. */
function sentUnits(least: bigint, most: bigint, { below, sent }: SampleSource): bigint {
  const way = below(6)
  if (way >= 4) return way === 4 ? least : most
  const value = BigInt(sent?.mostlySmall(mostInteger) ?? 0)
  return value < least ? least : value > most ? most : value
}
