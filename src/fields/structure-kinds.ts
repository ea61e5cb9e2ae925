/** Structure kinds: lists, objects and metadata. Part 2, fields. */
import { addViolation, escapePointer } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import type { Settings } from '../settings.ts'
import { lengthsOf, lengthTerms } from './bounds.ts'
import { checkMembers } from './check-members.ts'
import type { Field, Fields } from './field.ts'
import {
  boundedOptions,
  countBound,
  defined,
  type FieldKind,
  type FieldTerms,
  generalOptions,
  type SchemaMaker,
  type SchemaUse,
  type ValueRules,
} from './kind.ts'
import { sampleLetters, sampleOf, sampleSome, sampleWord } from './sample.ts'
import { absentValue, codePoints, isObject, typeInWords, type ValueCheck, valueCheckOf } from './value-check.ts'

const structure = { options: generalOptions, order: 'none' } as const
const mostItems = 1000

export const list: FieldKind = {
  ...structure,
  options: [...boundedOptions, 'search'],
  length: mostItems,
  bound: () => [countBound(0), 'a whole number from 0, as 1'],
  check: listCheck,
  empty: ({ min = 0 }) => (Number(min) > 0 ? undefined : []),
  terms: (field) => lengthTerms(field, mostItems),
  schema: ({ item, min, max }, use, { fieldSchema }) => ({
    type: 'array',
    items: fieldSchema(item as FieldTerms, use === 'patched' ? 'sent' : use),
    ...defined({ minItems: min, maxItems: max }),
  }),
  plain: ({ min = 0, item }, inner) => allOrNone(Array.from({ length: Number(min) }, () => inner(item as FieldTerms))),
  sample: ({ item, options: { min = 0 } }, source) => {
    const least = source.sent ? Number(min) : 0
    return Array.from({ length: least + source.below(4) }, () => sampleOf(item as Field, source))
  },
}

/** The values, or undefined if one of them is. */
const allOrNone = (values: readonly unknown[]): readonly unknown[] | undefined =>
  values.includes(undefined) ? undefined : values

export const object: FieldKind = {
  ...structure,
  check: ({ fields = {} }, rules) => objectCheck(fields, rules),
  schema: ({ fields = {} }, use, make) => objectSchema(fields, use, make),
  plain: ({ fields = {} }, inner) => {
    const values = allOrNone(Object.values(fields).map(inner))
    return values && Object.fromEntries(Object.keys(fields).map((name, i) => [name, values[i]]))
  },
  sample: ({ fields = {} }, source) => {
    const stays = (field: Field) => absentValue(field, source) === undefined || source.below(4) !== 0
    const sent = Object.entries(fields).filter(([, field]) => !source.sent || stays(field))
    return Object.fromEntries(sent.map(([name, one]) => [name, sampleOf(one, source)]))
  },
}

export const metadata: FieldKind = {
  ...structure,
  check: (_, { settings }) => metadataCheck(settings),
  empty: () => ({}),
  terms: (_, { settings }) => settings.metadata,
  schema: ({ keys, keyLength, valueLength }, use, { shared }) =>
    shared(use === 'patched' ? 'MetadataPatch' : 'Metadata', {
      type: 'object',
      // In a patch, null removes a key. R117.
      additionalProperties: { type: use === 'patched' ? ['string', 'null'] : 'string', maxLength: valueLength },
      propertyNames: { type: 'string', minLength: 1, maxLength: keyLength },
      ...(use === 'patched' ? {} : { maxProperties: keys }),
      examples: [{ note: 'first' }],
    }),
  plain: () => ({}),
  examples: () => [{ note: 'first' }],
  sample: (_, source) =>
    Object.fromEntries(sampleSome(2, source, () => [sampleLetters(2, source).toLowerCase(), sampleWord(source)])),
}

/** Any object: the result of an operation, which the output of the operation describes. */
export const json: FieldKind = {
  ...structure,
  check: () => (value) => value,
  schema: () => ({ type: 'object' }),
  plain: () => ({}),
  sample: () => ({}),
}

function objectSchema(
  fields: NonNullable<FieldTerms['fields']>,
  use: SchemaUse,
  { fieldSchema, open }: SchemaMaker,
): Readonly<Record<string, unknown>> {
  const all = Object.entries(fields)
  const needed = all.filter(([, { required }]) => use === 'answered' || (use === 'sent' && required))
  return {
    type: 'object',
    properties: Object.fromEntries(all.map(([name, one]) => [name, fieldSchema(one, use)])),
    ...(needed.length > 0 && { required: needed.map(([name]) => name) }),
    ...(use !== 'answered' && !open && { additionalProperties: false }),
  }
}

function listCheck(field: Field, rules: ValueRules): ValueCheck {
  const { min, max } = lengthsOf(field, mostItems)
  const check = valueCheckOf(field.item as Field, rules)
  return (value, at, faults, seen) => {
    if (!Array.isArray(value))
      return addViolation(faults, at, 'invalid-type', `must be a list, not ${typeInWords(value)}.`)
    if (value.length > max) return addViolation(faults, at, 'too-many-items', `must have at most ${max} items.`)
    if (value.length < min) return addViolation(faults, at, 'too-short', `must have at least ${min} items.`)
    return checkItems(check, value, at, faults, Array.isArray(seen) ? seen : [])
  }
}

/** An item that equals a stored one is accepted at any place of the list. */
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
    const result = check(one, `${at}/${i}`, faults, seen[i])
    if (faults.length === before || seen.length === 0) return result
    stored ??= new Set(seen.map((other) => JSON.stringify(other)))
    if (!stored.has(JSON.stringify(one))) return result
    faults.length = before
    return one
  })
}

function objectCheck(fields: Fields, rules: ValueRules): ValueCheck {
  const members = new Map<string, { check: ValueCheck; absent: unknown }>()
  for (const [name, field] of Object.entries(fields)) {
    const check = valueCheckOf(field, rules)
    members.set(name, { check, absent: absentValue(field, rules, check) })
  }
  const blank = Object.fromEntries([...members].map(([name, { absent }]) => [name, absent]))
  const allowed = { names: members, check: (name: string) => members.get(name)?.check }
  return (value, at, faults, seen) => {
    if (!isObject(value))
      return addViolation(faults, at, 'invalid-type', `must be an object, not ${typeInWords(value)}.`)
    for (const [name, { absent }] of members) {
      if (absent === undefined && !Object.hasOwn(value, name))
        addViolation(faults, `${at}/${escapePointer(name)}`, 'field-required', 'is required.')
    }
    return checkMembers(value, at, faults, allowed, rules.settings, { ...blank }, isObject(seen) ? seen : {})
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
    return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1))) // the order has no meaning, R112
  }
}
