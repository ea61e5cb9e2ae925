/** Responses: describes the successful answers of an operation and all its refusals. Part 13. */

import { typeChain, typeTitle } from '../errors/catalogue.ts'
import type { DescribedAnswer, Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { Service } from '../service.ts'
import { batchResultRef } from './batch-bodies.ts'
import { cachedBodyRef, itemRef, listRef, outputRef, outputsRef, recordedRef } from './bodies.ts'
import { type ComponentRef, type DocumentPart, pascalCase } from './components.ts'
import { refusalContent, statusName, statusTitle } from './errors.ts'
import { eventRef, eventsRef, patchContent, revisionsRef, streamContent } from './event-bodies.ts'
import { type DescribedCorridor, refusalsOf, type StatusRefusal } from './refusals.ts'
import { type HeaderRefs, refusalHeaders } from './response-headers.ts'
import type { SchemaContext } from './schemas.ts'
import { summaryRef } from './summary-bodies.ts'

/** The context for describing answers. */
export interface ResponseContext {
  readonly service: Service
  readonly version: ServedVersion
  readonly corridor: DescribedCorridor
  readonly around: SchemaContext
  readonly headers: HeaderRefs
  /** The refusals that are already stored, by their content. */
  readonly refusals: Map<string, ComponentRef>
}

/** The answers of a route. */
export function responsesOf(scene: ResponseContext, place: Endpoint, route: Route): DocumentPart {
  const { service, version, corridor } = scene
  const refusals = refusalsOf({ service, version, place, route }, corridor)
  const [alike, own] = [refusals.filter(isAlike), refusals.filter((one) => !isAlike(one))]
  const refused = own.map((refusal) => [refusal.status, refusalRef(scene, refusal, route)])
  const done = Object.entries(successResponses(scene, route))
  return Object.fromEntries([...done, ...refused, ['4XX', alikeRef(scene, alike, route)]])
}

/** The statuses with which every request can be refused in the same way. */
const alikeStatuses = [406, 408, 414, 417, 421, 431]
const isAlike = ({ status }: StatusRefusal): boolean => alikeStatuses.includes(status)

/** These refusals are described together: they would be a third of the document. */
function alikeRef(
  { around: { components }, headers }: ResponseContext,
  refusals: readonly StatusRefusal[],
  { about }: Route,
): ComponentRef {
  const lines = refusals.map(({ status, types }) => `${status} ${statusTitle(status)}: ${types.join(', ')}`)
  const types = refusals.flatMap((one) => one.types)
  const content = refusalContent({ types, violations: [], repeats: false }, false, { components })
  const description = `The request itself is refused, whatever it asks for. ${lines.join('; ')}`
  return components.put('responses', ['RefusedRequest', `${pascalCase(about.id)}RefusedRequest`], {
    description,
    headers: headers([]),
    content,
  })
}

/**
 * Many operations have the same refusals, so each is stored once. Its name is that of the operation and the status, with the
 * resource where its operation differs from others of this name, and does not change when resources are added.
 */
function refusalRef(
  { around: { components }, headers, refusals, service }: ResponseContext,
  refusal: StatusRefusal,
  route: Route,
): ComponentRef {
  const { status } = refusal
  const { settings, singular } = route.resource
  const minimal = settings.idempotency.conflictBody === 'minimal'
  const names = refusalHeaders(refusal, route)
  const key = JSON.stringify([refusal, minimal, names])
  const before = refusals.get(key)
  if (before) return before
  const content = refusalContent(refusal, minimal, { components, examples: declaredExamples(refusal, service) })
  const ofKind = pascalCase(route.about.id) + statusName(status)
  const part = { description: statusTitle(status), headers: headers(names), content }
  const ref = components.put('responses', [ofKind, pascalCase(singular) + ofKind], part)
  refusals.set(key, ref)
  return ref
}

/** The declared examples of the types of a refusal. */
function declaredExamples(
  { types }: StatusRefusal,
  { errors, declaration: { errors: declared = {} } }: Service,
): DocumentPart | undefined {
  const examples = types.flatMap((type) => {
    const message = declared[type]?.example
    const value = { message, type, types: typeChain(errors, type) }
    return message === undefined ? [] : [[type, { summary: typeTitle(errors, type), value }] as const]
  })
  return examples.length === 0 ? undefined : Object.fromEntries(examples)
}

const bodyRefs = { item: itemRef, page: listRef, batch: batchResultRef }

function answerSchema(
  body: DescribedAnswer['body'],
  { resource, about: { id, output = [], events = [], summarized = [], answered = resource } }: Route,
  around: SchemaContext,
): object | null {
  if (body === 'outputs') return outputsRef(resource, { name: id, output }, around)
  if (body === 'output') return outputRef(resource, { name: id, output }, around)
  if (body === 'summary') return summaryRef(resource, id, summarized, around)
  if (body === 'revision') return recordedRef(resource, around)
  if (body === 'revisions') return revisionsRef(resource, around)
  if (body === 'event') return eventRef(events, resource, around)
  if (body === 'events') return eventsRef(events, resource, around)
  return body && { ...cachedBodyRef(bodyRefs[body], answered, around) }
}

/** The successful answers of a route. */
function successResponses({ headers, around }: ResponseContext, route: Route): DocumentPart {
  const { resource, safe, about } = route
  const groups = resource.settings.cache.groups ? [safe ? 'Cache-Groups' : 'Cache-Group-Invalidation'] : []
  const response = ({ body, says, headers: own, name }: DescribedAnswer): DocumentPart => {
    const schema = answerSchema(body, route, around)
    const part = {
      description: says,
      headers: headers([...groups, ...own]),
      ...(schema && {
        content: {
          'application/json': { schema },
          ...(route.streams && body === 'events' && streamContent),
          ...(body === 'revision' && patchContent(resource, around)),
        },
      }),
    }
    return name === undefined ? part : { ...around.components.put('responses', [pascalCase(about.id) + name], part) }
  }
  return Object.fromEntries(about.answers.map((answer) => [answer.status, response(answer)]))
}
