/** Queued operation: the status of an asynchronous operation that a worker will run. R28, R228. */
import type { RowWriter } from '../effects/row-writer.ts'
import type { Caller } from '../flow/caller.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Create, Effect, RowGuard } from '../flow/plan.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { completeDocumentBy, stampDocument } from '../resources/document.ts'
import type { OwnOperation } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { statusResource } from '../resources/service-fields.ts'

/** A call to run later: an operation of a resource, on an item or on its collection. */
export interface QueuedCall {
  readonly resource: Resource
  readonly operation: Pick<OwnOperation, 'name'>
  readonly item: RowKey | null
  readonly input: ReadonlyMap<string, unknown>
}

/** The data for the worker that are stored with the status and never shown. */
export interface QueuedRequest {
  readonly input: Document
  readonly caller: { readonly id: string; readonly account: string | null; readonly scopes: readonly string[] }
  readonly item: Pick<RowKey, 'id' | 'parent'> | null
}

interface QueueContext {
  readonly resources: ReadonlyMap<string, Resource>
  readonly caller: Caller
  /** The account whose rows it sees: that of the caller, or of the item that the clock moves. */
  readonly account: string | null
  readonly time: number
  readonly newId: (prefix: string) => string
}

/** A new row, and where it is stored. */
export interface QueuedOperation extends Pick<Create, 'key' | 'time'> {
  readonly statuses: Resource
  readonly document: Document
}

/** The key of a status. Its request names the account. */
export const statusKey = (id: string): RowKey => ({ id, parent: null, account: null })

/** Stores the status, and with it the job; `guard` can refuse the write. */
export const effectOfQueued = (
  writer: RowWriter,
  { statuses, document, key, time }: QueuedOperation,
  guard?: RowGuard,
): Effect => ({
  ...{ collection: statuses.name, key, time },
  change: () => writer.create(statuses, document, { key, parent: null, time, ...(guard && { guard }) }),
})

/** The status of an operation that is due now, or at a later time. */
export function queueOperation(
  { resource, operation, item, input }: QueuedCall,
  { resources, caller, account, time, newId }: QueueContext,
  due = time,
): QueuedOperation {
  const statuses = resources.get(statusResource) as Resource
  const request: QueuedRequest = {
    input: Object.fromEntries(input),
    caller: { id: caller.id, account, scopes: [...caller.scopes] },
    item: item && { id: item.id, parent: item.parent },
  }
  const own: Document = {
    operation: `${resource.name}.${operation.name}`,
    item: item?.id ?? null,
    due: timestampOf(due),
    request: JSON.stringify(request),
  }
  const document = completeDocumentBy(statuses, ({ name }) => own[name])
  const key = statusKey(newId(statuses.prefix as string))
  stampDocument(statuses, document, key, null, time)
  return { statuses, document, key, time }
}
