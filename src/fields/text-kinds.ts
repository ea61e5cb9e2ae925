/** Text kinds: texts, e-mail addresses and URLs. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import { emailPattern, urlPattern } from '../formats/web-addresses.ts'
import { lengthsOf } from './bounds.ts'
import type { Field } from './field.ts'
import { type BoundReader, boundedOptions, countBound, type FieldKind } from './kind.ts'
import { codePoints, stringCheck, type ValueCheck } from './value-check.ts'

const textual = {
  options: [...boundedOptions, 'pattern', 'fold'],
  order: 'range',
  bound: (): BoundReader => [countBound(0), 'a whole number from 0, as 1'],
} as const

export const text: FieldKind = {
  ...textual,
  check: textCheck,
  plain: ({ min, max }) => 'unknown'.slice(0, Number(max ?? 7)).padEnd(Number(min ?? 0), '.'),
  other: (_, plain) => `v${String(plain).slice(1)}`,
}

export const email: FieldKind = {
  ...textual,
  check: (field) => checkBoth(textCheck(field), matchCheck(isEmail, 'must be an e-mail address, as ann@example.com.')),
  plain: () => 'nobody@example.com',
  other: () => 'somebody@example.com',
}

export const url: FieldKind = {
  ...textual,
  check: (field) => checkBoth(textCheck(field), matchCheck(isUrl, 'must be an absolute http or https URL.')),
  plain: () => 'https://example.com/',
  other: () => 'https://example.com/other',
}

function checkBoth(first: ValueCheck, second: ValueCheck): ValueCheck {
  return (value, at, faults) => {
    const before = faults.length
    const read = first(value, at, faults)
    return faults.length > before ? undefined : second(read, at, faults)
  }
}

function matchCheck(test: (text: string) => boolean, says: string): ValueCheck {
  return (value, at, faults) => (test(value as string) ? value : addViolation(faults, at, 'invalid-format', says))
}

function textCheck(field: Field): ValueCheck {
  const [{ min, max }, { pattern }] = [lengthsOf(field), field.options]
  const expression = pattern === undefined ? undefined : new RegExp(pattern, 'u')
  return stringCheck((value, at, faults) => {
    const length = value.length <= max && value.length >= min * 2 ? value.length : codePoints(value)
    if (length > max) return addViolation(faults, at, 'too-long', `must be at most ${max} characters long.`)
    if (length < min) return addViolation(faults, at, 'too-short', `must be at least ${min} characters long.`)
    if (expression && !expression.test(value))
      return addViolation(faults, at, 'invalid-format', `must match ${pattern}.`)
    return value
  })
}

const isEmail = (value: string): boolean => emailPattern.test(value)

const isUrl = (value: string): boolean => urlPattern.test(value) && URL.canParse(value)
