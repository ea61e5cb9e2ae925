/** Number kinds: whole numbers, those of 64 bits, and decimals. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import { bigintText, decimalText, scaledInteger } from '../formats/numbers.ts'
import { defaultPrecision } from './bounds.ts'
import type { Field } from './field.ts'
import { boundedOptions, countBound, type FieldKind, textBound } from './kind.ts'
import { boundsCheck, stringCheck, typeInWords, type ValueCheck } from './value-check.ts'

const isNumber = (read: string): boolean => /^-?\d/.test(read)

export const integer: FieldKind = {
  options: boundedOptions,
  order: 'range',
  longest: 17,
  bound: () => [countBound(Number.MIN_SAFE_INTEGER), 'a whole number, as 1'],
  check: integerCheck,
  plain: ({ min, max }) => (Number(min) > 0 ? min : Number(max) < 0 ? max : 0),
  other: ({ max }, plain) => Number(plain) + (Number(plain) === Number(max) ? -1 : 1),
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
  plain: ({ min, max }) => min ?? max ?? '0',
  other: ({ max }, plain) => (String(plain) === String(max) ? `${BigInt(String(plain)) - 1n}` : '1'),
}

export const decimal: FieldKind = {
  options: [...boundedOptions, 'precision', 'scale'],
  order: 'range',
  longest: 41,
  bound: ({ options: { precision = defaultPrecision, scale = 0 } }) => [
    textBound((one) => (isNumber(decimalText(one, precision, scale)) ? scaledInteger(one, scale) : undefined)),
    `a decimal as a text with up to ${scale} digits after the point, as '1'`,
  ],
  check: decimalCheck,
  plain: ({ min, max, scale = 0 }) => min ?? max ?? (0).toFixed(scale),
  other: ({ max, scale = 0 }, plain) => (Number(plain) + (String(plain) === String(max) ? -1 : 1)).toFixed(scale),
}

function integerCheck({ options }: Field): ValueCheck {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = options as { min?: number; max?: number }
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
