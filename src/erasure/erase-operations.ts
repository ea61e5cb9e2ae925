/** Erase operations: empties the inputs and results of asynchronous operations on an item. Part 8. */
import { changePlan } from '../deliveries/delivery-context.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import { rowsIn } from '../flow/outcome.ts'
import { tablePlan } from '../flow/table.ts'
import type { QueuedRequest } from '../handlers/queued-operation.ts'
import { hasJobs } from '../jobs/job-maker.ts'
import { findSteps, removeSteps } from '../jobs/job-table.ts'
import { hasText } from '../ledgers/idempotency-claims.ts'
import type { Resource } from '../resources/resource.ts'
import { endedStates, statusResource } from '../resources/service-fields.ts'
import { allRows } from './all-rows.ts'
import { addTo, type Counts, type ErasedItem, type ErasureContext, erasedText } from './erasure-context.ts'

/**
 * Empties operations on the item, and operations whose input, result or steps name it. Returns the ids of operations that
 * have not ended.
 */
export async function eraseOperations(context: ErasureContext, item: ErasedItem, counts: Counts): Promise<string[]> {
  const { service, store, world, isDry } = context
  if (!hasJobs(service.resources)) return []
  const statuses = service.resources.get(statusResource) as Resource
  const unended: string[] = []
  for await (const { key, document } of allRows(store, statuses.name, undefined)) {
    if (!(await concerns(context, key.id, document, item))) continue
    if (!endedStates.includes(document.status)) {
      unended.push(key.id)
      continue
    }
    const plan = changePlan({ ...service, world }, statuses, key, emptied)
    const { is } = await store.execute(isDry ? { ...plan, dry: true } : plan)
    const steps = isDry ? [] : rowsIn(await store.execute(tablePlan(removeSteps, { id: key.id })))
    if (is === 'changed' || steps.length > 0) addTo(counts, 'operations')
  }
  return unended
}

async function concerns(
  { store }: ErasureContext,
  id: string,
  { item, operation, request, result, error }: Document,
  { resource, key }: ErasedItem,
): Promise<boolean> {
  const queued = typeof request === 'string' ? (JSON.parse(request) as QueuedRequest) : null
  if (queued && !isOfAccount(queued, resource, key)) return false
  const isOwn = item === key.id && (resource.key === null || String(operation).startsWith(`${resource.name}.`))
  if (isOwn || hasText([queued?.input, result, error], key.id)) return true
  const steps = rowsIn(await store.execute(tablePlan(findSteps, { id })))
  return steps.some((one) => hasText([JSON.parse(String(one.result))], key.id))
}

const isOfAccount = ({ caller }: QueuedRequest, { collection }: Resource, { account }: RowKey): boolean =>
  collection.account === null || caller.account === account

/** Empties a status. Its caller and its account stay, as they decide who may read it. */
const emptied = (status: Document): Document => ({
  ...{ ...status, result: null },
  request:
    typeof status.request === 'string'
      ? JSON.stringify({ ...(JSON.parse(status.request) as QueuedRequest), input: {} })
      : status.request,
  error: status.error && emptiedError(status.error as Document),
})

/** An error may quote values in its message, its further members and its places. */
const emptiedError = ({ type, types }: Document): Document => ({
  ...{ message: erasedText, type },
  ...(types !== undefined && { types }),
})
