/** Endpoint makers: writes of endpoints and deliveries start, stop and remove their cursors, in the same transaction. Part 6. */
import type { DocumentWrite, EffectMaker } from '../effects/effect-maker.ts'
import { Problem } from '../errors/problem.ts'
import type { Effect, EffectRead, EffectReadResult } from '../flow/plan.ts'
import { tablePlan } from '../flow/table.ts'
import { toCase } from '../formats/naming.ts'
import type { Resource } from '../resources/resource.ts'
import { deliveryResource, endpointResource, isWebhookResource } from '../resources/service-fields.ts'
import {
  addCursor,
  disableCursors,
  enableCursor,
  findCursorsOf,
  findHead,
  lockAccount,
  mostEndpoints,
  removeCursors,
  removeSend,
} from './delivery-tables.ts'

export const hasWebhooks = (resources: ReadonlyMap<string, Resource>): boolean =>
  [...resources.values()].some(({ declaration }) => isWebhookResource(declaration))

export function endpointMakers(resources: ReadonlyMap<string, Resource>): EffectMaker[] {
  if (!hasWebhooks(resources)) return []
  const { settings } = resources.get(endpointResource) as Resource
  const reason = toCase('disabledReason', settings.naming)
  return [
    { resource: endpointResource, reads: readsOf, decide: (write, { results }) => decide(write, results, reason) },
    {
      resource: deliveryResource,
      decide: ({ key, after }) => (after === null ? [tablePlan(removeSend, { id: key.id })] : []),
    },
  ]
}

const begins = ({ before, after }: DocumentWrite): boolean =>
  after?.status === 'enabled' && before?.status !== 'enabled'

const headRead = tablePlan(findHead, { name: 'events' })

const readsOf = (write: DocumentWrite): readonly EffectRead[] => [
  ...(write.before === null ? siblingReads(write.key.account ?? '') : []),
  ...(begins(write) ? [headRead] : []),
]

/** The endpoints of an account, read under its lock: endpoints that are made at the same time are counted too. */
const siblingReads = (account: string): readonly EffectRead[] => [
  tablePlan(lockAccount, { account, creations: 1 }),
  tablePlan(findCursorsOf, { account, none: 0 }),
]

/** The effects of a write on the cursors of the endpoint. Clears the reason in the document when the endpoint is enabled again. */
function decide(write: DocumentWrite, results: readonly EffectReadResult[], reason: string): readonly Effect[] {
  const { key, before, after } = write
  const { id } = key
  if (after === null) return [tablePlan(removeCursors, { endpoint: id })]
  const position = begins(write) ? positionOf(results.at(-1)) : 0
  if (before === null) {
    admitAnother(results[1])
    const free = { taken: 0, holder: '', failing: 0, last: 0, terms: null }
    const enabled = after.status === 'enabled' ? 1 : 0
    return [tablePlan(addCursor, { ...free, id, endpoint: id, account: key.account ?? '', position, enabled })]
  }
  if (before.status === after.status) return []
  if (after.status !== 'enabled') return [tablePlan(disableCursors, { endpoint: id, none: 0 })]
  after[reason] = null
  return [tablePlan(enableCursor, { id, position, enabled: 1, none: 0 })]
}

const positionOf = (result: EffectReadResult | undefined): number =>
  result && 'rows' in result ? Number((result.rows[0] as { position?: unknown } | undefined)?.position ?? 0) : 0

function admitAnother(result: EffectReadResult | undefined): void {
  if (result && 'rows' in result && result.rows.length >= mostEndpoints)
    throw new Problem('conflict', `There are ${mostEndpoints} endpoints already; remove one that is not used.`)
}
