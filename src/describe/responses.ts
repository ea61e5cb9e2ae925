/** Responses: describes the successful answers of an operation and all its refusals. Part 13. */

import { batchResultRef, importMembers, importReportRef } from '../bodies/batch-bodies.ts'
import {
  anyOfSchemas,
  bodySchemas,
  cachedBodyRef,
  itemRef,
  listRef,
  outputRef,
  outputsRef,
  pairProperty,
  recordedRef,
} from '../bodies/bodies.ts'
import { type ComponentRef, type DocumentPart, pascalCase } from '../bodies/components.ts'
import { exampleInput } from '../bodies/example-body.ts'
import { patchContent, revisionsRef } from '../bodies/revision-bodies.ts'
import { exampleIds, fieldSchema, type SchemaContext } from '../bodies/schemas.ts'
import { summaryRef } from '../bodies/summary-bodies.ts'
import { newestType, typeChain, typeTitle } from '../errors/catalogue.ts'
import type { DescribedAnswer, Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { refusalContent, repeatTypes, statusTitle } from './errors.ts'
import { eventRef, eventsRef, streamContent } from './event-bodies.ts'
import { type DescribedCorridor, refusalsOf, type StatusRefusal } from './refusals.ts'
import { type HeaderRefs, refusalHeaders } from './response-headers.ts'

/** The context for describing answers. */
export interface ResponseContext {
  readonly service: Service
  readonly version: ServedVersion
  readonly corridor: DescribedCorridor
  readonly schemas: SchemaContext
  readonly headers: HeaderRefs
  readonly shared: SharedHeaders
  /** The refusals that are already stored, by their content. */
  readonly refusals: Map<string, ComponentRef>
}

type SharedHeaders = ReadonlyMap<string | undefined, readonly string[]>

/** The answers of a route. */
export function responsesOf(context: ResponseContext, endpoint: Endpoint, route: Route): DocumentPart {
  const { service, version, corridor } = context
  const own = refusalsOf({ service, version, endpoint, route }, corridor).filter((one) => !isAlike(one, route))
  const refused = own.map((refusal) => [refusal.status, refusalRef(context, refusal, route)])
  const done = Object.entries(successResponses(context, route))
  const alike = context.schemas.components.bodies.form('Error4XX', () => alikeRef(context))
  return Object.fromEntries([...done, ...refused, ['4XX', alike]])
}

/** The statuses with which every request, or every one with content, can be refused in the same way. */
const alikeStatuses = [406, 408, 413, 414, 415, 417, 421, 431]
const isAlike = ({ status }: StatusRefusal, { safe, about }: Route): boolean =>
  alikeStatuses.includes(status) || (status === 412 && (safe || !about.headers.includes('match')))

/** Describes these refusals of all operations together: repeated for each operation, they would be a third of the document. */
function alikeRef(context: ResponseContext): ComponentRef {
  const { service, version, corridor, schemas, headers } = context
  const all = version.endpoints.flatMap((endpoint) =>
    [...endpoint.methods.values()].flatMap((route) =>
      refusalsOf({ service, version, endpoint, route }, corridor)
        .filter((one) => isAlike(one, route))
        .map((refusal) => ({ ...refusal, headers: refusalHeaders(refusal, route) })),
    ),
  )
  const [resource] = [...version.resources.values()] as [Resource, ...Resource[]]
  const byStatus = [...Map.groupBy(all, ({ status }) => status)].toSorted(([a], [b]) => a - b)
  const statuses = byStatus.map(([status]) => status).join(', ')
  const types = byStatus.flatMap(([, own]) => [...new Set(own.flatMap((one) => one.types))].toSorted())
  return schemas.components.put('responses', ['Error4XX'], {
    description: `The request itself is refused, whatever it asks for: ${statuses}. 413 and 415 are for content.`,
    ...headers(all.flatMap((one) => one.headers)),
    content: refusalContent(
      { types, violations: [], repeats: false },
      false,
      refusalExamples(types, context, resource),
      errorMembers(types, context, resource),
    ),
  })
}

/** Many operations have the same refusals, so each is stored once. */
function refusalRef(context: ResponseContext, refusal: StatusRefusal, route: Route): ComponentRef {
  const { schemas, headers, refusals } = context
  const minimal = route.resource.settings.idempotency.conflictBody === 'minimal'
  // An import of which every line is wrong is refused with its report; other refusals of an import have other errors, or none.
  const { errors, ...counts } = importMembers
  const reported = { ...counts, errors: { items: { properties: errors.items.properties } } }
  const declared = errorMembers(refusal.types, context, route.resource)
  const more = route.importing && refusal.status === 400 ? { ...declared, ...reported } : declared
  const content = refusalContent(refusal, minimal, refusalExamples(refusal.types, context, route.resource), more)
  const part = { description: statusTitle(refusal.status), ...headers(refusalHeaders(refusal, route)), content }
  const key = JSON.stringify(part)
  const ref = refusals.get(key) ?? schemas.components.put('responses', refusalNames(refusal, route), part)
  refusals.set(key, ref)
  return ref
}

/** The statuses whose types depend on the operation. */
const ownStatuses = [400, 409, 422]

/**
 * The name of a refusal is that of the status, with the operation and the resource where others of this name differ, and does
 * not change when resources are added. A batch is refused as any of its members is, so its refusals with several types are
 * never those of others.
 */
function refusalNames({ status, types }: StatusRefusal, { resource, about, most }: Route): [string, ...string[]] {
  if (most !== undefined && types.length > 1) return [`Batch${status}`]
  const ofKind = `${pascalCase(about.id)}${status}`
  const own = [ofKind, pascalCase(resource.singular) + ofKind] as const
  return ownStatuses.includes(status) ? [...own] : [`Error${status}`, ...own]
}

/** The further members of the declared types of a refusal. A member of several types has a value of one of them. R160. */
function errorMembers(types: readonly string[], context: ResponseContext, resource: Resource): DocumentPart {
  const all = types.flatMap((type) =>
    Object.entries(bodySchemas(resource, context.version.errorFields.get(type) ?? [], 'answered', context.schemas)),
  )
  const schemasOf = (own: readonly (readonly [string, unknown])[]) => [
    ...new Map(own.map(([, schema]) => [JSON.stringify(schema), schema as object])).values(),
  ]
  return Object.fromEntries(
    [...Map.groupBy(all, ([name]) => name)].map(([name, own]) => [name, anyOfSchemas(schemasOf(own))]),
  )
}

/** The declared examples of the types of a refusal, or else one of its first type. */
function refusalExamples(types: readonly string[], context: ResponseContext, resource: Resource): DocumentPart {
  const { service, version, schemas } = context
  const { errors: declared = {} } = service.declaration
  const examples = types.flatMap((type) => {
    const message = declared[newestType(type, version.errorNames)]?.example
    if (message === undefined) return []
    const members = exampleInput(version.errorFields.get(type) ?? [], resource, exampleIds(schemas))
    const value = { message, ...members, type, types: typeChain(version.errors, type) }
    return [[type, { summary: typeTitle(version.errors, type), value }] as const]
  })
  return examples.length === 0 ? refusalExample(types, version) : { examples: Object.fromEntries(examples) }
}

/** The error of a repeated key has further members, so its types are used only if there are no others. */
function refusalExample(types: readonly string[], { errors }: ServedVersion): DocumentPart {
  const [type = ''] = [...types.filter((one) => !repeatTypes.includes(one)), ...types]
  return { example: { message: `${typeTitle(errors, type)}.`, type, types: typeChain(errors, type) } }
}

const bodyRefs = { item: itemRef, page: listRef, batch: batchResultRef, import: importReportRef }

function answerSchema(
  body: DescribedAnswer['body'],
  { resource, about: { id, output = [], events = [], summarized = [], answered = resource, paired } }: Route,
  context: SchemaContext,
): object | null {
  if (body === 'outputs') return outputsRef(resource, { name: id, output }, context)
  if (body === 'output') return outputRef(resource, { name: id, output }, context)
  if (body === 'summary') return summaryRef(resource, id, summarized, context)
  if (body === 'revision') return recordedRef(resource, context)
  if (body === 'revisions') return revisionsRef(resource, context)
  if (body === 'event') return eventRef(events, resource, context)
  if (body === 'events') return eventsRef(events, resource, context)
  if (body === 'file') return fieldSchema({ kind: 'file' }, 'answered', context)
  const schema = body && body !== 'content' ? { ...cachedBodyRef(bodyRefs[body], answered, context) } : null
  if (!schema || !paired) return schema
  const more = pairProperty(paired, context)
  const part = body === 'page' ? { data: { type: 'array', items: { type: 'object', properties: more } } } : more
  return { allOf: [schema, { type: 'object', properties: part }] }
}

const itemsOnLines: DocumentPart = {
  schema: { type: 'string', description: 'All items that match, each as a JSON object on a line of its own.' },
}
const itemsAsCsv: DocumentPart = {
  schema: { type: 'string', description: 'All items that match, as CSV (RFC 4180) with a line of names.' },
}

/** The streams that a route answers with in place of a body. R213, R238. */
function streamContents({ streams = [] }: Route, body: DescribedAnswer['body']): DocumentPart {
  if (streams.length === 0) return {}
  if (body === 'events') return streamContent
  return body === 'page' ? { 'application/x-ndjson': itemsOnLines, 'text/csv': itemsAsCsv } : {}
}

/** The successful answers of a route. Those of a name, and those with an item, are stored once with the headers of all of them. */
function successResponses({ headers, schemas: context, shared }: ResponseContext, route: Route): DocumentPart {
  const { about } = route
  const response = (answer: DescribedAnswer): DocumentPart => {
    const { body, says, status } = answer
    const schema = answerSchema(body, route, context)
    const name = sharedName(answer, route)
    const part = {
      description: name !== undefined && body === 'item' && status === 200 ? 'As it is now.' : says,
      ...headers(name === undefined ? answerHeaders(answer, route) : (shared.get(name) ?? [])),
      ...(body === 'content' && {
        content: Object.fromEntries((about.file?.values ?? ['*/*']).map((type) => [type, {}])),
      }),
      ...(schema && {
        content: {
          'application/json': { schema },
          ...streamContents(route, body),
          ...(body === 'revision' && patchContent(route.resource, context)),
        },
      }),
    }
    if (name === undefined) return part
    return { ...context.components.put('responses', [name, pascalCase(about.id) + name], part) }
  }
  return Object.fromEntries(about.answers.map((answer) => [answer.status, response(answer)]))
}

/** The name of an answer that several operations give. */
function sharedName({ body, status, name }: DescribedAnswer, { resource, about }: Route): string | undefined {
  if (name !== undefined || body !== 'item' || status > 201) return name
  const { singular } = about.answered ?? resource
  return pascalCase(singular) + (status === 200 ? 'Shown' : 'Created')
}

const answerHeaders = ({ headers }: DescribedAnswer, { resource, safe }: Route): readonly string[] =>
  resource.settings.cache.groups ? [safe ? 'Cache-Groups' : 'Cache-Group-Invalidation', ...headers] : headers

/** The headers of the answers in a version, by the name that operations share. */
export function sharedHeaders({ endpoints }: ServedVersion): SharedHeaders {
  const routes = endpoints.flatMap(({ methods }) => [...methods.values()])
  const all = routes.flatMap((route) =>
    route.about.answers.map((answer) => ({ name: sharedName(answer, route), headers: answerHeaders(answer, route) })),
  )
  const byName = Map.groupBy(all, ({ name }) => name)
  return new Map([...byName].map(([name, own]) => [name, [...new Set(own.flatMap(({ headers }) => headers))]]))
}
