/** Describes operations: the places of a version with what can be done at each of them. Part 13; part 4, endpoints. */
import type { Endpoint, Route } from '../flow/route.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { cachedBodyRef, changeRef, createRef, replaceRef } from './bodies.ts'
import { type DocumentPart, withoutUndefined } from './components.ts'
import { deprecationNotes } from './introduction.ts'
import { isScope } from './refusals.ts'
import { endpointParameters, headerParameters, listQueryParameters, queryForm } from './request-parameters.ts'
import { operationName, type ResponseContext, responsesOf } from './responses.ts'
import type { OperationSecurity } from './security.ts'

/** How operations are told. */
export interface OperationContext extends ResponseContext {
  readonly security: OperationSecurity
  /** Whether QUERY can be said: not before OpenAPI 3.2. */
  readonly queries: boolean
}

/** The paths of a version, a collection before its items. */
export function pathItems(telling: OperationContext): DocumentPart {
  const places = telling.version.endpoints.toSorted((a, b) => (a.template < b.template ? -1 : 1))
  return Object.fromEntries(places.map((place) => [place.template, pathItem(telling, place)]))
}

function pathItem(telling: OperationContext, place: Endpoint): DocumentPart {
  const { service, version, around, queries } = telling
  const all = [...place.methods].filter(([method]) => method !== 'HEAD')
  const told = all.filter(([method]) => method !== 'QUERY' || queries)
  const unsaid =
    told.length < all.length
      ? 'QUERY takes the parameters of GET as a form, application/x-www-form-urlencoded, in its content.'
      : undefined
  const [[, { resource }]] = all as [[string, Route]]
  return withoutUndefined({
    description: unsaid,
    parameters: endpointParameters(service, version, place, around),
    ...Object.fromEntries(
      told.map(([method, route]) => [method.toLowerCase(), operationPart(telling, place, method, route)]),
    ),
    options: {
      operationId: `${operationScope(place, resource)}.options${isItemEndpoint(place) ? '-of-item' : ''}`,
      summary: 'Tells what is offered here',
      tags: [resource.name],
      security: [],
      responses: responsesOf(telling, place, 'OPTIONS', null),
    },
  })
}

const isItemEndpoint = ({ template }: Endpoint): boolean => template.endsWith('}')

/** What is below an owner is named after both: `orders.order-lines`. */
function operationScope({ template }: Endpoint, { name, collection, parent }: Resource): string {
  const below = parent !== null && (template.startsWith(`/${parent.resource}/`) || collection.composite)
  return below ? `${parent?.resource}.${name}` : name
}

function operationPart(telling: OperationContext, place: Endpoint, method: string, route: Route): DocumentPart {
  const { around, security, version, service } = telling
  const { resource } = route
  const own = resource.declaration.deprecations?.[route.operation]
  const left = own !== undefined || service.declaration.versions?.[version.label]?.deprecated !== undefined
  const listed = listQueryParameters(route, around)
  const parameters = [...(method === 'QUERY' ? [] : listed), ...headerParameters(route, around.components)]
  return withoutUndefined({
    operationId: `${operationScope(place, resource)}.${operationName(method, route)}`,
    summary: operationSummary(method, route, place),
    description: [...operationNotes(route), ...(own ? deprecationNotes(own) : [])].join(' ') || undefined,
    tags: [resource.name],
    deprecated: left || undefined, // from when on is told beside it: a document does not change with time
    'x-deprecation': own && { ...own },
    security: security(route),
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: requestBody(telling, method, route, listed),
    responses: responsesOf(telling, place, method, route),
  })
}

function operationSummary(method: string, { operation, resource }: Route, { template }: Endpoint): string {
  const one = resource.title.toLowerCase()
  const below = resource.parent && template.split('/').length > 3 ? ` of one of ${resource.parent.resource}` : ''
  const summaries = {
    list: `Lists ${resource.name}${below}${method === 'QUERY' ? ', asked for by a form' : ''}`,
    read: `Reads one ${one}`,
    create: `Creates one ${one}${below}`,
    replace: `Replaces one ${one}`,
    change: `Changes the given fields of one ${one}`,
    remove: `Removes one ${one}`,
  }
  return summaries[operation]
}

/** What the parts of an operation do not say. */
function operationNotes({ resource, operation, rule }: Route): string[] {
  const { settings, collection, declaration } = resource
  const { maxFilters } = settings.list
  const creating = ruleFor(resource.access, 'create') ?? rule
  const restricting = collection.dependents.filter(({ onDelete }) => onDelete === 'restrict').length > 0
  return [
    ...(rule === 'public'
      ? []
      : [rule === 'authenticated' ? 'For callers that are known.' : `Takes the scope ${rule}.`]),
    ...(collection.account === null
      ? []
      : [`Callers see what belongs to their ${collection.account}, and nothing else.`]),
    ...(operation === 'list'
      ? [
          `At most ${maxFilters} filters at a time, all of which have to hold. Without sort the order is ${(declaration.order ?? ['id']).join(', ')}.`,
        ]
      : []),
    ...(operation === 'replace' && creating !== rule && isScope(creating)
      ? [`What it creates takes the scope ${creating}.`]
      : []),
    ...(operation === 'remove' && restricting ? ['Not while others depend on it.'] : []),
    ...(operation === 'remove' && settings.delete.repeat === 'no-content' ? ['A repeat is as good as the first.'] : []),
  ]
}

function requestBody(
  { around }: OperationContext,
  method: string,
  route: Route,
  listed: readonly DocumentPart[],
): DocumentPart | undefined {
  const { content, resource, operation } = route
  if (content.length === 0) return undefined
  const most = `At most ${resource.settings.limits.body} bytes.`
  if (method === 'QUERY')
    return { description: most, required: true, content: { [content[0] as string]: { schema: queryForm(listed) } } }
  const bodies = { create: createRef, replace: replaceRef, change: changeRef }
  const schema = cachedBodyRef(bodies[operation as keyof typeof bodies], resource, around)
  return { description: most, required: true, content: Object.fromEntries(content.map((type) => [type, { schema }])) }
}
