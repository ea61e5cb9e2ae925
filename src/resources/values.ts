/** Checks values against their fields and writes them in one form; every mistake is reported with its place. Part 2, fields. */
import { isDeepStrictEqual } from 'node:util'
import { escaped, fault } from '../errors/place.ts'
import type { Violation } from '../errors/problem.ts'
import { defaultPrecision, lengthsOf } from './bounds.ts'
import type { Field, Fields } from './field.ts'
import { type Check, checked } from './members.ts'
import { oneOf } from './naming.ts'
import type { Settings } from './settings.ts'
import { bigint, countries, currencies, decimal, emailForm, scaled, urlForm } from './texts.ts'
import { date, duration, interval, timestamp } from './time.ts'

export type { Check } from './members.ts'

/** What a check needs to know besides its field. */
export interface Rules {
  readonly settings: Settings
  readonly isId: (resource: string, text: string) => boolean
}

/** The check of a field, null included. */
export function checkOf(field: Field, rules: Rules): Check {
  const check = kinds[field.kind](field, rules)
  const optional = field.options.optional === true
  return (value, at, faults, seen) => {
    if (value === null && (optional || seen === null)) return null
    if (value === null) return fault(faults, at, 'field-required', 'is required and cannot be null.')
    const before = faults.length
    const made = check(value, at, faults, seen)
    if (faults.length === before || seen === undefined || !isDeepStrictEqual(value, seen)) return made
    faults.length = before
    return seen
  }
}

type Made = (field: Field, rules: Rules) => Check

const kinds: Record<Field['kind'], Made> = {
  text,
  email: (field) => all(text(field), matching(isEmail, 'must be an e-mail address, as ann@example.com.')),
  url: (field) => all(text(field), matching(isUrl, 'must be an absolute http or https URL.')),
  integer,
  bigint: (field) => {
    const bounds = bounded(field, (one) => BigInt(one))
    return string((value, at, faults) => {
      const read = bigint(value)
      if (read === 'format') return fault(faults, at, 'invalid-format', 'must be a whole number as a string, as "42".')
      if (read === 'range') return fault(faults, at, 'out-of-range', 'must fit 64 bits.')
      return bounds(read, at, faults)
    }, 'a whole number as a string, as "42"')
  },
  decimal: decimals,
  boolean: () => (value, at, faults) =>
    typeof value === 'boolean' ? value : fault(faults, at, 'invalid-type', 'must be true or false.'),
  timestamp: (field, { settings }) =>
    moment(
      field,
      (value) => timestamp(value, settings.dates.acceptOffsets),
      'a date-time in UTC, as "2026-01-31T09:30:00Z"',
    ),
  date: (field) => moment(field, date, 'a calendar date, as "2026-01-31"'),
  duration: () => formatted(duration, 'an ISO 8601 duration, as "P3DT4H"'),
  interval: (_, { settings }) =>
    formatted(
      (value) => interval(value, settings.dates.acceptOffsets),
      'an ISO 8601 interval, as "2026-01-01T00:00:00Z/P1M"',
    ),
  enum: ({ values = [] }) => member(new Set(values), `one of ${oneOf(values)}`),
  country: () => member(countries, 'a country code of ISO 3166, as "IT"'),
  currency: () => member(currencies, 'a currency code of ISO 4217, as "EUR"'),
  ref: ({ target = '' }, { isId }) =>
    string((value, at, faults) => {
      if (isId(target, value)) return value
      return fault(faults, at, 'invalid-format', `must be the id of one of ${target}.`)
    }, `the id of one of ${target}`),
  list,
  object: ({ fields = {} }, rules) => object(fields, rules),
  metadata: (_, { settings }) => metadata(settings),
  concept: ({ target }) => {
    throw new Error(`Concept ${target} was not resolved.`)
  },
}

function string(check: (value: string, at: string, faults: Violation[]) => unknown, what = 'a string'): Check {
  return (value, at, faults) => {
    if (typeof value === 'string') return check(value, at, faults)
    return fault(faults, at, 'invalid-type', `must be ${what}, not ${kindOf(value)}.`)
  }
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return (
    { number: 'a number', boolean: 'a boolean', string: 'a string', undefined: 'missing' }[typeof value as string] ??
    'an object'
  )
}

function all(first: Check, second: Check): Check {
  return (value, at, faults) => {
    const before = faults.length
    const read = first(value, at, faults)
    return faults.length > before ? undefined : second(read, at, faults)
  }
}

function matching(test: (text: string) => boolean, says: string): Check {
  return (value, at, faults) => (test(value as string) ? value : fault(faults, at, 'invalid-format', says))
}

function text(field: Field): Check {
  const [{ min, max }, { pattern }] = [lengthsOf(field), field.options]
  const expression = pattern === undefined ? undefined : new RegExp(pattern, 'u')
  return string((value, at, faults) => {
    const length = value.length <= max && value.length >= min * 2 ? value.length : codePoints(value)
    if (length > max) return fault(faults, at, 'too-long', `must be at most ${max} characters long.`)
    if (length < min) return fault(faults, at, 'too-short', `must be at least ${min} characters long.`)
    if (expression && !expression.test(value)) return fault(faults, at, 'invalid-format', `must match ${pattern}.`)
    return value
  })
}

function codePoints(value: string): number {
  let count = 0
  for (const _ of value) count++
  return count
}

const isEmail = (value: string): boolean => emailForm.test(value)

const isUrl = (value: string): boolean => urlForm.test(value) && URL.canParse(value)

function integer({ options }: Field): Check {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = options as { min?: number; max?: number }
  return (value, at, faults) => {
    if (typeof value !== 'number')
      return fault(faults, at, 'invalid-type', `must be a whole number, not ${kindOf(value)}.`)
    if (!Number.isInteger(value)) return fault(faults, at, 'invalid-type', 'must be a whole number.')
    if (value < min) return fault(faults, at, 'out-of-range', `must be at least ${min}.`)
    if (value > max) return fault(faults, at, 'out-of-range', `must be at most ${max}.`)
    return value === 0 ? 0 : value // -0 is 0
  }
}

/** Bounds of numbers that are strings, compared as numbers. */
function bounded({ options: { min, max } }: Field, number: (text: string) => bigint) {
  const least = min === undefined ? undefined : number(String(min))
  const most = max === undefined ? undefined : number(String(max))
  return (value: string, at: string, faults: Violation[]): unknown => {
    if (least !== undefined && number(value) < least)
      return fault(faults, at, 'out-of-range', `must be at least ${min}.`)
    if (most !== undefined && number(value) > most) return fault(faults, at, 'out-of-range', `must be at most ${max}.`)
    return value
  }
}

function decimals(field: Field): Check {
  const { precision = defaultPrecision, scale = 0 } = field.options
  const example = scale === 0 ? '"10"' : `"10.${'5'.padEnd(scale, '0')}"`
  const bounds = bounded(field, (one) => scaled(one, scale))
  return string((value, at, faults) => {
    const read = decimal(value, precision, scale)
    if (read === 'format')
      return fault(faults, at, 'invalid-format', `must be a decimal number as a string, as ${example}.`)
    if (read === 'digits')
      return fault(faults, at, 'out-of-range', `must have at most ${scale} digits after the point.`)
    if (read === 'range')
      return fault(faults, at, 'out-of-range', `must have at most ${precision - scale} digits before the point.`)
    return bounds(read, at, faults)
  }, `a decimal number as a string, as ${example}`)
}

/** What is no text does not have the format either. R39. */
function formatted(read: (text: string) => string | undefined, what: string): Check {
  return (value, at, faults) => {
    const made = typeof value === 'string' && value.length <= 100 ? read(value) : undefined
    return made ?? fault(faults, at, 'invalid-format', `must be ${what}.`)
  }
}

function moment({ options: { min, max } }: Field, read: (text: string) => string | undefined, what: string): Check {
  const [least, most] = [min, max].map((bound) => (bound === undefined ? undefined : read(String(bound))))
  const format = formatted(read, what)
  return (value, at, faults) => {
    const made = format(value, at, faults)
    if (typeof made !== 'string') return undefined
    if (least !== undefined && made < least) return fault(faults, at, 'out-of-range', `must be at or after ${least}.`)
    if (most !== undefined && made > most) return fault(faults, at, 'out-of-range', `must be at or before ${most}.`)
    return made
  }
}

function member(values: ReadonlySet<string>, what: string): Check {
  return string(
    (value, at, faults) => (values.has(value) ? value : fault(faults, at, 'invalid-value', `must be ${what}.`)),
    what,
  )
}

function list(field: Field, rules: Rules): Check {
  const { min, max } = lengthsOf(field)
  const check = checkOf(field.item as Field, rules)
  return (value, at, faults, seen) => {
    if (!Array.isArray(value)) return fault(faults, at, 'invalid-type', `must be a list, not ${kindOf(value)}.`)
    if (value.length > max) return fault(faults, at, 'too-many-items', `must have at most ${max} items.`)
    if (value.length < min) return fault(faults, at, 'too-short', `must have at least ${min} items.`)
    return items(check, value, at, faults, Array.isArray(seen) ? seen : [])
  }
}

/** An item that is stored already is taken at any place of the list. */
function items(check: Check, value: readonly unknown[], at: string, faults: Violation[], seen: readonly unknown[]) {
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
export function absent({ kind, options }: Field, check: Check): unknown {
  if (options.default !== undefined) return check(options.default, '', []) ?? options.default
  if (options.optional) return null
  if (kind === 'list') return Number(options.min ?? 0) > 0 ? undefined : []
  return kind === 'metadata' ? {} : undefined
}

function object(fields: Fields, rules: Rules): Check {
  const members = new Map<string, { check: Check; absent: unknown }>()
  for (const [name, field] of Object.entries(fields)) {
    const check = checkOf(field, rules)
    members.set(name, { check, absent: absent(field, check) })
  }
  const known = { names: members, check: (name: string) => members.get(name)?.check }
  return (value, at, faults, seen) => {
    if (!isObject(value)) return fault(faults, at, 'invalid-type', `must be an object, not ${kindOf(value)}.`)
    for (const [name, { absent }] of members) {
      if (absent === undefined && !Object.hasOwn(value, name))
        fault(faults, `${at}/${escaped(name)}`, 'field-required', 'is required.')
    }
    const given = checked(value, at, faults, known, rules.settings, isObject(seen) ? seen : {})
    return Object.fromEntries(
      [...members].map(([name, { absent }]) => [name, given.has(name) ? given.get(name) : absent]),
    )
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function metadata({ metadata: { keys, keyLength, valueLength } }: Settings): Check {
  return (value, at, faults, seen) => {
    if (!isObject(value))
      return fault(faults, at, 'invalid-type', `must be an object of strings, not ${kindOf(value)}.`)
    const pairs = Object.entries(value)
    const stored = isObject(seen) ? seen : {}
    if (pairs.length > keys) return fault(faults, at, 'too-many-items', `must have at most ${keys} keys.`)
    for (const [key, one] of pairs) {
      if (Object.hasOwn(stored, key) && stored[key] === one) continue
      const place = `${at}/${escaped(key)}`
      if (key === '') fault(faults, place, 'too-short', 'must have a key of at least 1 character.')
      if (codePoints(key) > keyLength)
        fault(faults, place, 'too-long', `must have a key of at most ${keyLength} characters.`)
      if (typeof one !== 'string') fault(faults, place, 'invalid-type', `must be a string, not ${kindOf(one)}.`)
      else if (codePoints(one) > valueLength)
        fault(faults, place, 'too-long', `must be at most ${valueLength} characters long.`)
    }
    return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1))) // the order means nothing, R112
  }
}
