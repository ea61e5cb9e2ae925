/** Schema text: the schemas of an OpenAPI document in words, and example values that fit them. Part 13. */
import type { DocumentPart } from '../bodies/components.ts'
import { withCapital } from '../formats/naming.ts'
import { html, inline, type Markup } from './markup.ts'

/** A schema, as far as the page reads it. */
export interface Schema {
  readonly $ref?: string
  /** The name of the component that a reference led to. */
  readonly component?: string
  readonly title?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly description?: string
  readonly readOnly?: boolean
  readonly writeOnly?: boolean
  readonly deprecated?: boolean
  readonly minLength?: number
  readonly [bound: string]: unknown
}

/** Follows a reference to a component of the document. */
export type ResolvePart = <T extends { readonly $ref?: string }>(part: T) => T

export const resolver =
  (document: DocumentPart): ResolvePart =>
  <T extends { readonly $ref?: string }>(part: T): T => {
    if (part.$ref === undefined) return part
    const { $ref, ...own } = part
    const target = $ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, name) => (at as DocumentPart)[name], document)
    return { ...(target as T), ...own, component: $ref.split('/').at(-1) }
  }

/** A field with its dotted name, and its schema without null. */
export interface NamedSchema {
  readonly name: string
  readonly schema: Schema
  readonly nullable: boolean
}

/** The schema without its null, and whether it had one. */
function withoutNull(schema: Schema, resolve: ResolvePart): { readonly schema: Schema; readonly nullable: boolean } {
  const { anyOf, type, ...rest } = resolve(schema)
  const others = anyOf?.filter((one) => one.type !== 'null') ?? []
  if (anyOf && others.length === 1 && anyOf.length === 2)
    return { schema: { ...resolve(others[0] as Schema), ...rest }, nullable: true }
  if (!Array.isArray(type)) return { schema: resolve(schema), nullable: false }
  const values = rest.enum ? { enum: rest.enum.filter((one) => one !== null) } : {}
  return { schema: { ...rest, ...values, type: type.find((one) => one !== 'null') }, nullable: true }
}

/**
 * The fields of an object, those of nested objects after them with dotted names, without those of embedded items, and of a component
 * inside itself, as an error has as its cause.
 */
export function fieldsOf(
  schema: Schema,
  resolve: ResolvePart,
  before = '',
  outer: readonly string[] = [],
): NamedSchema[] {
  const { properties = {}, component } = resolve(schema)
  if (component !== undefined && outer.includes(component)) return []
  const around = component === undefined ? outer : [...outer, component]
  return Object.entries(properties).flatMap(([own, one]) => {
    if (own === '_embedded') return []
    const name = before + own
    const part = withoutNull(one, resolve)
    const items = part.schema.items && withoutNull(part.schema.items, resolve).schema
    const nested = items?.properties
      ? fieldsOf(items, resolve, `${name}[].`, around)
      : fieldsOf(part.schema, resolve, `${name}.`, around)
    return [{ name, ...part }, ...nested]
  })
}

/** The type of a value in a few words. */
export function typeText(part: Schema, resolve: ResolvePart): string {
  const { schema, nullable } = withoutNull(part, resolve)
  return nullable ? `${valueText(schema, resolve)} or null` : valueText(schema, resolve)
}

function valueText(schema: Schema, resolve: ResolvePart): string {
  const { type, format, items, additionalProperties: values, anyOf, enum: listed } = schema
  if (items) return `list of ${typeText(items, resolve)}`
  if (typeof values === 'object') return `map of ${typeText(values, resolve)}`
  if (anyOf) return [...new Set(anyOf.map((one) => typeText(one, resolve)))].join(' or ')
  return `${type ?? (listed ? 'string' : 'any value')}${format ? ` (${format})` : ''}`
}

const bounds: readonly (readonly [keyword: string, text: (value: unknown) => string])[] = [
  ['minLength', (value) => `at least ${value} characters`],
  ['maxLength', (value) => `at most ${value} characters`],
  ['minimum', (value) => `at least ${value}`],
  ['maximum', (value) => `at most ${value}`],
  ['minItems', (value) => `at least ${value} ${value === 1 ? 'item' : 'items'}`],
  ['maxItems', (value) => `at most ${value} items`],
  ['maxProperties', (value) => `at most ${value} keys`],
]

const mostInline = 12

/** The pattern of ids, which have a prefix and 26 characters. */
const idPattern = /^\^(\w+_)\[0-7\]/

/** Whether the pattern of a schema says something that its format or description does not. */
const saysMoreByPattern = ({ pattern, format, description }: Schema): boolean =>
  pattern !== undefined && format === undefined && description === undefined && !idPattern.test(pattern)

/** The bounds, values, default and description of a schema. */
export function schemaNotes(part: Schema, resolve: ResolvePart): Markup[] {
  const { schema } = withoutNull(part, resolve)
  const { items, pattern, title, description, enum: values, const: only } = schema
  const inside = items && withoutNull(items, resolve).schema
  const [, prefix] = idPattern.exec(pattern ?? '') ?? []
  const target = schema['x-references']
  const said = bounds
    .filter(([keyword]) => schema[keyword] !== undefined && Math.abs(Number(schema[keyword])) < Number.MAX_SAFE_INTEGER)
    .map(([keyword, text]) => text(schema[keyword]))
  const listed = values ?? (only === undefined ? undefined : [only])
  return [
    ...(title && !schema.properties ? [html`<b>${title}</b>.`] : []),
    ...(description ? [inline(description)] : []),
    ...(said.length > 0 ? [html`${withCapital(said.join(', '))}.`] : []),
    ...(listed ? [valuesNote(listed, schema.component)] : []),
    ...(typeof target === 'string' ? [html`Refers to <a href="#resource-${target}">${target}</a>.`] : []),
    ...(prefix === undefined ? [] : [html`Begins with <code>${prefix}</code>.`]),
    ...(saysMoreByPattern(schema) && !listed ? [html`Pattern: <code>${pattern}</code>`] : []),
    ...(schema.default === undefined ? [] : [html`Default: <code>${JSON.stringify(schema.default)}</code>`]),
    ...(inside && !inside.properties ? schemaNotes(inside, resolve).map((note) => html`Each: ${note}`) : []),
  ]
}

/** The long lists of values that several fields share; the page has each of them once. */
export const sharedValues = (document: DocumentPart): (readonly [name: string, values: readonly unknown[]])[] =>
  Object.entries(
    (document.components as { readonly schemas?: Readonly<Record<string, Schema>> }).schemas ?? {},
  ).flatMap(([name, { enum: values = [] }]) => (values.length > mostInline ? [[name, values] as const] : []))

export const valueCodes = (values: readonly unknown[]): Markup[] =>
  values.map((one, i) => html`${i > 0 && ', '}<code>${String(one)}</code>`)

function valuesNote(values: readonly unknown[], component: string | undefined): Markup {
  if (values.length <= mostInline) return html`One of ${valueCodes(values)}.`
  if (component !== undefined) return html`One of <a href="#values-${component}">${values.length} values</a>.`
  return html`<details><summary>One of ${values.length} values</summary>${valueCodes(values)}</details>`
}

const formatExamples: Readonly<Record<string, string>> = {
  email: 'ada@example.com',
  uri: 'https://example.com/',
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00.000Z',
  duration: 'PT30M',
}
const patternExamples = ['1', '10.00', '42', '0042', 'a', 'A1', 'abc', 'ABC-1', '2026-01-31', 'PT30M']

/** An example of content that is sent: the fields that it needs. */
export const exampleOf = (part: Schema, resolve: ResolvePart, name?: string): unknown =>
  exampleValue(part, { resolve, isAnswer: false }, name)

/** An example of content that is answered: all fields, without embedded items; of its links the one to itself. */
export const answerExampleOf = (part: Schema, resolve: ResolvePart, self: string | undefined): unknown =>
  exampleValue(part, { resolve, isAnswer: true, self })

/** A schema with the properties and items of all its parts. */
function merged(part: Schema, resolve: ResolvePart): Schema {
  const { allOf = [], ...own } = resolve(part)
  return [...allOf.map((one) => merged(one, resolve)), own].reduce(joined, {})
}

/** Both schemas hold; where both say something about a property or an item, it has both as its parts. */
function joined(one: Schema, other: Schema): Schema {
  const both = (a: Schema | undefined, b: Schema | undefined) => (a && b ? { allOf: [a, b] } : (a ?? b))
  const names = new Set([...Object.keys(one.properties ?? {}), ...Object.keys(other.properties ?? {})])
  const properties = [...names].map((name) => [name, both(one.properties?.[name], other.properties?.[name])])
  const items = both(one.items, other.items)
  return {
    ...{ ...one, ...other },
    ...(items && { items }),
    ...(names.size > 0 && { properties: Object.fromEntries(properties) }),
  }
}

/** The members of a list that say whether more pages follow: the example is the only page. */
const isOnlyPage = /^has_?more$|^(?:next|prev)_?cursor$/i

interface ExampleContext {
  readonly resolve: ResolvePart
  readonly isAnswer: boolean
  /** The link of an answered item to itself. */
  readonly self?: string | undefined
}

/** A value that fits the schema as far as it can be guessed; declared examples come first. */
function exampleValue(part: Schema, context: ExampleContext, name = 'text'): unknown {
  const { resolve } = context
  const { schema, nullable } = withoutNull(merged(part, resolve), resolve)
  const { examples, type, items, enum: values, anyOf, const: only, minimum, minItems } = schema
  if (name === '_links' && context.self !== undefined) return { self: context.self }
  if (context.isAnswer && isOnlyPage.test(name)) return nullable ? null : false
  if (context.isAnswer && nullable && schema.component === 'Error') return null // nothing has failed
  if (examples?.[0] !== undefined) return examples[0]
  if (only !== undefined) return only
  if (values) return values[0]
  if (schema.properties) return exampleObject(schema, context)
  if (items) return Array.from({ length: Math.max(1, Number(minItems ?? 1)) }, () => exampleValue(items, context, name))
  if (anyOf) return exampleValue(anyOf[0] as Schema, context, name)
  if (type === 'integer' || type === 'number') return Math.max(1, Number(minimum ?? 1))
  if (type === 'boolean') return true
  return type === 'object' ? {} : exampleText(schema, name)
}

/** The fields of an answered object; of one that is sent the required ones, or the first one if none is required. */
function exampleObject(schema: Schema, context: ExampleContext): Record<string, unknown> {
  const { resolve, isAnswer } = context
  const { required = [], properties = {} } = schema
  const from = (fields: readonly (readonly [string, Schema])[]) =>
    Object.fromEntries(fields.map(([name, one]) => [name, exampleValue(one, context, name)]))
  if (isAnswer)
    return from(
      Object.entries(properties).filter(
        ([name]) => name !== '_embedded' && (name !== '_links' || context.self !== undefined),
      ),
    )
  const own = Object.entries(properties).filter(([, one]) => !resolve(one).readOnly)
  const needed = own.filter(([name]) => required.includes(name))
  const some = needed.length > 0 ? needed : own.filter(([, one]) => !resolve(one).writeOnly).slice(0, 1)
  return from(some)
}

function exampleText({ format, pattern, minLength = 0, maxLength = 200 }: Schema, name: string): string {
  const [, prefix] = idPattern.exec(pattern ?? '') ?? []
  if (prefix !== undefined) return `${prefix}01jd8m2kq3v9x7c5b1n4f6h8t0`
  if (format !== undefined && formatExamples[format] !== undefined) return formatExamples[format]
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[._-]/g, ' ')
    .toLowerCase()
  const plain = words.slice(0, Number(maxLength)).padEnd(minLength, '.')
  const fits = (one: string) => pattern === undefined || new RegExp(pattern).test(one)
  return [plain, ...patternExamples.map((one) => one.padEnd(minLength, one))].find(fits) ?? '…'
}
