/** Present item: the existing item of a request that the caller may see. R132, R228. */
import { type Caller, permits } from '../flow/caller.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { QueuedRequest } from '../handlers/queued-operation.ts'
import { decodeDocument } from '../resources/document.ts'
import { isStatusResource } from '../resources/service-fields.ts'
import { visibleRows } from '../rules/row-rules.ts'
import { absentItem, type EndpointContext, missingItem } from './item.ts'

/** The item of a request. Throws if it does not exist, or the caller may not see it. */
export function presentItem(
  context: EndpointContext,
  { caller }: Pick<RequestContext, 'caller'>,
  current: ReadResult,
): FoundRow {
  if (current.is !== 'found') throw absentItem(context, current)
  if (isStatusResource(context.resource.declaration)) admitStatus(context, caller, current)
  return current
}

/**
 * The status of an operation exists only for callers that may call the operation; and for those of one account, if the items
 * that the operation works on belong to accounts. R228.
 */
function admitStatus(
  { stored, resource, representation }: EndpointContext,
  caller: Caller,
  { doc, hidden }: FoundRow,
): void {
  const { id, operation, request } = decodeDocument(representation.today, doc, hidden)
  const [name = '', called] = String(operation).split('.')
  const on = stored.get(name)
  const own = on?.operations.find((one) => one.name === called)
  const { id: by, account } = (JSON.parse(String(request)) as QueuedRequest).caller
  // A status has values of the item, which other readers of the status may not be allowed to see.
  const isLimited = on && visibleRows(stored, caller)?.of(on.collection.name) !== undefined
  if (isLimited && by !== caller.id) throw missingItem(resource, String(id))
  const isShared = on?.collection.account === null || (account !== null && account === caller.account)
  if (!permits(caller, own?.rule) || !isShared) throw missingItem(resource, String(id))
}
