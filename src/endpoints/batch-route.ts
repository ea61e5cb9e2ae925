/** Batch route: POST /batches, which carries out several operations in one transaction. Part 4, methods. R229. */

import type { Claim } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { claimOfBatch, keptAnswer, keyReuseProblem } from '../idempotency/claim.ts'
import { refuseParameters } from '../lists/query-string.ts'
import type { Resource } from '../resources/resource.ts'

export const batchPath = '/batches'

/** The route of batches. Its plan is made of those of its members, whose routes the corridor finds. */
export function batchRoute(resource: Resource, most: number): Route {
  return {
    ...{ operation: 'batches', method: 'POST', at: 'collection', safe: false, resource, rule: 'public', most },
    content: ['application/json'],
    query: (call) => refuseParameters(call, resource.settings),
    target: () => ({ read: null, admit: () => {} }),
    parse: (request) => {
      const key = { id: '', parent: null, account: request.caller.account }
      return { ...request, key, time: request.world.now(), document: null, ...claimOfBatch(request, resource) }
    },
    plan: () => {
      throw new Error('The plan of a batch is made of those of its members.')
    },
    render: ({ claim, carried }, outcome) => {
      if (outcome.is === 'answered') return { status: 200, headers: {}, body: outcome.doc }
      if (outcome.is !== 'claimed') throw new Error(`The store answered ${outcome.is} to a batch.`)
      const kept = keptAnswer(outcome, claim as Claim)
      // The kept answer is one text made by several routes, so only the version that made it can replay it.
      if (kept === null || (kept.version ?? carried.label) !== carried.label)
        throw keyReuseProblem(outcome, claim as Claim, null, resource.settings)
      return { status: 200, headers: { 'Idempotency-Replayed': 'true' }, body: kept.doc }
    },
    claims: 'replayed',
    about: {
      id: 'create',
      summary: () => 'Run several operations, all or none',
      notes: [
        `At most ${most} operations. Each is checked as if it came alone; the first failure refuses all of them.`,
      ],
      body: 'batch',
      headers: [],
      answers: [{ status: 200, says: 'All were carried out.', body: 'batch', headers: ['Idempotency-Replayed'] }],
      // The description adds the refusals of the members.
      refusals: ['route-not-found', 'method-not-allowed', 'invalid-request', 'unexpected-body'],
    },
  }
}
