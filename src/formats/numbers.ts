/** Numbers that travel as text, because JSON readers round them: 64-bit integers and decimals. Part 2, fields. */

export const bigintPattern = /^-?(0|[1-9][0-9]{0,18})$/
const decimalParts = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/
const leastBigint = -(2n ** 63n)
const greatestBigint = 2n ** 63n - 1n

/** The pattern of a decimal: as it is answered, padded to its scale, or as it may be sent. R44. */
export function decimalPattern(precision: number, scale: number, padded: boolean): string {
  const units = precision > scale ? `(0|[1-9][0-9]{0,${precision - scale - 1}})` : '0'
  const fraction = padded ? `\\.[0-9]{${scale}}` : `(\\.[0-9]{1,${scale}})?`
  return `^-?${units}${scale === 0 ? '' : fraction}$`
}

/** The text of a 64-bit number, or why it is none. */
export function bigintText(text: string): string | 'format' | 'range' {
  if (!bigintPattern.test(text)) return /^-?[1-9][0-9]{19,}$/.test(text) ? 'range' : 'format'
  const value = BigInt(text)
  return value < leastBigint || value > greatestBigint ? 'range' : String(value)
}

/** The text of a decimal padded to its scale, or why it is none. R44. */
export function decimalText(text: string, precision: number, scale: number): string | 'format' | 'digits' | 'range' {
  const [, sign, units, fraction = ''] = decimalParts.exec(text) ?? []
  if (units === undefined) return 'format'
  if (fraction.length > scale) return 'digits'
  if ((units === '0' ? 0 : units.length) > precision - scale) return 'range'
  const digits = scale === 0 ? units : `${units}.${fraction.padEnd(scale, '0')}`
  return sign && /[1-9]/.test(digits) ? `-${digits}` : digits
}

/** A decimal of a known scale as a whole number of its smallest steps, for comparing; digits beyond the scale do not count. */
export function scaledInteger(text: string, scale: number): bigint {
  const [units = '', fraction = ''] = text.split('.')
  return BigInt(units + fraction.padEnd(scale, '0').slice(0, scale))
}

/** A whole number of any size as text whose order is that of the numbers: for precisions beyond 64 bits. */
export function sortableText(value: bigint, digits: number): string {
  if (value >= 0n) return `1${String(value).padStart(digits, '0')}`
  return `0${String(10n ** BigInt(digits) + value).padStart(digits, '0')}`
}
