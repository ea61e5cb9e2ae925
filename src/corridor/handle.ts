/** THE CORRIDOR: the phases of a request, in order; the only file that knows the order. R1. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { makeAnswerMemory } from '../limits/answer-memory.ts'
import { releaseNothing } from '../limits/running-requests.ts'
import type { ObservedRequest } from '../telemetry/telemetry.ts'
import { accessRulePhase, accountPhase } from './access.ts'
import { concurrencyPhase, holdUntilSent, overloadPhase, releaseAdmission } from './admission.ts'
import { cachePhase, conditionsPhase, recallPhase } from './cached-answer.ts'
import { encodeIfAccepted } from './coding.ts'
import type { Corridor } from './corridor-phase.ts'
import { methodPhase, optionsPhase, pathPhase } from './endpoint-phases.ts'
import { credentialsPhase, quotaPhase } from './identify-caller.ts'
import { acceptPhase, contentPhase, intentPhase, queryPhase } from './intent-phases.ts'
import { hostPhase, messagePhase } from './message.ts'
import { corridorOf, type RequestState, runPhases } from './phase.ts'
import { refuse } from './refuse.ts'
import type { ServerContext } from './server-context.ts'
import { memoryPhase, renderPhase, storePhase } from './store-phases.ts'
import { documentPhase, healthPhase } from './unversioned.ts'
import { mountPhase, versionPhase } from './versioned-path.ts'

/** The phases up to the route. */
export const placePhases = [
  messagePhase, //      400, 414, 417, 431
  mountPhase, //     404
  healthPhase, //       503
  overloadPhase, //     503
  hostPhase, //         421
  documentPhase, //     400, 401, 404, 405, 410
  versionPhase, //      400, 401, 404, 410, 429
  pathPhase, //         400, 404
  optionsPhase, //      400
  methodPhase, //       405, 501
] as const

/** The checks of the caller. */
export const callerPhases = [
  credentialsPhase, //  400, 401, 429
  quotaPhase, //        401, 429
  concurrencyPhase, //  429
  accessRulePhase, //         403
  accountPhase, //      403
] as const

/** The phases that read the request, carry it out and answer it. */
export const answerPhases = [
  cachePhase,
  acceptPhase, //       406
  recallPhase, //       503
  contentPhase, //      415, 413
  queryPhase, //        400
  intentPhase, //       400, 413, and of its target 404, 410, 412, 428, 409
  memoryPhase, //       503
  storePhase, //        404, 410, 412, 400, 409
  renderPhase, //       503
  conditionsPhase, //   304, 412
] as const

export const standardCorridor = corridorOf(...placePhases, ...callerPhases, ...answerPhases)

export function handle(call: Call, context: ServerContext): Promise<Reply> {
  const state = wayOf(call, context, context.corridor ?? standardCorridor)
  const { telemetry } = context
  return telemetry
    ? telemetry.request(
        call,
        () => answer(call, state),
        () => observed(state),
      )
    : answer(call, state)
}

const observed = ({ match, lookup }: RequestState): ObservedRequest => ({
  route: match?.endpoint.template ?? 'other',
  cached: lookup && (lookup.mark === null ? null : lookup.cached !== null),
})

async function answer(call: Call, state: RequestState): Promise<Reply> {
  const { context } = state
  try {
    await runPhases(state, state.corridor.steps)
    return holdUntilSent(call, completed(state, state.reply as Reply), state.admission)
  } catch (problem) {
    state.reply = null
    releaseAdmission(state.admission) // a refusal is small
    const refused = refuse(call, context, problem, state.versioned?.version ?? null)
    const settings = state.route?.resource.settings ?? context.service.settings
    if (refused.status === 401 && state.route) Object.assign(refused.refused as object, { rule: state.route.rule })
    return completed(state, await encodeIfAccepted(call, refused, settings))
  }
}

const wayOf = (call: Call, context: ServerContext, corridor: Corridor): RequestState => ({
  call,
  context,
  corridor,
  admission: {
    leave: releaseNothing,
    finish: releaseNothing,
    memory: context.world.state.of(makeAnswerMemory, context),
    space: null,
  },
  timing: context.service.settings.serverTiming ? [] : null,
  reply: null,
  noticed: null,
  versioned: null,
  match: null,
  route: null,
  identified: null,
  rate: null,
  lookup: null,
  query: null,
  intent: null,
  outcome: null,
  answer: null,
})

/** The reply with the headers that phases add to every reply. */
function completed(state: RequestState, reply: Reply): Reply {
  for (const complete of state.corridor.completions) complete(reply, state as never)
  if (state.timing) reply.timing = state.timing
  if (state.identified) reply.caller = state.identified.caller
  return reply
}
