/** Batch bodies: the schemas of bodies with several operations: batches, their answers, and JSON Patches. Part 13; R118, R229. */
import { batchMethods } from '../endpoints/batch-body.ts'
import { titleInSentence } from '../formats/naming.ts'
import type { Resource } from '../resources/resource.ts'
import { type ComponentRef, type DocumentPart, pascalCase } from './components.ts'
import { exampleBody } from './example-body.ts'
import { type SchemaContext, unnamedMembers } from './schemas.ts'

/** The body of a batch. R229. */
export function batchRef({ settings }: Resource, { components, resources }: SchemaContext): ComponentRef {
  const member = {
    type: 'object',
    properties: {
      method: { type: 'string', enum: batchMethods },
      path: { type: 'string', description: 'The path of a request; `$order.id` is a member of an earlier result.' },
      headers: { type: 'object', additionalProperties: { type: 'string' } },
      body: { type: ['object', 'null'] },
      refs: {
        type: 'object',
        description: 'Values of earlier results by their place in the body: `"/customerId": "customer.id"`.',
        additionalProperties: { type: 'string' },
      },
      as: { type: 'string', description: 'Its name for later operations; otherwise its index.' },
    },
    required: ['method', 'path'],
    additionalProperties: false,
  }
  const operations = { type: 'array', items: member, minItems: 1, maxItems: settings.batches }
  const properties = { operations }
  const title = 'Operations that are carried out together, in their order'
  return components.put('schemas', ['Batch'], {
    ...{ title, type: 'object', properties, required: ['operations'] },
    ...unnamedMembers(settings),
    ...batchExample([...resources.values()]),
  })
}

/** The creation of an item that needs no others. */
function batchExample(resources: readonly Resource[]): DocumentPart {
  const bodies = resources.flatMap((one) => {
    const isOpen =
      one.parent === null && one.settings.resource.id !== 'client' && one.declaration.operations === undefined
    const body = isOpen ? exampleBody(one) : null
    return body === null ? [] : [{ method: 'POST', path: `/${one.name}`, body }]
  })
  return bodies.length === 0 ? {} : { examples: [{ operations: bodies.slice(0, 1) }] }
}

/** The answer of a batch. */
export function batchResultRef(_: Resource, { components }: SchemaContext): ComponentRef {
  const result = {
    type: 'object',
    properties: {
      id: { type: 'string' },
      status: { type: 'integer' },
      headers: { type: 'object', additionalProperties: { type: 'string' } },
      body: { type: ['object', 'null'] },
    },
    required: ['id', 'status', 'headers', 'body'],
  }
  return components.put('schemas', ['BatchResults'], {
    title: 'The answers to the operations of a batch, in their order',
    type: 'object',
    properties: { data: { type: 'array', items: result } },
    required: ['data'],
  })
}

const count = { type: 'integer', minimum: 0 }
/** The members of the report of an import. R238. */
export const importMembers = {
  created: { ...count, description: 'How many items were created.' },
  existing: { ...count, description: 'How many lines have a key with which the item was created before.' },
  failed: { ...count, description: 'How many lines were refused.' },
  errors: {
    type: 'array',
    items: {
      allOf: [{ $ref: '#/components/schemas/Error' }],
      properties: {
        line: { ...count, minimum: 1 },
        old_id: { type: 'string', description: 'The id of the item that was created with the key of the line.' },
      },
      required: ['line'],
    },
    maxItems: 50,
    description: 'Why the first of them were refused.',
  },
}

/** The report of an import. */
export const importReportRef = (_: Resource, { components }: SchemaContext): ComponentRef =>
  components.put('schemas', ['ImportReport'], {
    title: 'What became of the lines of an import',
    type: 'object',
    properties: importMembers,
    required: Object.keys(importMembers),
  })

/** The content of an import by its types: a text of any length. */
export function importedContent(types: readonly string[], resource: Resource): DocumentPart {
  const body = exampleBody(resource)
  const json = `Lines of JSON, each an object as it creates one ${titleInSentence(resource.title)}.`
  const csv = 'CSV (RFC 4180) with a line of names, nested ones with dots, as an export has it.'
  return Object.fromEntries(
    types.map((type) => [
      type,
      type === 'text/csv'
        ? { schema: { type: 'string', description: csv } }
        : { schema: { type: 'string', description: json }, ...(body && { example: `${JSON.stringify(body)}\n` }) },
    ]),
  )
}

/** The operations of a JSON Patch. R118. */
export function jsonPatchRef({ singular, settings }: Resource, { components }: SchemaContext): ComponentRef {
  const pointer = { type: 'string', pattern: '^(/([^/~]|~[01])*)*$' }
  const operation = (names: readonly string[], more: DocumentPart): DocumentPart => ({
    type: 'object',
    properties: { op: { type: 'string', enum: names }, path: pointer, ...more },
    required: ['op', 'path', ...Object.keys(more)],
  })
  return components.put('schemas', ['JsonPatch', `${pascalCase(singular)}JsonPatch`], {
    title: 'A JSON Patch (RFC 6902)',
    description: 'Changes the item as its caller sees it: all operations are applied, or none is.',
    type: 'array',
    maxItems: settings.body.maxKeys,
    items: {
      anyOf: [
        operation(['add', 'replace', 'test'], { value: {} }),
        operation(['remove'], {}),
        operation(['move', 'copy'], { from: pointer }),
      ],
    },
  })
}
