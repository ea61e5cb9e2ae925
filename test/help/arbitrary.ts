/** Generates values that fit a schema, and values that break one of its constraints, for requests made from a document. Part 13. */
import fc from 'fast-check'
import { partsOf, type Schema, type Schemas } from './schemas.ts'

/** Texts that fit a schema but cannot be generated from it, such as the ids of stored items. */
export type Known = (schema: Schema) => readonly string[]

interface Making {
  readonly schemas: Schemas
  readonly known: Known
}

type Kind = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'
const every: readonly Kind[] = ['boolean', 'integer', 'string', 'array', 'object']

const kindsOf = ({ type, properties, items }: Schema): readonly Kind[] => {
  if (type !== undefined) return [type].flat() as Kind[]
  return properties ? ['object'] : items ? ['array'] : every
}

/** Merges schemas that all have to hold into one. */
export function merged(parts: readonly Schema[]): Schema {
  const joined: Record<string, unknown> = {}
  for (const part of parts)
    for (const [word, value] of Object.entries(part)) {
      const before = joined[word]
      if (word === 'properties') joined[word] = properties(before as Schema | undefined, value as Schema)
      else if (word === 'required')
        joined[word] = [...new Set([...((before ?? []) as string[]), ...(value as string[])])]
      else joined[word] = value
    }
  return joined
}

function properties(before: Schema = {}, value: Schema): Schema {
  const names = new Set([...Object.keys(before), ...Object.keys(value)])
  return Object.fromEntries(
    [...names].map((name) => {
      const both = [before[name], value[name]].filter((one) => one !== undefined) as Schema[]
      return [name, both.length === 1 ? both[0] : { allOf: both }]
    }),
  )
}

/** A schema whose top level has no `$ref` and no `allOf`. */
export function flat(schema: Schema, { at }: Schemas): Schema {
  const { $ref, allOf, ...own } = schema
  const parts = [...($ref === undefined ? [] : [at(schema)]), ...partsOf({ allOf }, ['allOf'])]
  return parts.length === 0 ? own : merged([...parts.map((part) => flat(part, { at } as Schemas)), own])
}

/** Values for requests that fit a schema, without the members that only answers have. */
export function fitting(schema: Schema, making: Making): fc.Arbitrary<unknown> {
  return made(schema, making, 0).filter((value) => making.schemas.check(schema, value).length === 0)
}

function made(schema: Schema, making: Making, depth: number): fc.Arbitrary<unknown> {
  const own = flat(schema, making.schemas)
  if (own.const !== undefined) return fc.constant(own.const)
  if (Array.isArray(own.enum)) return fc.constantFrom(...own.enum)
  const either = partsOf(own, own.oneOf ? ['oneOf'] : ['anyOf'])
  if (either.length > 0) {
    const { oneOf, anyOf, ...rest } = own
    const plain = either.filter((one) => !String(flat(one, making.schemas).pattern).startsWith('^in:'))
    if (plain.length < either.length) return orSet(made({ anyOf: plain }, making, depth))
    return fc.oneof(...either.map((part) => made(merged([flat(part, making.schemas), rest]), making, depth)))
  }
  return fc.oneof(...kindsOf(own).map((kind) => makers[kind](own, making, depth)))
}

/** The value of a filter, or a set of values: `in:(a, b)`. */
function orSet(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const written = fc.tuple(values, fc.boolean()).map(([value, quoted]) => {
    const text = String(value)
    return quoted || /[(),"\\ ]|^$/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text
  })
  const sets = fc.array(written, { maxLength: 4 }).map((members) => `in:(${members.join(', ')})`)
  return fc.oneof(values, sets)
}

type Maker = (schema: Schema, making: Making, depth: number) => fc.Arbitrary<unknown>

const makers: Record<Kind, Maker> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: (schema) => numbers(schema),
  number: (schema) => numbers(schema),
  string: (schema, { known }) => {
    const there = known(schema)
    return there.length > 0 ? fc.constantFrom(...there) : texts(schema)
  },
  array: ({ items = {}, minItems = 0, maxItems, uniqueItems }, making, depth) => {
    const least = minItems as number
    const maxLength = Math.max(least, Math.min((maxItems as number) ?? 3, depth > 2 ? least : least + 3))
    const item = made(items as Schema, making, depth + 1)
    return uniqueItems
      ? fc.uniqueArray(item, { minLength: least, maxLength, selector: (one) => JSON.stringify(one) })
      : fc.array(item, { minLength: least, maxLength })
  },
  object: (schema, making, depth) => {
    const { properties = {}, required = [], additionalProperties, propertyNames = {}, maxProperties = 3 } = schema
    const writable = Object.entries(properties as Record<string, Schema>).filter(
      ([, member]) => flat(member, making.schemas).readOnly !== true,
    )
    const members = writable.map(([name, member]) => [name, made(member, making, depth + 1)] as const)
    const requiredKeys = (required as string[]).filter((name) => members.some(([own]) => own === name))
    const own = fc.record(Object.fromEntries(members), { requiredKeys })
    if (typeof additionalProperties !== 'object' || additionalProperties === null) return own
    const free = fc.dictionary(
      makers.string(
        { minLength: 1, maxLength: 10, ...(propertyNames as Schema) },
        making,
        depth,
      ) as fc.Arbitrary<string>,
      made(additionalProperties as Schema, making, depth + 1),
      { maxKeys: Math.min(maxProperties as number, 3), noNullPrototype: true },
    )
    return fc.tuple(free, own).map(([more, named]) => ({ ...more, ...named }))
  },
}

function numbers({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): fc.Arbitrary<number> {
  const least = (minimum ?? (exclusiveMinimum === undefined ? undefined : Number(exclusiveMinimum) + 1)) as number
  const most = (maximum ?? (exclusiveMaximum === undefined ? undefined : Number(exclusiveMaximum) - 1)) as number
  const min = least ?? Math.min(-1000, (most ?? 0) - 10)
  const max = most ?? Math.max(1000, min + 10)
  return fc.oneof(fc.integer({ min: Math.max(min, -1e15), max: Math.min(max, 1e15) }), fc.constantFrom(min, max))
}

const two = (number: number): string => String(number).padStart(2, '0')
const dates = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((one) => one.toISOString())
const durations = fc
  .tuple(fc.nat(9), fc.nat(9))
  .map(([days, hours]) => (hours === 0 ? `P${days}D` : `P${days}DT${two(hours)}H`))

const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'date-time': dates,
  date: dates.map((one) => one.slice(0, 10)),
  duration: durations,
  email: fc.stringMatching(/^[a-z0-9]{1,8}(\.[a-z]{1,4})?@[a-z]{1,8}\.(com|org)$/),
  uri: fc.stringMatching(/^https:\/\/[a-z]{1,8}\.example\/[a-z0-9]{0,8}$/),
  uuid: fc.uuid(),
}

/** Durations and intervals, whose patterns allow more than is valid. */
const times = [
  ...['P3DT4H', 'PT0.5S', 'P1W', '2026-01-01T00:00:00Z/P1M', '2026-01-01/2026-02-28', 'P1Y2M/2026-01-31T09:30:00.5Z'],
  ...['2024-02-29T00:00:00Z/2026-01-01T23:59:59.999Z'],
]

const letters = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !text.includes('\u0000'))

function texts({ format, pattern, minLength = 0, maxLength = 10_000 }: Schema): fc.Arbitrary<string> {
  const [least, most] = [minLength as number, maxLength as number]
  const fits = (text: string): boolean => [...text].length >= least && [...text].length <= most
  const byFormat = formats[format as string]
  const matches = pattern === undefined ? null : new RegExp(pattern as string, 'u')
  if (byFormat) return byFormat.filter((text) => fits(text) && (matches === null || matches.test(text)))
  if (matches !== null) {
    const known = String(pattern).includes('\\d') ? times.filter((text) => matches.test(text)) : []
    if (known.length > 0) return fc.constantFrom(...known)
    const some = fc.stringMatching(new RegExp(withoutLooks(String(pattern)), 'u'), { maxLength: Math.min(most, 60) })
    return some.filter((text) => fits(text) && matches.test(text) && text.isWellFormed() && !text.includes('\u0000'))
  }
  const some = letters.map((text) => [...text.padEnd(least, 'x')].slice(0, most).join(''))
  return least > 0 || most < 200
    ? fc.oneof(some, fc.constantFrom('x'.repeat(Math.max(least, 1)), 'é'.repeat(Math.min(most, 200))))
    : some
}

/** A pattern without its lookaheads, as texts cannot be generated from them. */
export function withoutLooks(pattern: string): string {
  let depth = 0
  let kept = ''
  for (const [part] of pattern.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|\(\?[=!]|./gs)) {
    if (depth > 0) depth += part.startsWith('(') ? 1 : part === ')' ? -1 : 0
    else if (/^\(\?[=!]/.test(part)) depth = 1
    else kept += part
  }
  return kept
}

/** A value that breaks a constraint of a schema, with its place. */
export interface Break {
  readonly pointer: readonly (string | number)[]
  readonly constraint: string
  /** Undefined if the member is left out. */
  readonly value: unknown
}

/** One break of every constraint of a schema, at each place that the value has. */
export function breaks(schema: Schema, value: unknown, schemas: Schemas): Break[] {
  const own = flat(schema, schemas)
  return [...here(own, value), ...below(own, value, schemas)]
}

function here(own: Schema, value: unknown): Break[] {
  const found: [constraint: string, value: unknown][] = []
  const kinds = kindsOf(own)
  if (own.type !== undefined) {
    if (!kinds.includes('null')) found.push(['type null', null])
    const other = kinds.includes('string') ? (kinds.includes('integer') ? true : 7) : 'a text'
    found.push(['type', other], ...(kinds.includes('array') ? [] : ([['type array', []]] as [string, unknown][])))
  }
  if (typeof own.maximum === 'number') found.push(['maximum', own.maximum + 1])
  if (typeof own.minimum === 'number') found.push(['minimum', own.minimum - 1])
  if (kinds.includes('integer') && own.type) found.push(['type integer', 1.5])
  if (typeof own.maxLength === 'number') found.push(['maxLength', longer(own, own.maxLength + 1)])
  if (typeof own.minLength === 'number' && own.minLength > 0) found.push(['minLength', 'x'.repeat(own.minLength - 1)])
  if (own.pattern !== undefined) found.push(['pattern', '¿'], ['pattern', `${String(value)}\n`], ['pattern', ''])
  if (own.format !== undefined) found.push(['format', 'no such format'])
  if (Array.isArray(own.enum)) found.push(['enum', 'no such value'])
  if (Array.isArray(value)) found.push(...(counted(own, value) as [string, unknown][]))
  return found.map(([constraint, wrong]) => ({ pointer: [], constraint, value: wrong }))
}

const longer = ({ pattern }: Schema, length: number): string =>
  pattern === undefined ? 'x'.repeat(length) : '1'.repeat(length)

function counted({ maxItems, minItems }: Schema, value: readonly unknown[]): [string, unknown][] {
  const [first] = value
  const more: [string, unknown][] =
    typeof maxItems === 'number' && value.length > 0 ? [['maxItems', Array(maxItems + 1).fill(first)]] : []
  return typeof minItems === 'number' && minItems > 0 ? [...more, ['minItems', value.slice(0, minItems - 1)]] : more
}

function below(own: Schema, value: unknown, schemas: Schemas): Break[] {
  const under = (name: string | number, found: readonly Break[]): Break[] =>
    found.map((one) => ({ ...one, pointer: [name, ...one.pointer] }))
  if (Array.isArray(value) && own.items !== undefined)
    return value.slice(0, 1).flatMap((one) => under(0, breaks(own.items as Schema, one, schemas)))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  const members = Object.entries((own.properties ?? {}) as Record<string, Schema>)
  const free = own.additionalProperties as Schema | undefined
  return [
    ...((own.required ?? []) as string[])
      .filter((name) => name in value)
      .map((name) => ({ pointer: [name], constraint: 'required', value: undefined })),
    ...members.flatMap(([name, member]) =>
      name in value ? under(name, breaks(member, (value as Schema)[name], schemas)) : [],
    ),
    ...(free && typeof free === 'object'
      ? under('free', breaks(free, 'a text', schemas))
      : [{ pointer: ['noSuchMember'], constraint: 'additionalProperties', value: 'a text' }]),
  ]
}

/** A copy of the value that contains the break. */
export function withBreak(value: unknown, { pointer, value: wrong }: Break): unknown {
  const [name, ...rest] = pointer
  if (name === undefined) return wrong
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>
  if (rest.length === 0 && wrong === undefined) delete copy[name]
  else copy[name] = rest.length === 0 ? wrong : withBreak(copy[name], { pointer: rest, value: wrong, constraint: '' })
  return copy
}
