/** Endpoint routes: POST and PATCH of endpoints, which judge URLs and types, and show a new secret once. Part 6. R211, R212. */
import type { EndpointContext } from '../endpoints/item.ts'
import { invalidBody, type Violation } from '../errors/problem.ts'
import { type EventScope, eventScope, eventTypesOf, typeHint } from '../events/event-scope.ts'
import type { Document, Intent } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { toCase } from '../formats/naming.ts'
import { endpointResource, isWebhookResource, membersIn } from '../resources/service-fields.ts'
import { targetFault } from '../webhooks/address-guard.ts'
import { keyMark, ownMembers, unknownTypes, type WebhookEndpoint } from './delivery.ts'
import { newSecret, sealFirst, webhookTerms } from './webhook-terms.ts'

/** Whether a context is that of the resource of endpoints. */
export const isOfEndpoints = ({ resource }: EndpointContext): boolean =>
  resource.name === endpointResource && isWebhookResource(resource.declaration)

/** The events of a version, such as that of an endpoint; without events if it is not served any more. */
export const scopeOf = ({ service, versions }: EndpointContext, version: string): EventScope =>
  eventScope(service, version, versions.get(version)?.values() ?? [])

/** A route as it is, unless it writes endpoints. */
export function endpointRoute(route: Route, context: EndpointContext): Route {
  if (!isOfEndpoints(context)) return route
  return route.operation === 'create' ? creatingRoute(route, context) : changingRoute(route, context)
}

function creatingRoute(route: Route, context: EndpointContext): Route {
  return {
    ...route,
    parse: (request) => {
      const intent = route.parse(request)
      const document = intent.document as Document
      const endpoint = membersIn(document, 'camel') as unknown as WebhookEndpoint & { signature: string }
      judgeEndpoint(context, { ...endpoint, version: context.version }, null, request.world)
      const { secret, publicKey } = newSecret(endpoint.signature, request.world)
      const { caller, world } = request
      const madeBy = caller.key === undefined ? caller.id : `${keyMark}${caller.key}`
      const own = { version: context.version, scopes: [...caller.scopes], madeBy, publicKey }
      const sealed = sealFirst(secret, intent.key.id, world)
      Object.assign(document, ownMembers(context.resource, { ...own, sealed }))
      return { ...intent, secret }
    },
    render: (intent, outcome) => withSecret(route.render(intent, outcome), intent, outcome),
  }
}

function changingRoute(route: Route, context: EndpointContext): Route {
  return {
    ...route,
    plan: (intent) => {
      const plan = route.plan(intent)
      if (plan.do !== 'decide') return plan
      return {
        ...plan,
        decide: (current) => {
          const write = plan.decide(current)
          if (write.do !== 'update' || current.is !== 'found') return write
          const [before, after] = [current.doc, write.row.doc].map((doc) => membersIn(JSON.parse(doc), 'camel'))
          judgeEndpoint(
            context,
            after as unknown as WebhookEndpoint,
            before as unknown as WebhookEndpoint,
            intent.world,
          )
          return write
        },
      }
    },
  }
}

/** Shows the secret in the answer to the request that has made it; repeats of its key do not show it again. */
export function withSecret(reply: Reply, { secret }: Intent, { is }: Outcome): Reply {
  if (secret === undefined || is === 'claimed' || typeof reply.body !== 'string') return reply
  return { ...reply, body: JSON.stringify({ ...JSON.parse(reply.body), secret }) }
}

/** Refuses a URL that deliveries may not go to, and types that the version does not have. */
function judgeEndpoint(
  context: EndpointContext,
  after: WebhookEndpoint,
  before: WebhookEndpoint | null,
  world: ServiceWorld,
): void {
  const faults: Violation[] = []
  const say = (name: string, message: string) =>
    faults.push({ message, type: 'invalid-value', in: 'body', pointer: `/${name}` })
  const fault = after.url === before?.url ? null : targetFault(after.url, webhookTerms(world))
  if (fault !== null) say('url', `url ${fault}`)
  if (JSON.stringify(after.eventTypes) !== JSON.stringify(before?.eventTypes)) {
    faults.push(...typeFaults(context, after.version, after.eventTypes))
  }
  if (faults.length > 0) throw invalidBody(faults)
}

/** The types that a version does not have. */
export function typeFaults(context: EndpointContext, version: string, wanted: readonly string[]): readonly Violation[] {
  const name = toCase('eventTypes', context.resource.settings.naming)
  const scope = scopeOf(context, version)
  const allowed = scope.sources.flatMap((one) => [`${one.prefix}.*`, ...eventTypesOf(one)])
  return unknownTypes(scope, wanted).map((type) => ({
    message: `There are no events of the type ${JSON.stringify(type)} in ${version}, the version of the endpoint. ${typeHint(type, allowed)}`,
    ...{ type: 'invalid-value', in: 'body', pointer: `/${name}/${wanted.indexOf(type)}` },
  }))
}
