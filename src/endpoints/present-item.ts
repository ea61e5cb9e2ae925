/** Present item: the existing item of a request that the caller may see. R132, R228. */
import { type Caller, permits } from '../flow/caller.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { RequestContext } from '../flow/intent.ts'
import { isStatusResource } from '../resources/service-fields.ts'
import { absentItem, type EndpointContext, missingItem } from './item.ts'

/** The item of a request. Throws if it does not exist, or the caller may not see it. */
export function presentItem(
  scene: EndpointContext,
  { caller }: Pick<RequestContext, 'caller'>,
  seen: ReadResult,
): FoundRow {
  if (seen.is !== 'found') throw absentItem(scene, seen)
  if (isStatusResource(scene.resource.declaration)) admitStatus(scene, caller, seen.doc)
  return seen
}

/** The status of an operation exists only for callers that may call the operation. R228. */
function admitStatus({ stored, resource }: EndpointContext, caller: Caller, doc: string): void {
  const { id, operation } = JSON.parse(doc) as { id: string; operation: string }
  const [name = '', called] = operation.split('.')
  const own = stored.get(name)?.operations.find((one) => one.name === called)
  if (!permits(caller, own?.rule)) throw missingItem(resource, id)
}
