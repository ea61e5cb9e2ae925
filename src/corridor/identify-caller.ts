/** Identify caller: authenticates, and counts a failed attempt before refusing it. Part 5; part 8, request counts. */

import { allow } from '../auth/allow.ts'
import { refuseCredentialsInTarget } from '../auth/credentials.ts'
import { Problem, problemStatus } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { type Caller, consumerOf, nobody } from '../flow/caller.ts'
import { listInWords } from '../formats/naming.ts'
import { addQuotaHeaders, admitQuota, spendQuota } from '../limits/quota.ts'
import type { AccessRule } from '../resources/declaration.ts'
import { countVersionUse } from '../versions/usage.ts'
import type { ExplanationInput } from './corridor-phase.ts'
import { check, type IdentifiedCaller, phase, type RequestParts, type RequestState } from './phase.ts'
import type { ServerContext } from './server-context.ts'

/** Authenticates the caller. A 401 is returned instead of thrown, so that the attempt can be counted first. R184. */
export function identifyCaller(
  call: Call,
  rule: AccessRule,
  context: ServerContext,
): IdentifiedCaller | Promise<IdentifiedCaller> {
  try {
    const caller = context.authenticate(call, rule)
    return caller instanceof Promise ? caller.then((caller) => ({ caller }), failedAttempt) : { caller }
  } catch (problem) {
    return failedAttempt(problem)
  }
}

function failedAttempt(problem: unknown): IdentifiedCaller {
  if (problem instanceof Problem && problemStatus(problem) === 401) return { caller: nobody, problem }
  throw problem
}

/** Refuses a caller that a rule does not permit; a failed authentication is counted against its address first. R184. */
export async function admitCaller(call: Call, rule: AccessRule, context: ServerContext): Promise<Caller> {
  const { caller, problem } = await identifyCaller(call, rule, context)
  if (problem) {
    admitQuota(await spendQuota(context, call, nobody))
    throw problem
  }
  allow(caller, rule, context.service.challenge)
  return caller
}

export const credentialsPhase = phase({
  name: 'credentials',
  needs: ['route'],
  gives: 'identified',
  pass: ({ call, context, route }) => identifyCaller(call, route.rule, context),
  refuses: ({ route }) => {
    const open = ['credentials-in-url', 'ambiguous-credentials', 'invalid-credentials', 'too-many-requests']
    const rules = [route?.rule, ...(route?.furtherRules ?? [])]
    return rules.some((one) => one !== 'public') ? [...open, 'credentials-missing'] : open
  },
  explains: [{ step: 'credentials', check: explainCredentials }],
})

function explainCredentials({ caller, invalid, route, service, target }: ExplanationInput): string {
  refuseCredentialsInTarget(target, service.settings.auth)
  if (invalid !== null) throw new Problem('invalid-credentials', invalid)
  if (caller) return `authenticated: ${callerText(caller)}`
  if (route.rule === 'public') return 'no credentials, and none needed: it is public'
  throw new Problem('credentials-missing', 'No credentials were given, and it is not public.')
}

function callerText({ account, scopes, tier }: Caller): string {
  const whose = account === null ? 'no account' : `account ${account}`
  return `${whose}, ${scopes.size === 0 ? 'no scopes' : [...scopes].join(' ')}${tier === null ? '' : `, tier ${tier}`}`
}

/** Counts the request, even if its authentication failed. */
export const quotaPhase = check({
  name: 'quota',
  needs: ['identified', 'versioned'],
  pass: (state) => {
    const { call, context, identified, versioned } = state
    const { service, world } = context
    if (service.declaration.versions)
      countVersionUse(context, versioned.version.label, consumerOf(identified.caller), world.now())
    const spending = spendQuota(context, call, identified.caller)
    return spending instanceof Promise ? spending.then((rate) => admitRate(state, rate)) : admitRate(state, spending)
  },
  refuses: ({ service }) => (service.quotas === null ? [] : ['quota-exceeded']),
  explains: [{ step: 'quota', informs: true, check: explainQuota }],
  completes: (reply, { rate }) => addQuotaHeaders(reply, rate),
})

function admitRate(state: RequestState & Pick<RequestParts, 'identified'>, rate: RequestState['rate']): void {
  state.rate = rate
  admitQuota(rate)
  if (state.identified.problem) throw state.identified.problem
}

/** The quotas that apply. Only the serving nodes know how much of them is left. R181. */
function explainQuota({ service: { quotas }, caller }: ExplanationInput): string | null {
  if (!quotas) return null
  const tier = caller ? (caller.tier !== null && quotas.tiers.get(caller.tier)) || quotas.first : quotas.anonymous
  if (!tier) return 'no quota counts it'
  const all = tier.policies.map(
    (one) => `${one.quota} in ${one.window / 1000} s for each ${one.partition} (${one.name})`,
  )
  return `tier ${tier.policies[0]?.tier}: ${listInWords(all, 'and')}; when used up, 429`
}
