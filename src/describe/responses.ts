/** Responses: describes the successful answers of an operation and all its refusals. Part 13. */
import type { DescribedAnswer, Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { Service } from '../service.ts'
import { batchResultRef } from './batch-bodies.ts'
import { cachedBodyRef, itemRef, listRef, outputRef, outputsRef } from './bodies.ts'
import type { ComponentRef, DocumentPart } from './components.ts'
import { refusalContent, statusName, statusTitle } from './errors.ts'
import { eventRef, eventsRef, streamContent } from './event-bodies.ts'
import { type DescribedCorridor, refusalsOf, type StatusRefusal } from './refusals.ts'
import { type HeaderRefs, refusalHeaders } from './response-headers.ts'
import type { SchemaContext } from './schemas.ts'

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

/** The answers of a route, or of OPTIONS if it is null. */
export function responsesOf(scene: ResponseContext, place: Endpoint, route: Route | null): DocumentPart {
  const done = route === null ? optionsResponse(scene, place) : successResponses(scene, route)
  const { service, version, corridor } = scene
  const refused = refusalsOf({ service, version, place, route }, corridor).map((refusal) => [
    refusal.status,
    refusalRef(scene, refusal, route),
  ])
  return Object.fromEntries([...Object.entries(done), ...refused])
}

/** The header of dry runs, which answers of all writes may have. R239. */
const dryRunHeader = (route: Route | null): readonly string[] =>
  route?.safe === false && !route.settle ? ['Dry-Run'] : []

/** Many operations have the same refusals, so each is stored once. */
function refusalRef(
  { around: { components }, headers, refusals }: ResponseContext,
  refusal: StatusRefusal,
  route: Route | null,
): ComponentRef {
  const { status, types } = refusal
  const minimal = route?.resource.settings.idempotency.conflictBody === 'minimal'
  const names = ['Content-Language', ...dryRunHeader(route), ...refusalHeaders(refusal, route)]
  const key = JSON.stringify([refusal, minimal, names])
  const before = refusals.get(key)
  if (before) return before
  const description = `${statusTitle(status)}: ${types.join(', ')}`
  const content = refusalContent(refusal, minimal, components)
  const ref = components.put('responses', [statusName(status)], { description, headers: headers(names, true), content })
  refusals.set(key, ref)
  return ref
}

function optionsResponse({ around, headers, service }: ResponseContext, { options }: Endpoint): DocumentPart {
  const browsers = ['Access-Control-Allow-Methods', 'Access-Control-Allow-Headers', 'Access-Control-Max-Age']
  const own = service.settings.cors.origins.length > 0 ? browsers : []
  const part = { description: 'What is offered here.', headers: headers([...Object.keys(options), ...own], false) }
  return { 204: around.components.put('responses', ['Offered'], part) }
}

const bodyRefs = { item: itemRef, page: listRef, batch: batchResultRef }

function answerSchema(
  body: DescribedAnswer['body'],
  { resource, about: { id, output = [], events = [], answered = resource } }: Route,
  around: SchemaContext,
): object | null {
  if (body === 'outputs') return outputsRef(resource, { name: id, output }, around)
  if (body === 'output') return outputRef(resource, { name: id, output }, around)
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
      headers: headers([...groups, ...dryRunHeader(route), ...own], schema !== null),
      ...(schema && {
        content: { 'application/json': { schema }, ...(route.streams && body === 'events' && streamContent) },
      }),
    }
    return name === undefined ? part : { ...around.components.put('responses', [name], part) }
  }
  return Object.fromEntries(about.answers.map((answer) => [answer.status, response(answer)]))
}
