/** Erase deliveries: empties the bodies of deliveries of an item's events, and what their receivers have answered. Part 8. */
import {
  deliveriesIn,
  endpointsIn,
  ownMembers,
  readerOf,
  readMembers,
  rowKey,
  type WebhookEndpoint,
} from '../deliveries/delivery.ts'
import { changePlan, findStored } from '../deliveries/delivery-context.ts'
import { hasWebhooks } from '../deliveries/endpoint-makers.ts'
import { eventText } from '../events/event-text.ts'
import type { JoinedRow, StoredEvent } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import { type EventPage, eventRowName } from '../flow/outcome.ts'
import { membersIn } from '../resources/service-fields.ts'
import { type Members, withoutPersonal } from '../rows/collection.ts'
import { allRows } from './all-rows.ts'
import { addTo, type Counts, type ErasedItem, type ErasureContext } from './erasure-context.ts'

interface SentDelivery {
  readonly endpointId: string
  readonly eventId: string
  readonly request: { readonly body: string }
  readonly attempts: readonly Document[]
}

/** `events` are the ids of the events that are still recorded, after they were emptied. */
export async function eraseDeliveries(
  context: ErasureContext,
  item: ErasedItem,
  events: ReadonlySet<string>,
  counts: Counts,
): Promise<void> {
  const { service, store, world, isDry } = context
  if (!hasWebhooks(service.resources)) return
  const deliveries = deliveriesIn(service.resources)
  const { account } = item.resource.collection
  for await (const { key, document } of allRows(
    store,
    deliveries.name,
    account === null ? undefined : item.key.account,
  )) {
    const own = membersIn(document, 'camel') as unknown as SentDelivery
    const body = await emptiedBody(context, item, own, { events, account: key.account })
    if (body === null) continue
    const plan = changePlan({ ...service, world }, deliveries, key, (before) => {
      const { request, attempts } = membersIn(before, 'camel') as unknown as SentDelivery
      if (request.body === body) return before
      const withoutResponses = attempts.map((one) => ({ ...one, response: null }))
      return { ...before, ...ownMembers(deliveries, { request: { ...request, body }, attempts: withoutResponses }) }
    })
    const { is } = await store.execute(isDry ? { ...plan, dry: true } : plan)
    if (is === 'changed') addTo(counts, 'deliveries')
  }
}

interface KnownEvents {
  readonly events: ReadonlySet<string>
  /** The account of the delivery. */
  readonly account: string | null
}

/** The body without personal values; null if the delivery is not of an event of the item. */
async function emptiedBody(
  context: ErasureContext,
  item: ErasedItem,
  { endpointId, eventId, request: { body } }: SentDelivery,
  { events, account }: KnownEvents,
): Promise<string | null> {
  const { store } = context
  const parsed = JSON.parse(body) as { readonly data: { readonly id?: unknown } }
  if (events.has(eventId)) {
    const { events: found } = (await store.execute({ do: 'event', id: eventId })) as EventPage
    const emptied = found[0] && (await eventBody(context, emptiedEvent(found[0], item), endpointId, account))
    if (emptied !== undefined) return emptied
  } else if (
    parsed.data?.id !== item.key.id ||
    ((await store.execute({ do: 'event', id: eventId })) as EventPage).events.length > 0
  )
    return null
  return JSON.stringify({ ...parsed, data: { id: item.key.id } })
}

/** The event as it is stored now; in a dry run, as it would be. */
function emptiedEvent(event: StoredEvent, { resource: { name, collection }, key }: ErasedItem): StoredEvent {
  const emptied = (doc: string) => JSON.stringify(withoutPersonal(collection.fields, JSON.parse(doc) as Members))
  const joinedName = eventRowName(name, key.id)
  const row = event.joined.get(joinedName)
  const joined = row
    ? new Map<string, JoinedRow>([...event.joined, [joinedName, { ...row, doc: emptied(row.doc) }]])
    : event.joined
  return { ...event, joined, doc: event.collection === name ? emptied(event.doc) : event.doc }
}

/** The body of a delivery as it is made of an event; undefined if its endpoint or its version is gone. */
async function eventBody(
  context: ErasureContext,
  event: StoredEvent,
  endpointId: string,
  account: string | null,
): Promise<string | undefined> {
  const { service, world } = context
  const { resources, events } = service
  const endpoints = endpointsIn(resources)
  const row = await findStored(context, endpoints, rowKey(endpointId, account))
  const endpoint = row && readMembers<WebhookEndpoint>(endpoints, row)
  const scope = endpoint && events.get(endpoint.version)
  const source = scope?.sources.find(({ collection }) => collection === event.collection)
  const whose = deliveriesIn(resources).collection.account === null ? null : account
  return scope && source ? eventText(scope, source, event, readerOf(endpoint, whose), world) : undefined
}
