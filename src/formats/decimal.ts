/** Decimal: exact arithmetic with decimals as texts, because JavaScript numbers lose cents. Part 2, fields. */
import { unitsText } from './number-texts.ts'

/** A number for exact arithmetic: a decimal as a text, or a whole number. */
export type DecimalValue = string | number | bigint

/** How a value halfway between two steps is rounded: away from zero, or to the even neighbour. */
export type Rounding = 'half-up' | 'half-even'

/** A decimal as an integer in units of its last digit. */
interface Scaled {
  readonly units: bigint
  readonly scale: number
}

const pattern = /^(-?)(\d+)(?:\.(\d+))?$/

function scaled(value: DecimalValue): Scaled {
  const [, sign = '', units, fraction = ''] = pattern.exec(String(value)) ?? []
  if (units === undefined)
    throw new TypeError(`${JSON.stringify(String(value))} is not a decimal; write digits, as '12.50'.`)
  return { units: BigInt(`${sign}${units}${fraction}`), scale: fraction.length }
}

const textOf = ({ units, scale }: Scaled): string => unitsText(units, scale)

const power = (scale: number): bigint => 10n ** BigInt(scale)

/** Both numbers as integers in units of the finer one. */
function aligned(a: DecimalValue, b: DecimalValue): readonly [one: bigint, other: bigint, scale: number] {
  const [one, other] = [scaled(a), scaled(b)]
  const scale = Math.max(one.scale, other.scale)
  return [one.units * power(scale - one.scale), other.units * power(scale - other.scale), scale]
}

/**
 * The exact sum, with the digits of the finer number.
 * @example plus('10.00', '5.5') // '15.50'
 */
export function plus(a: DecimalValue, b: DecimalValue): string {
  const [one, other, scale] = aligned(a, b)
  return textOf({ units: one + other, scale })
}

/**
 * The exact difference, with the digits of the finer number.
 * @example minus('10.00', '0.5') // '9.50'
 */
export function minus(a: DecimalValue, b: DecimalValue): string {
  const [one, other, scale] = aligned(a, b)
  return textOf({ units: one - other, scale })
}

/**
 * The exact product, with the digits of both numbers together.
 * @example times('19.99', 3) // '59.97'
 */
export function times(a: DecimalValue, b: DecimalValue): string {
  const [one, other] = [scaled(a), scaled(b)]
  return textOf({ units: one.units * other.units, scale: one.scale + other.scale })
}

/**
 * The number rounded to some digits after the point. A half is rounded away from zero, or to the even neighbour.
 * @example round('2.345', 2) // '2.35'; round('2.345', 2, 'half-even') is '2.34'
 */
export function round(value: DecimalValue, scale: number, mode: Rounding = 'half-up'): string {
  const decimal = scaled(value)
  if (decimal.scale <= scale) return textOf({ units: decimal.units * power(scale - decimal.scale), scale })
  return textOf({ units: quotient(decimal.units, power(decimal.scale - scale), mode), scale })
}

/**
 * The quotient with some digits after the point, rounded like `round`.
 * @example divide('10', '3', 2) // '3.33'
 */
export function divide(a: DecimalValue, b: DecimalValue, scale: number, mode: Rounding = 'half-up'): string {
  const [one, other] = aligned(a, b)
  if (other === 0n) throw new RangeError('A decimal cannot be divided by zero.')
  return textOf({ units: quotient(one * power(scale), other, mode), scale })
}

/**
 * -1, 0 or 1: whether the first number is less than, equal to or greater than the second.
 * @example compare('10.0', '10.00') // 0
 */
export function compare(a: DecimalValue, b: DecimalValue): -1 | 0 | 1 {
  const [one, other] = aligned(a, b)
  return one < other ? -1 : one > other ? 1 : 0
}

function quotient(units: bigint, divisor: bigint, mode: Rounding): bigint {
  const [size, by] = [units < 0n ? -units : units, divisor < 0n ? -divisor : divisor]
  const [whole, twice] = [size / by, (size % by) * 2n]
  const up = twice > by || (twice === by && (mode === 'half-up' || whole % 2n === 1n))
  const rounded = up ? whole + 1n : whole
  return units < 0n !== divisor < 0n ? -rounded : rounded
}
