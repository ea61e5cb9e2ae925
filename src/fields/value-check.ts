/** Checks values against their fields and writes them in one form; every mistake is reported with its place. Part 2, fields. */
import { isDeepStrictEqual } from 'node:util'
import { addViolation, escapePointer } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import { countryCodes, currencyCodes } from '../formats/codes.ts'
import { listInWords } from '../formats/naming.ts'
import { bigintText, decimalText, scaledInteger } from '../formats/numbers.ts'
import { dateText, durationText, intervalText, timestampText } from '../formats/time.ts'
import { emailPattern, urlPattern } from '../formats/web-addresses.ts'
import type { Settings } from '../settings.ts'
import { defaultPrecision, lengthsOf } from './bounds.ts'
import { checkMembers, type ValueCheck } from './check-members.ts'
import type { Field, Fields } from './field.ts'

export type { ValueCheck } from './check-members.ts'

/** What a check needs to know besides its field. */
export interface ValueRules {
  readonly settings: Settings
  readonly isId: (resource: string, text: string) => boolean
}

/** The check of a field, null included. */
export function valueCheckOf(field: Field, rules: ValueRules): ValueCheck {
  const check = checkMakers[field.kind](field, rules)
  const optional = field.options.optional === true
  return (value, at, faults, seen) => {
    if (value === null && (optional || seen === null)) return null
    if (value === null) return addViolation(faults, at, 'field-required', 'is required and cannot be null.')
    const before = faults.length
    const made = check(value, at, faults, seen)
    if (faults.length === before || seen === undefined || !isDeepStrictEqual(value, seen)) return made
    faults.length = before
    return seen
  }
}

type MakeCheck = (field: Field, rules: ValueRules) => ValueCheck

const checkMakers: Record<Field['kind'], MakeCheck> = {
  text: textCheck,
  email: (field) => checkBoth(textCheck(field), matchCheck(isEmail, 'must be an e-mail address, as ann@example.com.')),
  url: (field) => checkBoth(textCheck(field), matchCheck(isUrl, 'must be an absolute http or https URL.')),
  integer: integerCheck,
  bigint: (field) => {
    const bounds = boundsCheck(field, (one) => BigInt(one))
    return stringCheck((value, at, faults) => {
      const read = bigintText(value)
      if (read === 'format')
        return addViolation(faults, at, 'invalid-format', 'must be a whole number as a string, as "42".')
      if (read === 'range') return addViolation(faults, at, 'out-of-range', 'must fit 64 bits.')
      return bounds(read, at, faults)
    }, 'a whole number as a string, as "42"')
  },
  decimal: decimalCheck,
  boolean: () => (value, at, faults) =>
    typeof value === 'boolean' ? value : addViolation(faults, at, 'invalid-type', 'must be true or false.'),
  timestamp: (field, { settings }) =>
    momentCheck(
      field,
      (value) => timestampText(value, settings.dates.acceptOffsets),
      'a date-time in UTC, as "2026-01-31T09:30:00Z"',
    ),
  date: (field) => momentCheck(field, dateText, 'a calendar date, as "2026-01-31"'),
  duration: () => formatCheck(durationText, 'an ISO 8601 duration, as "P3DT4H"'),
  interval: (_, { settings }) =>
    formatCheck(
      (value) => intervalText(value, settings.dates.acceptOffsets),
      'an ISO 8601 interval, as "2026-01-01T00:00:00Z/P1M"',
    ),
  enum: ({ values = [] }) => memberCheck(new Set(values), `one of ${listInWords(values)}`),
  country: () => memberCheck(countryCodes, 'a country code of ISO 3166, as "IT"'),
  currency: () => memberCheck(currencyCodes, 'a currency code of ISO 4217, as "EUR"'),
  ref: ({ target = '' }, { isId }) =>
    stringCheck((value, at, faults) => {
      if (isId(target, value)) return value
      return addViolation(faults, at, 'invalid-format', `must be the id of one of ${target}.`)
    }, `the id of one of ${target}`),
  list: listCheck,
  object: ({ fields = {} }, rules) => objectCheck(fields, rules),
  metadata: (_, { settings }) => metadataCheck(settings),
  concept: ({ target }) => {
    throw new Error(`Concept ${target} was not resolved.`)
  },
}

function stringCheck(
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

function codePoints(value: string): number {
  let count = 0
  for (const _ of value) count++
  return count
}

const isEmail = (value: string): boolean => emailPattern.test(value)

const isUrl = (value: string): boolean => urlPattern.test(value) && URL.canParse(value)

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

/** Bounds of numbers that are strings, compared as numbers. */
function boundsCheck({ options: { min, max } }: Field, number: (text: string) => bigint) {
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

/** What is no text does not have the format either. R39. */
function formatCheck(read: (text: string) => string | undefined, what: string): ValueCheck {
  return (value, at, faults) => {
    const made = typeof value === 'string' && value.length <= 100 ? read(value) : undefined
    return made ?? addViolation(faults, at, 'invalid-format', `must be ${what}.`)
  }
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

function memberCheck(values: ReadonlySet<string>, what: string): ValueCheck {
  return stringCheck(
    (value, at, faults) => (values.has(value) ? value : addViolation(faults, at, 'invalid-value', `must be ${what}.`)),
    what,
  )
}

function listCheck(field: Field, rules: ValueRules): ValueCheck {
  const { min, max } = lengthsOf(field)
  const check = valueCheckOf(field.item as Field, rules)
  return (value, at, faults, seen) => {
    if (!Array.isArray(value))
      return addViolation(faults, at, 'invalid-type', `must be a list, not ${typeInWords(value)}.`)
    if (value.length > max) return addViolation(faults, at, 'too-many-items', `must have at most ${max} items.`)
    if (value.length < min) return addViolation(faults, at, 'too-short', `must have at least ${min} items.`)
    return checkItems(check, value, at, faults, Array.isArray(seen) ? seen : [])
  }
}

/** An item that is stored already is taken at any place of the list. */
function checkItems(
  check: ValueCheck,
  value: readonly unknown[],
  at: string,
  faults: Violation[],
  seen: readonly unknown[],
) {
  let stored: ReadonlySet<string> | undefined
  return value.map((one, i) => {
    const before = faults.length
    const made = check(one, `${at}/${i}`, faults, seen[i])
    if (faults.length === before || seen.length === 0) return made
    stored ??= new Set(seen.map((other) => JSON.stringify(other)))
    if (!stored.has(JSON.stringify(one))) return made
    faults.length = before
    return one
  })
}

/** What stands where nothing is given: the default, null, or an empty list or metadata if that fits; undefined where required. */
export function absentValue({ kind, options }: Field, check: ValueCheck): unknown {
  if (options.default !== undefined) return check(options.default, '', []) ?? options.default
  if (options.optional) return null
  if (kind === 'list') return Number(options.min ?? 0) > 0 ? undefined : []
  return kind === 'metadata' ? {} : undefined
}

function objectCheck(fields: Fields, rules: ValueRules): ValueCheck {
  const members = new Map<string, { check: ValueCheck; absent: unknown }>()
  for (const [name, field] of Object.entries(fields)) {
    const check = valueCheckOf(field, rules)
    members.set(name, { check, absent: absentValue(field, check) })
  }
  const known = { names: members, check: (name: string) => members.get(name)?.check }
  return (value, at, faults, seen) => {
    if (!isObject(value))
      return addViolation(faults, at, 'invalid-type', `must be an object, not ${typeInWords(value)}.`)
    for (const [name, { absent }] of members) {
      if (absent === undefined && !Object.hasOwn(value, name))
        addViolation(faults, `${at}/${escapePointer(name)}`, 'field-required', 'is required.')
    }
    const given = checkMembers(value, at, faults, known, rules.settings, isObject(seen) ? seen : {})
    return Object.fromEntries(
      [...members].map(([name, { absent }]) => [name, given.has(name) ? given.get(name) : absent]),
    )
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function metadataCheck({ metadata: { keys, keyLength, valueLength } }: Settings): ValueCheck {
  return (value, at, faults, seen) => {
    if (!isObject(value))
      return addViolation(faults, at, 'invalid-type', `must be an object of strings, not ${typeInWords(value)}.`)
    const pairs = Object.entries(value)
    const stored = isObject(seen) ? seen : {}
    if (pairs.length > keys) return addViolation(faults, at, 'too-many-items', `must have at most ${keys} keys.`)
    for (const [key, one] of pairs) {
      if (Object.hasOwn(stored, key) && stored[key] === one) continue
      const place = `${at}/${escapePointer(key)}`
      if (key === '') addViolation(faults, place, 'too-short', 'must have a key of at least 1 character.')
      if (codePoints(key) > keyLength)
        addViolation(faults, place, 'too-long', `must have a key of at most ${keyLength} characters.`)
      if (typeof one !== 'string')
        addViolation(faults, place, 'invalid-type', `must be a string, not ${typeInWords(one)}.`)
      else if (codePoints(one) > valueLength)
        addViolation(faults, place, 'too-long', `must be at most ${valueLength} characters long.`)
    }
    return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1))) // the order means nothing, R112
  }
}
