/** Finds out who calls without refusing a failed attempt yet, so that it can be counted first. Part 5; part 8, request counts. */
import { Problem, problemStatus } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import { admitRate, spend } from '../limits/quota.ts'
import type { Rule } from '../resources/declaration.ts'
import type { House } from './house.ts'

interface Who {
  readonly caller: Caller
  /** The refusal, where the credentials prove nothing; the caller is nobody then, and its address pays. */
  readonly problem?: Problem
}

/** Who calls. R184. */
export function known(call: Call, rule: Rule, house: House): Who | Promise<Who> {
  try {
    const caller = house.authenticate(call, rule)
    return caller instanceof Promise ? caller.then((caller) => ({ caller }), unproven) : { caller }
  } catch (problem) {
    return unproven(problem)
  }
}

function unproven(problem: unknown): Who {
  if (problem instanceof Problem && problemStatus(problem) === 401) return { caller: nobody, problem }
  throw problem
}

/** Refuses whoever is not known, after the attempt was counted against its address. R184. */
export async function admitKnown(call: Call, house: House): Promise<void> {
  const { problem } = await known(call, 'authenticated', house)
  if (!problem) return
  admitRate(await spend(house, call, nobody))
  throw problem
}
