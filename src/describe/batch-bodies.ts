/** Batch bodies: the schemas of a batch and of its answer. Part 13; R229. */
import { batchMethods } from '../endpoints/batch-body.ts'
import type { Resource } from '../resources/resource.ts'
import type { ComponentRef } from './components.ts'
import { type SchemaContext, unnamedMembers } from './schemas.ts'

/** The body of a batch. R229. */
export function batchRef({ settings }: Resource, { components }: SchemaContext): ComponentRef {
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
  })
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
