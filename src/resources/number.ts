/** Whole numbers of 64 bits and decimals, which travel as strings so that nothing is lost. Part 2, resources and their fields. */

const whole = /^-?(0|[1-9][0-9]{0,18})$/
const fractional = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/
const least = -(2n ** 63n)
const most = 2n ** 63n - 1n

/** The text of a 64-bit number, or why it is none. */
export function bigint(text: string): string | 'format' | 'range' {
  if (!whole.test(text)) return /^-?[1-9][0-9]{19,}$/.test(text) ? 'range' : 'format'
  const value = BigInt(text)
  return value < least || value > most ? 'range' : String(value)
}

/** The text of a decimal padded to its scale, or why it is none. R44. */
export function decimal(text: string, precision: number, scale: number): string | 'format' | 'digits' | 'range' {
  const [, sign, units, fraction = ''] = fractional.exec(text) ?? []
  if (units === undefined) return 'format'
  if (fraction.length > scale) return 'digits'
  if ((units === '0' ? 0 : units.length) > precision - scale) return 'range'
  const digits = scale === 0 ? units : `${units}.${fraction.padEnd(scale, '0')}`
  return sign && /[1-9]/.test(digits) ? `-${digits}` : digits
}

/** A decimal of a known scale as a whole number of its smallest steps, for comparing. */
export function scaled(text: string, scale: number): bigint {
  const [units = '', fraction = ''] = text.split('.')
  return BigInt(units + fraction.padEnd(scale, '0'))
}

/** A whole number of any size as text whose order is that of the numbers: for precisions beyond 64 bits. */
export function sortable(value: bigint, digits: number): string {
  if (value >= 0n) return `1${String(value).padStart(digits, '0')}`
  return `0${String(10n ** BigInt(digits) + value).padStart(digits, '0')}`
}
