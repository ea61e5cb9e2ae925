/** Delivery: endpoints and deliveries as they are stored, and the effects that store a new delivery. Part 6. R212. */
import type { RowWriter } from '../effects/row-writer.ts'
import type { EventScope, EventSource } from '../events/event-scope.ts'
import { eventTypesOf } from '../events/event-scope.ts'
import { eventMediaType } from '../events/event-text.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Create } from '../flow/plan.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import { completeDocumentBy, decodeDocument, stampDocument } from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import { deliveryResource, endpointResource, membersIn } from '../resources/service-fields.ts'
import { encodeDocument } from '../rows/collection.ts'
import { addSend } from './delivery-tables.ts'

/** The prefix of `madeBy` if an API key has created the endpoint; the name of the key follows. */
export const keyMark = 'key:'

export interface WebhookEndpoint {
  readonly url: string
  readonly eventTypes: readonly string[]
  readonly version: string
  readonly ordered: boolean
  readonly status: 'enabled' | 'disabled'
  readonly scopes: readonly string[]
  readonly sealed: string
  readonly madeBy: string
}

export interface Delivery {
  readonly endpointId: string
  readonly eventId: string
  readonly status: 'pending' | 'succeeded' | 'failed'
  readonly request: { readonly body: string; readonly url: string; readonly headers: object }
  readonly attempts: readonly { readonly id: string }[]
}

interface StoredTexts {
  readonly doc: string
  readonly hidden: string | null
}

/** A stored document with names in camel case. */
export function readMembers<T>(resource: Resource, { doc, hidden }: StoredTexts): T {
  const document = decodeDocument(resource, doc, hidden)
  return (resource.settings.naming === 'camel' ? document : membersIn(document, 'camel')) as T
}

/** Members as a resource names them. */
export const ownMembers = ({ settings: { naming } }: Resource, members: Document): Document =>
  naming === 'camel' ? members : membersIn(members, naming)

export const endpointsIn = (resources: ReadonlyMap<string, Resource>): Resource =>
  resources.get(endpointResource) as Resource
export const deliveriesIn = (resources: ReadonlyMap<string, Resource>): Resource =>
  resources.get(deliveryResource) as Resource

export const rowKey = (id: string, account: string | null): RowKey => ({ id, parent: null, account: account ?? '' })

/** The caller that an endpoint reads events as: its creator, with the rights of that time. */
export const readerOf = ({ madeBy, scopes }: WebhookEndpoint, account: string | null): Caller => ({
  ...{ ...nobody, id: madeBy || 'webhook', account },
  scopes: new Set(scopes),
})

/** Whether a list of types (`order.placed`) and of groups (`order.*`) has a type. */
export const includesType = (wanted: readonly string[], type: string): boolean =>
  wanted.some((one) => one === type || (one.endsWith('.*') && type.startsWith(one.slice(0, -1))))

/** The wanted types that match no event of a version. */
export const unknownTypes = ({ sources }: EventScope, wanted: readonly string[]): readonly string[] => {
  const types = sources.flatMap(eventTypesOf)
  return wanted.filter((one) => !types.some((type) => includesType([one], type)))
}

/** The actions of a resource whose events are wanted, as they are stored. */
export const wantedActions = ({ prefix, actions, collection }: EventSource, wanted: readonly string[]) =>
  [...actions].flatMap(([stored, name]) =>
    includesType(wanted, `${prefix}.${name}`) ? [[collection, stored] as const] : [],
  )

/** The headers of a delivery, without those of its signature. */
export const deliveryHeaders = (format: string): Record<string, string> => ({
  'content-type': eventMediaType(format),
  'user-agent': 'bylaw-webhooks',
})

export interface NewDelivery {
  readonly endpoint: { readonly id: string; readonly url: string; readonly account: string | null }
  readonly event: { readonly id: string; readonly type: string; readonly position: number }
  /** Names the item if the deliveries of each item keep their order, otherwise an empty text. */
  readonly item: string
  readonly body: string
}

interface StoringContext {
  readonly deliveries: Resource
  readonly writer: RowWriter
  readonly time: number
  readonly due: number
  readonly newId: (prefix: string) => string
}

/** The writes that store a delivery which is due, and its text. */
export function storedDelivery(
  { deliveries, writer, time, due, newId }: StoringContext,
  { endpoint, event, item, body }: NewDelivery,
): { readonly doc: string; readonly key: RowKey; readonly create: Create; readonly send: TablePlan } {
  const own = ownMembers(deliveries, {
    ...{ endpointId: endpoint.id, eventId: event.id, eventType: event.type, status: 'pending', attempts: [] },
    request: { url: endpoint.url, headers: deliveryHeaders(deliveries.settings.events.format), body },
  })
  const document = completeDocumentBy(deliveries, ({ name }) => own[name])
  const key = rowKey(newId(deliveries.prefix as string), endpoint.account)
  stampDocument(deliveries, document, key, null, time)
  const send = { id: key.id, endpoint: endpoint.id, account: key.account, position: event.position, item, due }
  return {
    ...{ doc: encodeDocument(deliveries.collection, document).doc, key },
    create: writer.create(deliveries, document, { key, parent: null, time }),
    send: tablePlan(addSend, { ...send, state: 'pending', taken: 0, holder: '', tries: 0 }),
  }
}
