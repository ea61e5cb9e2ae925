/** Event bodies: the schemas of events, one for each resource, and the webhooks that deliver them. Part 13; part 6. R207, R208. */

import { answeredSchema, recordedRef } from '../bodies/bodies.ts'
import { type ComponentRef, type DocumentPart, pascalCase } from '../bodies/components.ts'
import { exampleIds, idSchema, type SchemaContext } from '../bodies/schemas.ts'
import { streamType } from '../endpoints/content-negotiation.ts'
import type { DescribedEvents, Route, ServedVersion } from '../flow/route.ts'
import { forwardPageSchema } from '../lists/page-text.ts'
import { identifyingFields } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import { endpointResource } from '../resources/service-fields.ts'
import { setSchema } from './filters.ts'

const text = { type: 'string' }
const moment = { type: 'string', format: 'date-time' }

/** An event of any of the resources. */
export function eventRef(events: readonly DescribedEvents[], resource: Resource, context: SchemaContext): ComponentRef {
  const anyOf = events.map((one) => resourceEventRef(one, resource, context))
  const [only] = anyOf as [ComponentRef]
  return anyOf.length === 1
    ? only
    : context.components.put('schemas', ['Event'], { title: 'The event of a change', anyOf })
}

/** A page of events. */
export function eventsRef(
  events: readonly DescribedEvents[],
  resource: Resource,
  context: SchemaContext,
): ComponentRef {
  const { settings } = resource
  const data = { type: 'array', items: eventRef(events, resource, context), maxItems: settings.list.maxPageSize }
  return context.components.put('schemas', ['EventList'], {
    ...{ title: 'A page of events', type: 'object' },
    ...forwardPageSchema(settings, data),
  })
}

/** The parameters of lists that are only read forward by cursor, with the filters of events; and that of a revision. */
export function eventQueryParameters({
  at,
  about: { events, answers },
  resource,
  pathPatterns,
}: Route): DocumentPart[] {
  if (answers.some(({ body }) => body === 'revision')) return [againstParameter(pathPatterns?.revision)]
  const isOther = answers.some(({ body }) => body === 'outputs' || body === 'revisions')
  if (!isOther && (!events || at !== 'collection')) return []
  const { maxPageSize, pageSize, maxSetSize } = resource.settings.list
  const oneOf = (values: readonly string[]) => {
    const value = { type: 'string', enum: values }
    return { anyOf: [value, setSchema(undefined, value, maxSetSize)] }
  }
  const parameter = (name: string, description: string, schema: object) => ({ name, in: 'query', description, schema })
  const window = [
    parameter('cursor', 'The place to go on from: `nextCursor` of an earlier page; empty for the first one.', text),
    parameter('limit', 'How many the page has at most.', {
      ...{ type: 'integer', minimum: 1, maximum: maxPageSize, default: Math.min(pageSize, maxPageSize) },
    }),
  ]
  if (!events) return window
  const types = events.flatMap((one) => one.types)
  const names = events.map((one) => one.resource.name)
  return [
    parameter('type', 'Only events of a type, or of a set of types.', oneOf(types)),
    parameter('resource', 'Only events of a resource, or of a set of resources.', oneOf(names)),
    parameter('item', 'Only events of the item with this id.', text),
    parameter('since', 'Only events of changes at this time or later.', moment),
    ...window,
  ]
}

const againstParameter = (pattern: string | undefined): DocumentPart => ({
  ...{ name: 'against', in: 'query' },
  description: 'Another revision: the answer is the merge patch from it to this one.',
  schema: { ...text, pattern },
})

/** The content of a stream. R213. */
export const streamContent: DocumentPart = {
  [streamType]: {
    schema: {
      type: 'string',
      description: 'Server-sent events: `id`, `event` (the type) and `data` (the event as JSON, on one line).',
    },
  },
}

/** The webhooks of a version: the delivery of each type of event. R209. */
export function webhookItems(
  { endpoints, resources }: ServedVersion,
  context: SchemaContext,
): DocumentPart | undefined {
  if (!resources.has(endpointResource)) return undefined
  const route = endpoints.flatMap(({ methods }) => [...methods.values()]).find(({ about }) => about.events)
  return (
    route &&
    Object.fromEntries(
      (route.about.events ?? []).flatMap((one) =>
        one.types.map((type) => [type, webhookItem(type, one, route, context)]),
      ),
    )
  )
}

function webhookItem(type: string, events: DescribedEvents, { resource }: Route, context: SchemaContext): DocumentPart {
  const event = resourceEventRef(events, resource, context)
  const schema = { allOf: [event, { type: 'object', properties: { type: { const: type } } }] }
  const media = resource.settings.events.format === 'cloudevents' ? 'application/cloudevents+json' : 'application/json'
  const post = {
    operationId: `webhook.${type}`,
    summary: `Deliver ${type}`,
    tags: [events.resource.name],
    security: [],
    parameters: webhookHeaders.map(([name, description, schema]) => ({
      ...context.components.put('parameters', [pascalCase(name)], {
        ...{ name, in: 'header', required: true, description, schema },
      }),
    })),
    requestBody: { description: 'The event.', required: true, content: { [media]: { schema } } },
    responses: {
      '2XX': { description: 'The event was received.' },
      410: { description: 'The endpoint is gone; nothing more is sent to it.' },
      default: { description: 'The event is sent again later.' },
    },
  }
  return { post }
}

const webhookHeaders: readonly (readonly [name: string, description: string, schema: DocumentPart])[] = [
  ['webhook-id', 'The id of the event, the same in each attempt.', text],
  ['webhook-timestamp', 'The time of the attempt, in seconds since 1970.', { type: 'integer', minimum: 0 }],
  [
    'webhook-signature',
    'Signatures of `id.timestamp.body`, separated by spaces: HMAC-SHA256 as `v1,…`, Ed25519 as `v1a,…`.',
    text,
  ],
]

/** Which item it is, without its other fields. */
function identity(resource: Resource, context: SchemaContext): DocumentPart {
  const names = identifyingFields(resource)
  const schemaOf = (name: string): DocumentPart => {
    const member = resource.byName.get(name)
    return name === 'id' || !member ? idSchema(resource, context) : answeredSchema(resource, member, context)
  }
  const properties = Object.fromEntries(names.map((name) => [name, schemaOf(name)]))
  return { type: 'object', properties, required: names, additionalProperties: false }
}

/** The id of the item, after that of its owner if it is only unique there. */
function subjectSchema({ name, parent, collection }: Resource, context: SchemaContext): DocumentPart {
  const { idOf } = exampleIds(context)
  const owner = collection.composite && parent ? idOf(parent.resource) : undefined
  const example = owner === undefined ? idOf(name) : `${owner}/1`
  return example === undefined ? text : { ...text, examples: [example] }
}

/** The schema of one event; `events` is the resource of all events. */
function resourceEventRef(
  { resource, types, mayHideItem }: DescribedEvents,
  events: Resource,
  context: SchemaContext,
): ComponentRef {
  const { settings } = events
  const thin = resource.settings.events.payload === 'thin'
  const whole = thin ? identity(resource, context) : recordedRef(resource, context)
  const data = mayHideItem && !thin ? { anyOf: [whole, identity(resource, context)] } : whole
  const id = idSchema(events, context)
  const subject = subjectSchema(resource, context)
  const type = { type: 'string', enum: types }
  const own: DocumentPart =
    settings.events.format === 'cloudevents'
      ? {
          ...{ specversion: { const: '1.0' }, id, source: { const: `/${resource.name}` }, type, subject },
          ...{ time: moment, datacontenttype: { const: 'application/json' }, dataschema: text, sequence: text, data },
        }
      : { id, type, timestamp: moment, version: text, sequence: { type: 'integer', minimum: 1 }, data }
  return context.components.put('schemas', [`${pascalCase(resource.singular)}Event`], {
    ...{ type: 'object', properties: own, required: Object.keys(own), additionalProperties: false },
  })
}
