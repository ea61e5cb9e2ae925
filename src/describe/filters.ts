/** Filters: describes each form of a filter as a parameter with its literal name. Part 13; part 4, filtering. */

import { type ComponentRef, type DocumentPart, pascalCase } from '../bodies/components.ts'
import { fieldSchema, idSchema, type SchemaContext, termsAt } from '../bodies/schemas.ts'
import { type FieldKind, type FieldTerms, fieldKind } from '../fields/kind.ts'
import type { ListOffer } from '../flow/route.ts'
import { filterParameter } from '../lists/list-rules.ts'
import type { Resource } from '../resources/resource.ts'

/** What each operator compares, as the end of a sentence. */
export const operatorTexts: Readonly<Record<string, string>> = {
  eq: 'is this, also where it reads like a set',
  ne: 'is another value than this',
  gte: 'is at least this',
  lte: 'is at most this',
  gt: 'is more than this',
  lt: 'is less than this',
  like: 'contains this, or matches it as a whole where it has a %, which stands for any run of characters; a literal one is written \\% and a backslash \\\\',
  null: 'has no value (true), or has one (false)',
}

const textSchema = { type: 'string', pattern: '^[^\\u0000]*$' }
/** At most five wildcards; a backslash must precede a percent sign or another backslash. R70. */
const likeSchema = {
  type: 'string',
  examples: ['%a%'],
  maxLength: 256,
  pattern: '^(?:[^%\\\\\\u0000]|\\\\[%\\\\])*(?:%(?:[^%\\\\\\u0000]|\\\\[%\\\\])*){0,5}$',
}

/** The parameters that filter by one field; the introduction says what their operators compare. R216. */
export function filterParameters(
  { field, operators: all }: ListOffer['filters'][number],
  resource: Resource,
  context: SchemaContext,
): DocumentPart[] {
  const terms = termsAt(context.termsOf(resource.name), field)
  const value = valueSchema(resource, field, terms, context)
  const { length } = fieldKind(terms.kind, context.kinds)
  const schemaFor = (operator: string): DocumentPart => {
    if (operator === 'null') return { type: 'boolean' }
    if (operator === 'like') return { ...context.components.put('schemas', ['Like'], likeSchema) }
    return length !== undefined && operator !== 'eq' && operator !== 'ne' ? textSchema : value
  }
  const given = { in: 'query', ...(terms.deprecated && { deprecated: true }) }
  const formed = all
    .filter((operator) => operator !== 'in')
    .map((operator) => ({ name: `${field}[${operator}]`, ...given, schema: schemaFor(operator) }))
  if (filterParameter(field) !== field || !(all.includes('eq') || all.includes('in'))) return formed
  if (!all.includes('in')) return [{ name: field, ...given, schema: value }, ...formed]
  return [{ name: field, ...given, schema: valueOrSet(resource, field, terms, context) }, ...formed]
}

/** The schema of a value or a set of values; it is shared, unless the values are those of an enum. */
function valueOrSet(resource: Resource, field: string, terms: FieldTerms, context: SchemaContext): DocumentPart {
  const value = valueSchema(resource, field, terms, context)
  const itself = valueSchema(resource, field, terms, unshared(context))
  const named = namedResource(resource, field, context)
  const isTypeId = named?.key === null && named.settings.resource.id === 'typeid' // such an id needs no quotes in a set
  const bare = isTypeId || fieldKind(terms.kind, context.kinds).bare
  const set = setRef(bare, itself, resource.settings.list.maxSetSize, context)
  const isPlainText = terms.kind === 'text' && value.pattern === textSchema.pattern
  const either = { anyOf: [isPlainText ? { ...textSchema, pattern: notASetPattern } : value, set] }
  if (value.enum !== undefined) return either
  const name = typeof value.$ref === 'string' ? String(value.$ref.split('/').at(-1)) : pascalCase(terms.kind)
  return { ...context.components.put('schemas', [`${name.replace(/Input$/, '')}OrSet`], either) }
}

/** A context in which schemas are written in place, not as references. */
const unshared = (context: SchemaContext): SchemaContext => ({
  ...context,
  components: { ...context.components, put: (_, __, part) => part as unknown as ComponentRef },
})

/** A text that begins like a set is read as a set. */
const notASetPattern = '^(?!in:\\()[^\\u0000]*$'

/** The resource whose ids are the values of a field of the address. */
function namedResource(resource: Resource, field: string, { resources }: SchemaContext): Resource | undefined {
  if (field === 'id') return resource
  return field === resource.parent?.field ? resources.get(resource.parent.resource) : undefined
}

function valueSchema(resource: Resource, field: string, terms: FieldTerms, context: SchemaContext): DocumentPart {
  const named = namedResource(resource, field, context)
  if (named) return idSchema(named, context)
  return terms.kind === 'text' ? textSchema : fieldSchema(terms, 'asked', context)
}

const bareMember = '[^,()"\\\\ \\u0000](?:[^,()"\\\\\\u0000]*[^,()"\\\\ \\u0000])?'
const quotedMember = '"(?:[^"\\\\\\u0000]|\\\\["\\\\])*"'

/** Sets of texts have one schema in all filters. */
function setRef(
  bare: FieldKind['bare'],
  value: DocumentPart,
  most: number,
  { components }: SchemaContext,
): DocumentPart {
  const schema = setSchema(bare, value, most)
  const ofTexts = memberPattern(bare, value) === null
  return ofTexts ? { ...components.put('schemas', ['Set', `SetOf${most}`], schema) } : schema
}

/** The schema of a set; the pattern limits its members if it can. R65 to R68. */
export function setSchema(bare: FieldKind['bare'], value: DocumentPart, most: number): DocumentPart {
  const inner = memberPattern(bare, value)
  const member = inner === null ? `(?:${bareMember}|${quotedMember})` : `(?:${inner}|"(?:${inner})")`
  return { type: 'string', pattern: `^in:\\( *(?:${member} *(?:, *${member} *){0,${most - 1}})?\\)$` }
}

const escapePattern = (one: string): string => one.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** The pattern of a member; null if a member may contain characters that need quotes. */
function memberPattern(bare: FieldKind['bare'], { type, enum: values, pattern }: DocumentPart): string | null {
  if (typeof bare === 'string') return bare
  if (type === 'boolean') return 'true|false'
  if (type === 'integer') return '-?(?:0|[1-9][0-9]*)'
  if (Array.isArray(values))
    return values.every((one) => /^[\w.-]+$/.test(one)) ? values.map(escapePattern).join('|') : null
  return bare && typeof pattern === 'string' ? pattern.slice(1, -1) : null
}
