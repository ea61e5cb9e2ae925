/** Imports items: POST of lines, each of which creates an item. Part 4, methods. R238. */

import { mediaTypeOf } from '../endpoints/content-negotiation.ts'
import { createItemRoute } from '../endpoints/create-item.ts'
import type { EndpointContext } from '../endpoints/item.ts'
import type { Call } from '../flow/call.ts'
import type { Claim } from '../flow/plan.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { nameInSentence } from '../formats/naming.ts'
import { claimOfImport, keptAnswer } from '../idempotency/claim.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { importSegment } from '../resources/own-operations.ts'
import type { Resource } from '../resources/resource.ts'
import { csvType } from './row-reader.ts'

const importTypes = ['application/x-ndjson', csvType]

export function importRoutes(context: EndpointContext): Route[] {
  const { imports, methods, settings } = context.resource
  if (!imports || !methods.includes('create')) return []
  const importing = createItemRoute(context)
  const { resource, rule, rowRule, target, furtherRules } = importing
  return [
    {
      ...{ operation: importSegment, method: 'POST', at: `collection/${importSegment}`, safe: false, resource, rule },
      ...{
        content: importTypes,
        importing,
        target,
        rowRule,
        claims: 'replayed',
        ...(furtherRules && { furtherRules }),
      },
      query: (call) => refuseParameters(call, settings, false), // several transactions allow no dry run
      parse: (request) => ({
        ...request,
        call: withoutHeaders(request.call),
        key: { id: '', parent: null, account: request.caller.account },
        ...{ time: request.world.now(), document: null },
        claim: claimOfImport(request, resource, mediaTypeOf(request.call) ?? ''),
      }),
      plan: () => {
        throw new Error('The plans of an import are made of its lines.')
      },
      render: ({ claim }, outcome) => {
        if (outcome.is === 'answered') return { status: 200, headers: {}, body: outcome.doc }
        const kept = outcome.is === 'claimed' && keptAnswer(outcome, claim as Claim)
        if (!kept) throw new Error(`The store answered ${outcome.is} to an import.`)
        return { status: 200, headers: { 'Idempotency-Replayed': 'true' }, body: kept.doc }
      },
      about: describedImport(resource),
    },
  ]
}

/** The call without the key and the preconditions of the import, which are not those of a line. */
function withoutHeaders(call: Call): Call {
  const others = (name: string) => !/^(?:idempotency-key|if-.*|prefer)$/i.test(name)
  return {
    ...call,
    headers: Object.fromEntries(Object.entries(call.headers).filter(([name]) => others(name))),
    raw: call.raw.filter((_, i) => others(call.raw[i - (i % 2)] as string)),
  }
}

const describedImport = ({ name }: Resource): OperationDescription => ({
  id: 'import',
  summary: (below) => `Import ${nameInSentence(name)}${below}`,
  notes: [
    'Each line is created as a single request creates it, in transactions of several hundred lines; lines that are refused are reported, and the others are created.',
    'A key in a line counts it as existing if it was created before. With the header `Idempotency-Key` an import that broke off goes on after the last transaction when it is sent again.',
    'Fields that the service sets itself are ignored, so that an export can be imported.',
  ],
  body: 'lines',
  headers: [],
  answers: [{ status: 200, says: 'What became of the lines.', body: 'import', headers: ['Idempotency-Replayed'] }],
  refusals: [],
})
