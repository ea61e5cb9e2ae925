/** Errors: the schemas of error bodies in both formats, and of the conflict of a used idempotency key. Part 13; part 7. */

import type { ComponentRef, Components, DocumentPart } from '../bodies/components.ts'
import { catalogue, typeChain } from '../errors/catalogue.ts'
import { toCase } from '../formats/naming.ts'
import { problemPrefix, type Settings } from '../settings.ts'
import type { StatusRefusal } from './refusals.ts'

const typeSchema = { type: 'string', pattern: '^[a-z][a-z0-9-]*$' }
const typesSchema = {
  type: 'array',
  items: typeSchema,
  minItems: 2,
  description: 'The type and all more general ones; a client that does not know the first acts on one that it knows.',
}
const schemaRef = (name: string): ComponentRef => ({ $ref: `#/components/schemas/${name}` })
const errorRef: ComponentRef = schemaRef('Error')
const errorsSchema = {
  type: 'array',
  items: errorRef,
  minItems: 1,
  maxItems: 50,
  description: 'All that is wrong, in its order.',
}

/** The place of a violation, and other members of errors. */
const detailSchemas = ({ naming }: Settings): DocumentPart => ({
  cause: errorRef,
  errors: schemaRef('Errors'),
  in: { type: 'string', enum: ['body', 'query', 'path', 'header'] },
  pointer: { type: 'string', format: 'json-pointer', description: 'The place in the body.' },
  name: { type: 'string', description: 'The parameter or header.' },
  scope: { type: 'string', description: 'The scopes that it takes, with spaces between them.' },
  [toCase('requestId', naming)]: { type: 'string', description: 'The Request-Id, where the service failed.' },
})
const oldIdSchema = { type: 'string', description: 'The id of the resource that the first request created.' }
const policiesSchema = { type: 'array', items: { type: 'string' }, description: 'The quotas that are used up.' }

// long because: one schema after the other
const errorSchemas = (settings: Settings): Readonly<Record<string, DocumentPart>> => ({
  ErrorTypes: typesSchema,
  Errors: errorsSchema,
  Error: {
    description: 'Every error. Its message is for people; its types are for programs.',
    type: 'object',
    properties: {
      message: { type: 'string' },
      type: typeSchema,
      types: schemaRef('ErrorTypes'),
      ...detailSchemas(settings),
      [toCase('violatedPolicies', settings.naming)]: policiesSchema,
    },
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
      types: schemaRef('ErrorTypes'),
      ...detailSchemas(settings),
      old_id: oldIdSchema,
      'violated-policies': policiesSchema,
    },
    required: ['type', 'title', 'status', 'detail', 'instance', 'types'],
    examples: [
      {
        ...{ type: `${problemPrefix(settings)}resource-not-found`, title: 'Resource not found', status: 404 },
        ...{ detail: 'Not found.', instance: 'urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057' },
        types: typeChain(catalogue, 'resource-not-found'),
      },
    ],
  },
  IdempotencyConflict: {
    description: 'A resource was already created with this idempotency key: what was asked for is done.',
    type: 'object',
    properties: { message: { type: 'string' }, old_id: oldIdSchema, type: typeSchema, types: schemaRef('ErrorTypes') },
    required: ['message', 'old_id'],
  },
})

/** Stored first: they refer to each other by these names, which schemas of resources must not take. R216. */
export function putErrorSchemas(components: Components, settings: Settings): void {
  for (const [name, part] of Object.entries(errorSchemas(settings))) components.put('schemas', [name], part)
}

const oneOfTypes = (types: readonly string[]): DocumentPart =>
  types.length === 1 ? { const: types[0] } : { enum: types }

/** The content of a refusal, by media type; `more` are further members. */
export function refusalContent(
  refusal: Omit<StatusRefusal, 'status'>,
  minimal: boolean,
  examples: DocumentPart,
  more: DocumentPart = {},
): DocumentPart {
  const { types, violations, repeats } = refusal
  const inside = violations.length === 0 ? {} : { errors: { items: { properties: { type: oneOfTypes(violations) } } } }
  const plain = { allOf: [errorRef, { properties: { type: oneOfTypes(types), ...inside, ...more } }] }
  const problem = schemaRef('Problem')
  return {
    'application/json': { schema: repeats ? repeatSchema(types, minimal, more) : plain, ...examples },
    'application/problem+json': {
      schema: Object.keys(more).length === 0 ? problem : { allOf: [problem, { properties: more }] },
    },
  }
}

export const repeatTypes = ['idempotency-key-reused', 'idempotency-key-payload-mismatch']

/** The schema of a 409 that may report a used idempotency key, which has a shape of its own. R96, R97. */
function repeatSchema(types: readonly string[], minimal: boolean, more: DocumentPart): DocumentPart {
  const own = schemaRef('IdempotencyConflict')
  const rest = types.filter((type) => !repeatTypes.includes(type))
  const typed = {
    properties: { type: oneOfTypes(types.filter((type) => repeatTypes.includes(type))) },
    required: ['type', 'types'],
  }
  const repeat = minimal ? own : { allOf: [own, typed] }
  const other = { allOf: [errorRef, { properties: { type: oneOfTypes(rest), ...more } }] }
  return { anyOf: [repeat, other] }
}

const statusTitles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
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

export const statusTitle = (status: number): string => statusTitles[status] ?? `Status ${status}`
