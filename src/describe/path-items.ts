/** Path items: the endpoints of a version with their operations. Part 13; part 4, endpoints. */

import { batchRef, importedContent, jsonPatchRef } from '../bodies/batch-bodies.ts'
import { cachedBodyRef, changeRef, createRef, inputRef, replaceRef } from '../bodies/bodies.ts'
import { type DocumentPart, withoutUndefined } from '../bodies/components.ts'
import { jsonPatchType } from '../endpoints/content-negotiation.ts'
import { isBelowOwner } from '../endpoints/described.ts'
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
import type { Operation } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { rowRuleText } from '../rules/row-rules.ts'
import { eventQueryParameters } from './event-bodies.ts'
import { deprecationNotes } from './introduction.ts'
import {
  describedEmbeds,
  dryRunParameters,
  endpointParameters,
  fieldsParameters,
  headerParameters,
  listQueryParameters,
  queryForm,
  sharedParameter,
} from './request-parameters.ts'
import { type ResponseContext, responsesOf } from './responses.ts'
import type { OperationSecurity } from './security.ts'

/** The context for describing operations. */
export interface OperationContext extends ResponseContext {
  readonly security: OperationSecurity
  /** Whether QUERY can be described: only from OpenAPI 3.2 on. */
  readonly queries: boolean
}

/** The paths of a version, sorted, so that each collection comes before its items. */
export function pathItems(context: OperationContext): DocumentPart {
  const places = context.version.endpoints.toSorted((a, b) => (a.template < b.template ? -1 : 1))
  return Object.fromEntries(places.map((endpoint) => [endpoint.template, pathItem(context, endpoint)]))
}

function pathItem(context: OperationContext, endpoint: Endpoint): DocumentPart {
  const { queries } = context
  const all = [...endpoint.methods].filter(([method]) => method !== 'HEAD')
  const described = all.filter(([method]) => method !== 'QUERY' || queries)
  const unsaid =
    described.length < all.length
      ? 'QUERY takes the parameters of GET as a form, application/x-www-form-urlencoded, in its content.'
      : undefined
  return withoutUndefined({
    description: unsaid,
    ...Object.fromEntries(
      described.map(([method, route]) => [method.toLowerCase(), operationPart(context, endpoint, route)]),
    ),
  })
}

/** The first part of operation ids; below a parent it names both: `orders.order-lines`. */
function operationScope({ template }: Endpoint, { name, collection, parent }: Resource): string {
  const below = parent !== null && (template.startsWith(`/${parent.resource}/`) || collection.composite)
  return below ? `${parent?.resource}.${name}` : name
}

function operationPart(context: OperationContext, endpoint: Endpoint, route: Route): DocumentPart {
  const { schemas, security, version, service } = context
  const { resource, about } = route
  const own = resource.declaration.deprecations?.[route.operation as Operation]
  const below = isBelowOwner(endpoint, resource)
    ? ` of ${withArticle(version.resources.get(resource.parent?.resource ?? '')?.title ?? '')}`
    : ''
  const left = own !== undefined || service.declaration.versions?.[version.label]?.deprecated !== undefined
  const listed = [...listQueryParameters(route, schemas), ...fieldsParameters(route), ...describedEmbeds(route)]
  const parameters = [
    // Swagger UI does not resolve references in the parameters of a path.
    ...endpointParameters(service, version, endpoint, schemas),
    ...(about.body === 'form' ? [] : listed.map((one) => sharedParameter(one, resource, schemas.components))),
    ...eventQueryParameters(route),
    ...dryRunParameters(route, schemas.components),
    ...headerParameters(route, schemas.components),
  ]
  const needed = security(route)
  const summary = declaredAction(route)?.title ?? about.summary(below)
  return withoutUndefined({
    operationId: `${about.scope ?? operationScope(endpoint, resource)}.${about.id}`,
    summary,
    description: [...operationNotes(route, version), ...(own ? deprecationNotes(own) : [])].join(' ') || `${summary}.`,
    tags: [resource.name],
    deprecated: left || undefined, // even before the date: a document does not change with time
    'x-deprecation': own && { ...own },
    security: needed.length > 0 ? needed : undefined,
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: requestBody(context, route, listed),
    responses: responsesOf(context, endpoint, route),
  })
}

/** The declaration of a transition or an operation; undefined for other methods. */
const declaredAction = ({ resource: { declaration }, about }: Route) =>
  declaration.states?.transitions[about.id] ?? declaration.operations?.[about.id]

/** The notes on access, accounts and the operation itself. */
function operationNotes(route: Route, { namesOf }: Pick<ServedVersion, 'namesOf'>): string[] {
  const { resource, rule, about } = route
  const { collection } = resource
  const declared = declaredAction(route)
  return [
    ...(declared?.description === undefined ? [] : [declared.description]),
    ...(rule === 'public'
      ? []
      : [rule === 'authenticated' ? 'For callers that are known.' : `Takes the scope ${rule}.`]),
    ...(route.rowRule
      ? [`Allowed: ${rowRuleText(route.rowRule, (name) => namesOf(resource.name, collection.name, name))}.`]
      : []),
    ...(collection.account === null
      ? []
      : [`Callers see what belongs to their ${collection.account}, and nothing else.`]),
    ...about.notes,
  ]
}

const bodyRefs = { create: createRef, replace: replaceRef, change: changeRef, batch: batchRef }

function requestBody(
  { schemas: context, service }: OperationContext,
  route: Route,
  listed: readonly DocumentPart[],
): DocumentPart | undefined {
  const { content, contentOptional, resource } = route
  const { body, id, input = [] } = route.about
  if (body === null) return undefined
  if (route.upload)
    return {
      description: `The file, at most ${route.upload.most} bytes.`,
      required: true,
      content: Object.fromEntries(content.map((type) => [type, {}])),
    }
  const example = body === 'input' ? declaredAction(route)?.example : undefined
  if (body === 'lines') return { required: true, content: importedContent(content, resource) }
  const most = resource.settings.limits.body
  const description = most === service.settings.limits.body ? undefined : `At most ${most} bytes.`
  const schema =
    body === 'form'
      ? queryForm(listed)
      : body === 'input'
        ? inputRef(resource, { name: id, input }, context)
        : cachedBodyRef(bodyRefs[body as keyof typeof bodyRefs], resource, context)
  return withoutUndefined({
    description,
    required: contentOptional !== true,
    content: Object.fromEntries(
      content.map((type) => [
        type,
        { schema: type === jsonPatchType ? jsonPatchRef(resource, context) : schema, ...(example && { example }) },
      ]),
    ),
  })
}
