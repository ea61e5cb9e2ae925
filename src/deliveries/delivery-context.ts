/** Delivery context: the context of the dispatch of events and the sending of deliveries, and the writes that both make. Part 6. */
import { listKeys } from '../auth/key-table.ts'
import { isInForce } from '../auth/keys.ts'
import type { RowWriter } from '../effects/row-writer.ts'
import type { EventScope } from '../events/event-scope.ts'
import type { FoundRow, ReadResult, RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import { rowsIn } from '../flow/outcome.ts'
import type { Decide, Read } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import type { Log, ServiceWorld } from '../flow/world.ts'
import { decodeDocument } from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import type { Sender } from '../webhooks/send.ts'
import { endpointsIn, keyMark, ownMembers, readMembers, rowKey, type WebhookEndpoint } from './delivery.ts'
import { releaseSends, removeCursors, retriedHolder } from './delivery-tables.ts'

export interface DeliveryContext {
  readonly resources: ReadonlyMap<string, Resource>
  /** The events of each version, by its name. */
  readonly events: ReadonlyMap<string, EventScope>
  readonly writer: RowWriter
  readonly store: Store
  readonly world: ServiceWorld
  readonly log: Log
  readonly sender: Sender
}

/** The rows of a table plan. */
export const rowsOf = async <T>({ store }: Pick<DeliveryContext, 'store'>, plan: TablePlan): Promise<readonly T[]> =>
  rowsIn(await store.execute(plan)) as unknown as readonly T[]

export const readOf = ({ world }: Pick<DeliveryContext, 'world'>, { name }: Resource, key: RowKey): Read => ({
  ...{ do: 'read', collection: name, key, time: world.now() },
})

export async function findStored(
  context: Pick<DeliveryContext, 'store' | 'world'>,
  resource: Resource,
  key: RowKey,
): Promise<FoundRow | null> {
  const row = (await context.store.execute(readOf(context, resource, key))) as ReadResult
  return row.is === 'found' ? row : null
}

/** An endpoint that is enabled; null otherwise. One that cannot go on is disabled. */
export async function enabledEndpoint(
  context: DeliveryContext,
  id: string,
  account: string,
): Promise<WebhookEndpoint | null> {
  const endpoints = endpointsIn(context.resources)
  const row = await findStored(context, endpoints, rowKey(id, account))
  if (row === null) await rowsOf(context, tablePlan(removeCursors, { endpoint: id }))
  const own = row && readMembers<WebhookEndpoint>(endpoints, row)
  if (own?.status !== 'enabled') return null
  const fault = await endpointFault(context, own)
  if (fault === null) return own
  await disableEndpoint(context, { id, account }, fault)
  return null
}

/** Why an endpoint cannot go on; null if it can. */
async function endpointFault(
  { store, world, events }: DeliveryContext,
  { madeBy, version }: WebhookEndpoint,
): Promise<string | null> {
  if (!events.has(version)) return `The version ${version} is not served any more.`
  if (!madeBy?.startsWith(keyMark)) return null
  const keys = await listKeys(store, madeBy.slice(keyMark.length))
  const isRevoked = keys.length > 0 && !keys.some((one) => isInForce(one, world.due()))
  return isRevoked ? 'The API key that made it is not valid any more.' : null
}

/** Releases deliveries that this process has taken and not sent, so that other processes can take them. */
export async function releaseHeld(context: DeliveryContext, ids: readonly string[], holder: string): Promise<void> {
  await rowsOf(context, tablePlan(releaseSends, { ids, held: [holder, retriedHolder], free: 0 }))
}

/** Changes a document if it is still there. */
export function changePlan(
  context: Pick<DeliveryContext, 'world' | 'writer'>,
  resource: Resource,
  key: RowKey,
  act: (document: Document, revision: number) => Document,
): Decide {
  const read = readOf(context, resource, key)
  return {
    ...{ do: 'decide', read },
    decide: (current) => {
      if (current.is !== 'found') return { do: 'keep' }
      const before = decodeDocument(resource, current.doc, current.hidden)
      return context.writer.update(resource, act(before, current.revision), {
        key,
        time: read.time,
        current,
        before,
        always: false,
      })
    },
  }
}

/** Disables an endpoint that is enabled, and records the reason in the endpoint and in the log. */
export async function disableEndpoint(
  context: DeliveryContext,
  { id, account }: { readonly id: string; readonly account: string },
  reason: string,
): Promise<void> {
  const endpoints = endpointsIn(context.resources)
  const disabled = ownMembers(endpoints, { status: 'disabled', disabledReason: reason })
  const plan = changePlan(context, endpoints, rowKey(id, account), (document) =>
    document.status === 'enabled' ? { ...document, ...disabled } : document,
  )
  const { is } = await context.store.execute(plan)
  if (is === 'changed') context.log.warn({ endpoint: id, reason }, 'An endpoint of webhooks was disabled.')
}
