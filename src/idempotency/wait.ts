/** Lets calls with one key wait for the first of them, in this process, without holding anything of the store. Part 4, idempotency of POST. */
import { Problem } from '../errors/problem.ts'
import type { Outcome, PriorClaim } from '../flow/outcome.ts'
import type { Claim, Create, DecideOnce, Plan, Recall } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { Settings } from '../settings.ts'

type WaitLimits = Pick<Settings['idempotency'], 'wait' | 'waiters'>
type ClaimingPlan = Create | DecideOnce | Recall

/** A plan under way with a key. */
interface RunningClaim {
  waiting: number
  /** Settles at its end, with what is known of the key if it was used; made for the first one who waits. */
  ended: PromiseWithResolvers<PriorClaim | null> | null
}

const runningClaims = new WeakMap<Store, Map<string, RunningClaim>>()

/** Executes a plan; one with a key that another plan is using waits for the end of that one. R102. */
export function executeInTurn(plan: Plan, store: Store, patience: WaitLimits): Outcome | Promise<Outcome> {
  if (!('claim' in plan) || !plan.claim) return store.execute(plan)
  const all = runningClaimsOf(store)
  return all.has(plan.claim.hash)
    ? executeAfterOthers(plan, plan.claim, store, all, patience)
    : executeAlone(plan, plan.claim, store, all)
}

function runningClaimsOf(store: Store): Map<string, RunningClaim> {
  const known = runningClaims.get(store)
  if (known) return known
  const line = new Map<string, RunningClaim>()
  runningClaims.set(store, line)
  return line
}

/** What the one before made is known without the store; where it made nothing, the next one proceeds. */
async function executeAfterOthers(
  plan: ClaimingPlan,
  claim: Claim,
  store: Store,
  all: Map<string, RunningClaim>,
  { wait, waiters }: WaitLimits,
): Promise<Outcome> {
  const until = performance.now() + wait
  for (let first = all.get(claim.hash); first; first = all.get(claim.hash)) {
    if (first.waiting >= waiters) throw inProgressProblem()
    const made = await waitForEnd(first, until - performance.now())
    if (made) return made
  }
  return executeAlone(plan, claim, store, all)
}

async function waitForEnd(first: RunningClaim, ms: number): Promise<PriorClaim | null> {
  first.waiting++
  first.ended ??= Promise.withResolvers()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(inProgressProblem()), ms)
  try {
    return await Promise.race([first.ended.promise, late])
  } finally {
    clearTimeout(timer)
    first.waiting--
  }
}

async function executeAlone(
  plan: ClaimingPlan,
  claim: Claim,
  store: Store,
  all: Map<string, RunningClaim>,
): Promise<Outcome> {
  const own: RunningClaim = { waiting: 0, ended: null }
  all.set(claim.hash, own)
  let made: PriorClaim | null = null
  try {
    const outcome = await store.execute(plan)
    if (own.ended) made = priorClaimOf(plan, claim, outcome)
    return outcome
  } finally {
    all.delete(claim.hash)
    own.ended?.resolve(made)
  }
}

/** What a repeat of a plan is told. */
function priorClaimOf(plan: ClaimingPlan, { fingerprint, keeps }: Claim, outcome: Outcome): PriorClaim | null {
  if (outcome.is === 'claimed') return outcome
  const made = outcome.is === 'kept' ? outcome.seen : outcome
  if (plan.do === 'recall' || (made.is !== 'created' && made.is !== 'changed' && made.is !== 'found')) return null
  const { collection, key } = plan.do === 'create' ? plan : plan.decide.read
  const { doc, revision, joined } = made
  const answer = keeps ? { doc, revision, ...(joined && { joined }) } : null
  return { is: 'claimed', collection, ...key, fingerprint, answer }
}

const inProgressProblem = (): Problem =>
  new Problem('idempotency-in-progress', 'The first request with this key is still running.', {
    headers: { 'Retry-After': '1' },
  })
