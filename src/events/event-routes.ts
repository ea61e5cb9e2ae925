/** Event routes: GET /events, as a list or as a stream, and GET of one event. Part 6. */

import { preferredStream, streamType } from '../endpoints/content-negotiation.ts'
import { describedUnchanged, itemConditions } from '../endpoints/described.ts'
import { listTag } from '../endpoints/list-items.ts'
import { Problem } from '../errors/problem.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { EventQuery, Intent, RequestContext } from '../flow/intent.ts'
import type { EventPage, Outcome } from '../flow/outcome.ts'
import type { Plan } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { typeIdCheck } from '../formats/id.ts'
import { forwardLinks } from '../lists/links.ts'
import { cursorInformation } from '../lists/page-text.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { type AccessRule, ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { writeEventCursor } from './event-cursor.ts'
import { readEventQuery } from './event-query.ts'
import { type EventScope, eventTypesOf, maySeeEvent } from './event-scope.ts'
import { eventStream } from './event-stream.ts'
import { eventText } from './event-text.ts'

const eventPath = '/events'

/** The routes of events in a version, by their paths. */
export const eventRoutes = (
  scope: EventScope,
  resource: Resource,
  challenge: string,
): readonly (readonly [path: string, route: Route])[] => [
  [eventPath, listEventsRoute(scope, resource, challenge)],
  [`${eventPath}/{id}`, readEventRoute(scope, resource)],
]

/** Whether callers see other events, or see them differently. R143. */
const isPersonal = (scope: EventScope): boolean =>
  readRules(scope).some((rule) => rule !== 'public') || scope.sources.some(({ context }) => context.isPersonal)

const readRules = ({ sources }: EventScope) => sources.map(({ context }) => ruleFor(context.resource.access, 'read'))

/** The rule for events: what a caller sees depends on the resources that it may read. */
const ruleOf = (scope: EventScope): AccessRule => (readRules(scope).includes('public') ? 'public' : 'authenticated')

function listEventsRoute(scope: EventScope, resource: Resource, challenge: string): Route {
  const { settings } = resource
  const rule = ruleOf(scope)
  const queryFor = (request: RequestContext) => readEventQuery(scope, request, settings, challenge)
  const streams = settings.events.stream ? [streamType] : []
  const isStreamed = ({ call }: RequestContext) => preferredStream(call, streams) !== null
  return {
    ...{ operation: 'events', method: 'GET', at: 'collection', safe: true, resource, rule, content: [] },
    query: () => null,
    isPersonal: isPersonal(scope),
    target: () => ({ read: null, admit: () => {} }),
    streams,
    furtherRules: readRules(scope),
    parse: (request) => {
      const events = queryFor(request)
      if (isStreamed(request) && events.lastId !== null && !isEventId(events.lastId))
        throw new Problem('malformed-request', 'Last-Event-ID is not the id of an event. Send the last one unchanged.')
      return { ...intentOf(request), events }
    },
    plan: (intent) => (isStreamed(intent) ? { do: 'head' } : pagePlan(intent.events as EventQuery)),
    render: (intent, outcome) =>
      isStreamed(intent)
        ? {
            ...{ status: 200, headers: { 'Content-Type': streamType }, body: null },
            stream: eventStream(
              { scope, rule, now: positionOf(outcome), queryFor: (caller) => queryFor({ ...intent, caller }) },
              intent,
            ),
          }
        : pageReply(scope, resource, intent, outcome as EventPage),
    claims: null,
    about: listDescription(scope, resource),
  }
}

const intentOf = (request: RequestContext): Intent => ({
  ...request,
  ...{ key: { id: '', parent: null, account: null }, time: 0, document: null, claim: null },
})

const pagePlan = ({ where, after, limit }: EventQuery): Plan => ({ do: 'events', after: after ?? 0, limit, ...where })

function pageReply(scope: EventScope, { settings }: Resource, intent: Intent, page: EventPage): Reply {
  const { after, limit, bound } = intent.events as EventQuery
  const { events, position, head, base } = page
  // A cursor ahead of all events is of a database that was lost, whose last events this one does not have.
  if (after !== null && after > 0 && (after < base || after > head))
    throw new Problem(
      'cursor-expired',
      'Events after this cursor are no longer kept. Start again with an empty one: cursor=',
    )
  const data = events.map((event) => textOf(scope, intent, event)).join(',')
  const next = writeEventCursor(position, { bound, settings, world: intent.world })
  const hasMore = position < head
  const information = cursorInformation(settings, { limit, next, hasMore })
  const { headers, member } = forwardLinks(settings, intent.call.target, hasMore ? next : null)
  const body = `{"data":[${data}],${information}${member}}`
  return { status: 200, headers: { ...headers, ETag: listTag('strong', body, intent.world) }, body }
}

function textOf(scope: EventScope, { caller, world }: Intent, event: StoredEvent): string {
  const source = scope.sources.find(({ collection }) => collection === event.collection)
  if (!source) throw new Error(`An event of ${event.collection} was read that the version does not have.`)
  return eventText(scope, source, event, caller, world)
}

const positionOf = (outcome: Outcome): number => (outcome.is === 'numbered' ? outcome.position : 0)

const isEventId = typeIdCheck('evt')

function readEventRoute(scope: EventScope, resource: Resource): Route {
  const missing = (id: string) => new Problem('resource-not-found', `Event ${id.slice(0, 100)} was not found.`)
  const idOf = ({ params }: Pick<RequestContext, 'params'>) => params[0] as string
  const visible = ({ caller }: Intent, outcome: Outcome): StoredEvent | undefined => {
    const [event] = (outcome as EventPage).events
    const source = event && scope.sources.find(({ collection }) => collection === event.collection)
    return source && maySeeEvent(source, event, caller) ? event : undefined
  }
  return {
    ...{ operation: 'event', method: 'GET', at: 'item', safe: true, resource, rule: ruleOf(scope), content: [] },
    isPersonal: isPersonal(scope),
    query: (call) => refuseParameters(call, resource.settings),
    target: () => ({ read: null, admit: () => {} }),
    parse: (request) => {
      if (!isEventId(idOf(request))) throw missing(idOf(request))
      return intentOf(request)
    },
    plan: (intent) => ({ do: 'event', id: idOf(intent) }),
    render: (intent, outcome) => {
      const event = visible(intent, outcome)
      if (!event) throw missing(idOf(intent))
      const body = textOf(scope, intent, event)
      return { status: 200, headers: { ETag: listTag('strong', body, intent.world) }, body }
    },
    claims: null,
    about: {
      events: describedEvents(scope),
      ...{ id: 'get', summary: () => 'Get an event', notes: [], body: null, headers: [...itemConditions] },
      answers: [{ status: 200, says: 'The event.', body: 'event', headers: ['ETag'] }, describedUnchanged(resource)],
      refusals: ['resource-not-found', 'precondition-failed'],
    },
  }
}

/** The events of a version, for its description. */
const describedEvents = ({ sources }: EventScope): NonNullable<OperationDescription['events']> =>
  sources.map((one) => ({
    resource: one.context.resource,
    types: eventTypesOf(one),
    mayHideItem: one.context.representation.mayFail,
  }))

const streamNote =
  'With `Accept: text/event-stream` events are sent as they happen: from now on, or from `since`, `cursor` or `Last-Event-ID`.'

const listDescription = (scope: EventScope, resource: Resource): OperationDescription => ({
  events: describedEvents(scope),
  ...{ id: 'list', summary: () => 'List events, oldest first', body: null },
  headers: [...itemConditions, ...(resource.settings.events.stream ? (['lastEvent'] as const) : [])],
  notes: [
    'Each change of an item is an event; the events of an item are in the order of its changes.',
    '`nextCursor` is never null: at the end it is the place to ask from again.',
    ...(resource.settings.events.stream ? [streamNote] : []),
  ],
  answers: [
    { status: 200, says: 'A page of events.', body: 'events', headers: ['ETag', 'Link'] },
    describedUnchanged(resource),
  ],
  refusals: ['precondition-failed', 'access-denied', 'maintenance'],
})
