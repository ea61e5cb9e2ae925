/** Describes the bodies of errors: one shape for all of them, in both forms, and that of a repeated idempotency key. Part 13; part 7. */
import type { Refusal } from './refusals.ts'
import { type Part, pascal, type Ref, type Shelf } from './shelf.ts'

const kebab = { type: 'string', pattern: '^[a-z][a-z0-9-]*$' }
const chain = {
  type: 'array',
  items: kebab,
  minItems: 2,
  description: 'The type and all more general ones; a client that does not know the first acts on one that it knows.',
}
const error: Ref = { $ref: '#/components/schemas/Error' }
const errors = {
  type: 'array',
  items: error,
  minItems: 1,
  maxItems: 50,
  description: 'All that is wrong, in its order.',
}

/** Where a violation is, and what else errors carry. */
const details: Part = {
  cause: error,
  errors,
  in: { type: 'string', enum: ['body', 'query', 'path', 'header'] },
  pointer: { type: 'string', format: 'json-pointer', description: 'The place in the body.' },
  name: { type: 'string', description: 'The parameter or header.' },
  scope: { type: 'string', description: 'The scopes that it takes, with spaces between them.' },
  requestId: { type: 'string', description: 'The Request-Id, where the service failed.' },
}
const oldId = { type: 'string', description: 'The id of the resource that the first request created.' }
const policies = { type: 'array', items: { type: 'string' }, description: 'The quotas that are used up.' }

const shapes: Readonly<Record<'Error' | 'Problem' | 'IdempotencyConflict', Part>> = {
  Error: {
    description: 'Every error. Its message is for people; its types are for programs.',
    type: 'object',
    properties: { message: { type: 'string' }, type: kebab, types: chain, ...details, violatedPolicies: policies },
    required: ['message', 'type', 'types'],
  },
  Problem: {
    description: 'Every error in the form of RFC 9457, where Accept names application/problem+json.',
    type: 'object',
    properties: {
      type: { type: 'string', format: 'uri-reference' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      instance: { type: 'string', format: 'uri' },
      types: chain,
      ...details,
      old_id: oldId,
      'violated-policies': policies,
    },
    required: ['type', 'title', 'status', 'detail', 'instance', 'types'],
  },
  IdempotencyConflict: {
    description: 'A resource was already created with this idempotency key: what was asked for is done.',
    type: 'object',
    properties: { message: { type: 'string' }, old_id: oldId, type: kebab, types: chain },
    required: ['message', 'old_id'],
  },
}

const shape = (shelf: Shelf, name: keyof typeof shapes): Ref => shelf.put('schemas', [name], shapes[name])

/** They have their names whatever resources are called, as they refer to each other by them. R216. */
export function keepShapes(shelf: Shelf): void {
  for (const [name, part] of Object.entries(shapes)) shelf.put('schemas', [name], part)
}

const oneOf = (types: readonly string[]): Part => (types.length === 1 ? { const: types[0] } : { enum: types })

/** The contents of a refusal, by media type. */
export function refusalContent(refusal: Refusal, minimal: boolean, shelf: Shelf): Part {
  const { types, violations, repeats } = refusal
  const told = { types: { prefixItems: [oneOf(types)] } }
  const inside = violations.length === 0 ? {} : { errors: { items: { properties: { type: oneOf(violations) } } } }
  const plain = { allOf: [shape(shelf, 'Error'), { properties: { type: oneOf(types), ...inside } }] }
  const conflict = repeats ? repeatOf(types, minimal, shelf) : null
  const rich = { allOf: [shape(shelf, 'Problem'), { properties: { ...told } }] }
  return {
    'application/json': { schema: conflict === null ? plain : conflict(plain) },
    'application/problem+json': { schema: rich },
  }
}

const repeating = ['idempotency-key-reused', 'idempotency-key-payload-mismatch']

/** A repeat has a shape of its own. R96, R97. */
function repeatOf(types: readonly string[], minimal: boolean, shelf: Shelf): (plain: Part) => Part {
  const own = shape(shelf, 'IdempotencyConflict')
  const rest = types.filter((type) => !repeating.includes(type))
  const typed = {
    properties: { type: oneOf(types.filter((type) => repeating.includes(type))) },
    required: ['type', 'types'],
  }
  const repeat = minimal ? own : { allOf: [own, typed] }
  const other = { allOf: [shape(shelf, 'Error'), { properties: { type: oneOf(rest) } }] }
  return () => ({ anyOf: [repeat, other] })
}

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
}

export const titleOf = (status: number): string => titles[status] ?? `Status ${status}`
export const nameOfStatus = (status: number): string => pascal(titleOf(status))
