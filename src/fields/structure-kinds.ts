/** Structure kinds: lists, objects and metadata. Part 2, fields. */
import { addViolation, escapePointer } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import type { Settings } from '../settings.ts'
import { lengthsOf } from './bounds.ts'
import { checkMembers } from './check-members.ts'
import type { Field, Fields } from './field.ts'
import {
  boundedOptions,
  countBound,
  type FieldKind,
  type FieldKinds,
  generalOptions,
  type ValueRules,
  type ValueTerms,
} from './kind.ts'
import { absentValue, codePoints, isObject, typeInWords, type ValueCheck, valueCheckOf } from './value-check.ts'

const structure = { options: generalOptions, order: 'none' } as const

export const list: FieldKind = {
  ...structure,
  options: boundedOptions,
  bound: () => [countBound(0), 'a whole number from 0, as 1'],
  check: listCheck,
  plain: ({ min, item }, kinds) =>
    Array.from({ length: Number(min ?? 0) }, () => nullableValue(item as ValueTerms, kinds)),
}

export const object: FieldKind = {
  ...structure,
  check: ({ fields = {} }, rules) => objectCheck(fields, rules),
  plain: ({ fields = {} }, kinds) =>
    Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, nullableValue(one, kinds)])),
}

export const metadata: FieldKind = {
  ...structure,
  check: (_, { settings }) => metadataCheck(settings),
  plain: () => ({}),
}

/** A simple value that fits a field: its default, null, or a plain value. */
function nullableValue(terms: ValueTerms, kinds: FieldKinds): unknown {
  if (terms.default !== undefined) return terms.default
  return terms.nullable ? null : kinds[terms.kind]?.plain(terms, kinds)
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
