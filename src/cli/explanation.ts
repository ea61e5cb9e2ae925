/** Explanation: runs the checks of a request without carrying it out and reports the refusal. Part 5, authentication. */

import type { Corridor, ExplanationInput } from '../corridor/corridor-phase.ts'
import { findEndpoint, findRoute } from '../corridor/endpoint-phases.ts'
import { standardCorridor } from '../corridor/handle.ts'
import { unversionedRule } from '../corridor/unversioned.ts'
import { outsideProblem, targetBelow, versionedPathOf } from '../corridor/versioned-path.ts'
import { Problem, problemStatus } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { Endpoint } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import type { ServiceWorld } from '../flow/world.ts'
import type { Service } from '../service.ts'

interface ExplanationStep {
  readonly step: string
  /** Null if it is only information. */
  readonly passes: boolean | null
  readonly says: string
}

export interface Explanation {
  readonly steps: readonly ExplanationStep[]
  /** The refusal; null if no check that works without content refuses it. */
  readonly refusal: { readonly status: number; readonly type: string; readonly message: string } | null
}

export interface ExplainedRequest {
  readonly method: string
  readonly target: string
  /** Null without credentials. */
  readonly caller: Caller | null
  /** Why the credential is invalid; null if it is valid or missing. */
  readonly invalid: string | null
}

export interface ExplainContext {
  readonly service: Service
  readonly store: Store
  readonly world: ServiceWorld
}

/** Explains requests outside of the resources, which are public or for all authenticated callers. */
function explainApart({ caller, invalid }: ExplainedRequest, rule: 'public' | 'authenticated'): Explanation {
  const route = { step: 'route', passes: true, says: 'belongs to no resource and no version' }
  if (rule === 'public') return { steps: [route, { step: 'access', passes: true, says: 'public' }], refusal: null }
  const passes = caller !== null && invalid === null
  const says =
    invalid ?? (passes ? 'for all authenticated callers' : 'No credentials were given, and it is not public.')
  const type = invalid === null ? 'credentials-missing' : 'invalid-credentials'
  const refusal = passes ? null : { status: 401, type, message: says }
  return { steps: [route, { step: 'credentials', passes, says }], refusal }
}

/** Runs the checks up to the first that refuses. */
export async function explainRequest(
  question: ExplainedRequest,
  context: ExplainContext,
  corridor: Corridor = standardCorridor,
): Promise<Explanation> {
  const below = targetBelow(question.target, context.service)
  const apart = unversionedRule(below ?? '*', context.service)
  if (apart !== null) return explainApart(question, apart)
  const steps: ExplanationStep[] = []
  let step = 'route'
  let noted: string | null = null
  try {
    if (below === null) throw outsideProblem(context.service)
    const { explained, endpoint } = explanationInput({ ...question, target: below }, context)
    const { operation, resource } = explained.route
    steps.push({ step, passes: true, says: `${operation} of ${resource.name}, at ${endpoint.template}` })
    const checks = corridor.phases.flatMap(({ explains = [] }) => explains)
    for (const { step: name, check, informs } of checks) {
      step = name
      const note = (says: string) => {
        noted = says
      }
      const says = await check(explained, note)
      if (says !== null) steps.push({ step, passes: informs ? null : true, says })
    }
    return { steps, refusal: null }
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem
    const { type, message, violations } = problem
    const says = noted ?? [message, ...violations.map((one) => one.message)].join(' ')
    steps.push({ step, passes: false, says })
    return { steps, refusal: { status: problemStatus(problem, context.service.errors), type, message } }
  }
}

function explanationInput(
  question: ExplainedRequest,
  { service, world, ...context }: ExplainContext,
): { explained: ExplanationInput; endpoint: Endpoint } {
  const { method, target, caller } = question
  const headers = { host: 'localhost' }
  const call: Call = {
    ...{ method, target, headers },
    ...{ authority: null, http: '1.1', raw: [], id: 'explained', content: null, address: '' },
  }
  const who = caller ?? nobody
  const versioned = versionedPathOf(call, who, service, world.due())
  const match = findEndpoint(call, versioned, service)
  if ('status' in match) throw new Problem('route-not-found', `It is redirected to ${match.headers.Location}.`)
  const route = findRoute(call, match.endpoint, versioned.version, service.settings)
  const request: RequestContext = {
    ...{ call, caller: who, world, params: match.params },
    carried: versioned.carried,
    query: null,
    body: null,
  }
  return { explained: { ...question, ...context, service, world, route, request }, endpoint: match.endpoint }
}
