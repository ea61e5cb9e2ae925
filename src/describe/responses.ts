/** Describes the answers of an operation: what it does where it succeeds, and everything that it can be refused with. Part 13. */
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { cachedBodyRef, itemRef, listRef } from './bodies.ts'
import type { ComponentRef, DocumentPart } from './components.ts'
import { refusalContent, statusName, statusTitle } from './errors.ts'
import { refusalsOf, type StatusRefusal, takesIdempotencyKeys } from './refusals.ts'
import { type HeaderRefs, refusalHeaders } from './response-headers.ts'
import type { SchemaContext } from './schemas.ts'

/** What answers are made from. */
export interface ResponseContext {
  readonly service: Service
  readonly version: ServedVersion
  readonly around: SchemaContext
  readonly headers: HeaderRefs
  /** The refusals that are written already. */
  readonly refusals: Map<string, ComponentRef>
}

/** The answers of a route; those of OPTIONS where there is none. */
export function responsesOf(
  scene: ResponseContext,
  place: Endpoint,
  method: string,
  route: Route | null,
): DocumentPart {
  const done = route === null ? optionsResponse(scene, place) : successResponses(scene, method, route)
  const refused = refusalsOf(scene.service, scene.version, place, route).map((refusal) => [
    refusal.status,
    refusalRef(scene, refusal, route),
  ])
  return Object.fromEntries([...Object.entries(done), ...refused])
}

/** Most operations are refused alike, so that each refusal is written once. */
function refusalRef(
  { around: { components }, headers, refusals }: ResponseContext,
  refusal: StatusRefusal,
  route: Route | null,
): ComponentRef {
  const { status, types } = refusal
  const minimal = route?.resource.settings.idempotency.conflictBody === 'minimal'
  const names = ['Content-Language', ...refusalHeaders(refusal, route)]
  const key = JSON.stringify([refusal, minimal, names])
  const before = refusals.get(key)
  if (before) return before
  const description = `${statusTitle(status)}: ${types.join(', ')}`
  const content = refusalContent(refusal, minimal, components)
  const ref = components.put('responses', [statusName(status)], { description, headers: headers(names, true), content })
  refusals.set(key, ref)
  return ref
}

const operationNames = {
  list: 'list',
  read: 'get',
  create: 'create',
  replace: 'replace',
  change: 'update',
  remove: 'delete',
} as const

export const operationName = (method: string, { operation }: Route): string =>
  method === 'QUERY' ? 'query' : operationNames[operation]

function optionsResponse({ around, headers, service }: ResponseContext, { options }: Endpoint): DocumentPart {
  const browsers = ['Access-Control-Allow-Methods', 'Access-Control-Allow-Headers', 'Access-Control-Max-Age']
  const own = service.settings.cors.origins.length > 0 ? browsers : []
  const part = { description: 'What is offered here.', headers: headers([...Object.keys(options), ...own], false) }
  return { 204: around.components.put('responses', ['Offered'], part) }
}

const jsonContent = (schema: DocumentPart): DocumentPart => ({ 'application/json': { schema } })

/** The answers of a route that does what it is asked for. */
// long because: one answer after the other
function successResponses(scene: ResponseContext, method: string, route: Route): DocumentPart {
  const { headers, around } = scene
  const { resource, operation } = route
  const { settings, title } = resource
  const reads = operation === 'list' || operation === 'read'
  const tag = settings.etag.mode === 'off' ? [] : ['ETag']
  const groups = settings.cache.groups ? [reads ? 'Cache-Groups' : 'Cache-Group-Invalidation'] : []
  const item = () => ({ content: jsonContent({ ...cachedBodyRef(itemRef, resource, around) }) })
  const of = (description: string, own: readonly string[], more: DocumentPart = {}): DocumentPart => ({
    description,
    headers: headers([...groups, ...own], 'content' in more),
    ...more,
  })
  const dated = [...tag, 'Last-Modified']
  const replayed = takesIdempotencyKeys(route) && settings.idempotency.mode === 'replay' ? ['Idempotency-Replayed'] : []
  const bare = (name: string, description: string, own: readonly string[]): DocumentPart => ({
    ...around.components.put('responses', [name], of(description, own)),
  })
  const unchanged = () => bare('NotModified', 'It is as the client has it.', [...dated, 'Content-Location', 'Link'])
  const short = ['Preference-Applied']
  const less = (own: readonly string[]) =>
    bare('DoneInShort', 'It was done, and is answered without content as Prefer asked.', [...dated, ...short, ...own])
  switch (operation) {
    case 'list': {
      const page = of('A page of the list.', [...tag, 'Link'], {
        content: jsonContent({ ...cachedBodyRef(listRef, resource, around) }),
      })
      return method === 'QUERY' ? { 200: page } : { 200: page, 304: unchanged() }
    }
    case 'read':
      return { 200: of(`${title}.`, dated, item()), 304: unchanged() }
    case 'create': {
      const how = settings.prefer.minimalOnCreate ? short : []
      return {
        201: of(`${title} was created.`, [...dated, 'Location', 'Content-Location', ...how, ...replayed], item()),
      }
    }
    case 'replace': {
      const replaced = of(`${title} was replaced.`, [...dated, 'Content-Location'], item())
      const created = of(`${title} was created.`, [...dated, 'Location', 'Content-Location'], item())
      return { 200: replaced, ...(createsOnPut(resource) ? { 201: created } : {}), 204: less(['Content-Location']) }
    }
    case 'change':
      return { 200: of(`${title} was changed.`, [...dated, ...replayed], item()), 204: less(replayed) }
    case 'remove':
      return { 204: bare('Removed', 'It is no longer there.', []) }
  }
}

/** Whether PUT makes what is not there. R110. */
const createsOnPut = ({ settings, methods, collection, parent }: Resource): boolean =>
  settings.resource.putCreates && methods.includes('create') && (collection.composite || !parent)
