/** Finds out who calls without refusing a failed attempt yet, so that it can be counted first. Part 5; part 8, request counts. */
import { Problem, problemStatus } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import { admitQuota, spendQuota } from '../limits/quota.ts'
import type { AccessRule } from '../resources/declaration.ts'
import type { ServerContext } from './server-context.ts'

interface IdentifiedCaller {
  readonly caller: Caller
  /** The refusal, where the credentials prove nothing; the caller is nobody then, and its address pays. */
  readonly problem?: Problem
}

/** Who calls. R184. */
export function identifyCaller(
  call: Call,
  rule: AccessRule,
  house: ServerContext,
): IdentifiedCaller | Promise<IdentifiedCaller> {
  try {
    const caller = house.authenticate(call, rule)
    return caller instanceof Promise ? caller.then((caller) => ({ caller }), failedAttempt) : { caller }
  } catch (problem) {
    return failedAttempt(problem)
  }
}

function failedAttempt(problem: unknown): IdentifiedCaller {
  if (problem instanceof Problem && problemStatus(problem) === 401) return { caller: nobody, problem }
  throw problem
}

/** Refuses whoever is not known, after the attempt was counted against its address. R184. */
export async function admitIdentified(call: Call, house: ServerContext): Promise<void> {
  const { problem } = await identifyCaller(call, 'authenticated', house)
  if (!problem) return
  admitQuota(await spendQuota(house, call, nobody))
  throw problem
}
