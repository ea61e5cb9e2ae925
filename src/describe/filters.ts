/** Describes filters: each form a parameter of its own, under its literal name. Part 13; part 4, filtering. */
import type { Terms } from '../contract/terms.ts'
import type { Offer } from '../flow/route.ts'
import { parameterOf } from '../lists/rules.ts'
import type { Resource } from '../resources/resource.ts'
import type { Part } from './shelf.ts'
import { type Around, idSchema, schemaOf } from './values.ts'

const operators: Readonly<Record<string, string>> = {
  eq: 'is this, also where it reads like a set',
  ne: 'is another value than this',
  gte: 'is at least this',
  lte: 'is at most this',
  gt: 'is more than this',
  lt: 'is less than this',
  like: 'contains this, or matches it as a whole where it has a %, which stands for any run of characters; a literal one is written \\% and a backslash \\\\',
  null: 'has no value (true), or has one (false)',
}

const text = { type: 'string', pattern: '^[^\\u0000]*$' }
/** At most five wildcards; a backslash stands before a percent sign or another one. R70. */
const like = {
  type: 'string',
  maxLength: 256,
  pattern: '^(?:[^%\\\\\\u0000]|\\\\[%\\\\])*(?:%(?:[^%\\\\\\u0000]|\\\\[%\\\\])*){0,5}$',
}

/** The parameters that filter by one field. R216. */
export function filterParameters(
  { field, operators: all }: Offer['filters'][number],
  resource: Resource,
  around: Around,
): Part[] {
  const terms = termsAt(resource, field, around)
  const value = valueSchema(resource, field, terms, around)
  const textual = ['text', 'email', 'url'].includes(terms.kind)
  const schemaFor = (operator: string): Part => {
    if (operator === 'null') return { type: 'boolean' }
    if (operator === 'like') return like
    return textual && operator !== 'eq' && operator !== 'ne' ? text : value
  }
  const formed = all
    .filter((operator) => operator !== 'in')
    .map((operator) => ({
      name: `${field}[${operator}]`,
      in: 'query',
      description: `${field} ${operators[operator]}.`,
      schema: schemaFor(operator),
    }))
  if (parameterOf(field) !== field) return formed
  const { maxSetSize } = resource.settings.list
  const forms = [
    ...(all.includes('eq')
      ? [terms.kind === 'text' && value.pattern === text.pattern ? { ...text, pattern: unlikeSet } : value]
      : []),
    ...(all.includes('in') ? [setOf(terms, value, maxSetSize)] : []),
  ]
  if (forms.length === 0) return formed
  const says = `${field} is this${all.includes('in') ? `, or one of a set of at most ${maxSetSize}, as in:(a,"b, c")` : ''}.`
  return [
    { name: field, in: 'query', description: says, schema: forms.length === 1 ? (forms[0] as Part) : { anyOf: forms } },
    ...formed,
  ]
}

/** A text that begins like a set is one. */
const unlikeSet = '^(?!in:\\()[^\\u0000]*$'

/** The terms of a field, a nested one by its path. */
function termsAt({ name }: Resource, field: string, around: Around): Terms {
  const [top = '', ...rest] = field.split('.')
  return rest.reduce((terms, one) => terms.fields?.[one] as Terms, around.termsOf(name)[top] as Terms)
}

function valueSchema(resource: Resource, field: string, terms: Terms, around: Around): Part {
  const owner = field === resource.parent?.field ? around.resources.get(resource.parent.resource) : undefined
  if (field === 'id') return idSchema(resource, around)
  if (owner) return idSchema(owner, around)
  return terms.kind === 'text' ? text : schemaOf(terms, 'asked', around)
}

const bare = '[^,()"\\\\ \\u0000](?:[^,()"\\\\\\u0000]*[^,()"\\\\ \\u0000])?'
const quoted = '"(?:[^"\\\\\\u0000]|\\\\["\\\\])*"'

/** A set of values: its members as far as a pattern can say what they are. R65 to R68. */
function setOf({ kind }: Terms, value: Part, most: number): Part {
  const inner = memberForm(kind, value)
  const member = inner === null ? `(?:${bare}|${quoted})` : `(?:${inner}|"(?:${inner})")`
  return { type: 'string', pattern: `^in:\\( *(?:${member} *(?:, *${member} *){0,${most - 1}})?\\)$` }
}

const escaped = (one: string): string => one.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** The pattern of a member; null where it can hold what has to be quoted. */
function memberForm(kind: Terms['kind'], { type, enum: values, pattern }: Part): string | null {
  if (type === 'boolean') return 'true|false'
  if (type === 'integer') return '-?(?:0|[1-9][0-9]*)'
  if (kind === 'date') return '[0-9]{4}-[0-9]{2}-[0-9]{2}'
  if (kind === 'country' || kind === 'currency') return `[A-Z]{${kind === 'country' ? 2 : 3}}`
  if (Array.isArray(values)) return values.every((one) => /^[\w.-]+$/.test(one)) ? values.map(escaped).join('|') : null
  const plain = ['ref', 'bigint', 'decimal', 'timestamp'].includes(kind) && typeof pattern === 'string'
  return plain ? pattern.slice(1, -1) : null
}
