/** Number texts: 64-bit integers and decimals, which are texts in JSON because many readers round numbers. Part 2, fields. */

export const bigintPattern = /^-?(0|[1-9][0-9]{0,18})$/
const decimalParts = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/
const leastBigint = -(2n ** 63n)
const greatestBigint = 2n ** 63n - 1n

/** The pattern of a decimal in answers (`padded` to its scale) or in requests. R44. */
export function decimalPattern(precision: number, scale: number, padded: boolean): string {
  const units = precision > scale ? `(0|[1-9][0-9]{0,${precision - scale - 1}})` : '0'
  const fraction = padded ? `\\.[0-9]{${scale}}` : `(\\.[0-9]{1,${scale}})?`
  return `^-?${units}${scale === 0 ? '' : fraction}$`
}

/** The canonical text of a 64-bit number, or the reason for refusing it. */
export function bigintText(text: string): string | 'format' | 'range' {
  if (!bigintPattern.test(text)) return /^-?[1-9][0-9]{19,}$/.test(text) ? 'range' : 'format'
  const value = BigInt(text)
  return value < leastBigint || value > greatestBigint ? 'range' : String(value)
}

/** The text of a decimal padded to its scale, or the reason for refusing it. R44. */
export function decimalText(text: string, precision: number, scale: number): string | 'format' | 'digits' | 'range' {
  const [, sign, units, fraction = ''] = decimalParts.exec(text) ?? []
  if (units === undefined) return 'format'
  if (fraction.length > scale) return 'digits'
  if ((units === '0' ? 0 : units.length) > precision - scale) return 'range'
  const digits = scale === 0 ? units : `${units}.${fraction.padEnd(scale, '0')}`
  return sign && /[1-9]/.test(digits) ? `-${digits}` : digits
}

/** A decimal as a whole number of its smallest steps, for comparisons; digits beyond the scale are ignored. */
export function scaledInteger(text: string, scale: number): bigint {
  const [units = '', fraction = ''] = text.split('.')
  return BigInt(units + fraction.padEnd(scale, '0').slice(0, scale))
}

/** A whole number as a text that sorts like the number, for precisions beyond 64 bits. */
export function sortableText(value: bigint, digits: number): string {
  if (value >= 0n) return `1${String(value).padStart(digits, '0')}`
  return `0${String(10n ** BigInt(digits) + value).padStart(digits, '0')}`
}

/** The whole number of a text that `sortableText` has made. */
export function sortedNumber(text: string, digits: number): bigint {
  const size = BigInt(text.slice(1))
  return text.startsWith('1') ? size : size - 10n ** BigInt(digits)
}

/** A whole number of smallest steps as a decimal. */
export function unitsText(units: bigint, scale: number): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return units < 0n ? `-${text}` : text
}
