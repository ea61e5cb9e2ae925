/** Value check: checks values against fields, and converts them to canonical form. Part 2, fields. */
import { isDeepStrictEqual } from 'node:util'
import { addViolation } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import type { ValueCheck } from './check-members.ts'
import type { Field } from './field.ts'
import { fieldKind, type ValueRules } from './kind.ts'

export type { ValueCheck } from './check-members.ts'

/** The check of a field, null included. */
export function valueCheckOf(field: Field, rules: ValueRules): ValueCheck {
  const check = fieldKind(field.kind, rules.kinds).check(field, rules)
  const optional = field.options.optional === true
  return (value, at, faults, seen) => {
    if (value === null && (optional || seen === null)) return null
    if (value === null) return addViolation(faults, at, 'field-required', 'is required and cannot be null.')
    const before = faults.length
    const result = check(value, at, faults, seen)
    if (faults.length === before || seen === undefined || !isDeepStrictEqual(value, seen)) return result
    faults.length = before
    return seen
  }
}

/** The value of a field that is left out: the default, null or the kind's empty value; undefined if it is required. */
export function absentValue(
  { kind, options }: Field,
  { kinds }: Pick<ValueRules, 'kinds'>,
  check?: ValueCheck,
): unknown {
  if (options.default !== undefined) return check?.(options.default, '', []) ?? options.default
  return options.optional ? null : fieldKind(kind, kinds).empty?.(options)
}

/** The first mistake of a value; undefined if its check accepts it. */
export function firstFault(check: ValueCheck, value: unknown, at = ''): Violation | undefined {
  const faults: Violation[] = []
  check(value, at, faults)
  return faults[0]
}

export function stringCheck(
  check: (value: string, at: string, faults: Violation[]) => unknown,
  what = 'a string',
): ValueCheck {
  return (value, at, faults) => {
    if (typeof value === 'string') return check(value, at, faults)
    return addViolation(faults, at, 'invalid-type', `must be ${what}, not ${typeInWords(value)}.`)
  }
}

export function typeInWords(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return (
    { number: 'a number', boolean: 'a boolean', string: 'a string', undefined: 'missing' }[typeof value as string] ??
    'an object'
  )
}

/** A value as text for messages. */
export function valueInWords(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'function') return 'a function'
  return /^(number|boolean|bigint)$/.test(typeof value) ? String(value) : typeInWords(value)
}

/** Bounds of numbers that are strings, compared as numbers. */
export function boundsCheck({ options: { min, max } }: Field, number: (text: string) => bigint) {
  const least = min === undefined ? undefined : number(String(min))
  const most = max === undefined ? undefined : number(String(max))
  return (value: string, at: string, faults: Violation[]): unknown => {
    if (least !== undefined && number(value) < least)
      return addViolation(faults, at, 'out-of-range', `must be at least ${min}.`)
    if (most !== undefined && number(value) > most)
      return addViolation(faults, at, 'out-of-range', `must be at most ${max}.`)
    return value
  }
}

/** A value that is not a text is reported as a wrong format too. R39. */
export function formatCheck(read: (text: string) => string | undefined, what: string): ValueCheck {
  return (value, at, faults) => {
    const result = typeof value === 'string' && value.length <= 100 ? read(value) : undefined
    return result ?? addViolation(faults, at, 'invalid-format', `must be ${what}.`)
  }
}

export function codePoints(value: string): number {
  let count = 0
  for (const _ of value) count++
  return count
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
