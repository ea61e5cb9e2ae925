/** Execute in turn: calls with the same key wait for the first one in this process, not in the store. Part 4, idempotency of POST. */
import { Problem } from '../errors/problem.ts'
import type { Outcome, PriorClaim } from '../flow/outcome.ts'
import { type Claim, type Create, type Decide, isDry, type Plan, type Recall, type Sequence } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { type ServiceWorld, within } from '../flow/world.ts'
import type { Settings } from '../settings.ts'

type WaitLimits = Pick<Settings['idempotency'], 'wait' | 'waiters'>
type StoreAndWorld = { readonly store: Pick<Store, 'execute'>; readonly world: ServiceWorld }
type ClaimingPlan = Create | Decide | Recall | Sequence

/** A running plan with a key. */
interface RunningClaim {
  waiting: number
  /** Resolves when the plan ends, with the prior claim if it used the key; created when the first call waits. */
  ended: PromiseWithResolvers<PriorClaim | null> | null
}

const makeRunningClaims = () => new Map<string, RunningClaim>()

/** Executes a plan; if another plan is using the same key, waits for its end first. R102. */
export function executeInTurn(plan: Plan, on: StoreAndWorld, limits: WaitLimits): Outcome | Promise<Outcome> {
  if (!('claim' in plan) || !plan.claim) return on.store.execute(plan)
  const all = on.world.state.of(makeRunningClaims, null)
  return all.has(plan.claim.hash)
    ? executeAfterOthers(plan, plan.claim, on, all, limits)
    : executeAlone(plan, plan.claim, on.store, all)
}

/** If the first plan used the key, returns its claim without a query; if it failed, the next plan proceeds. */
async function executeAfterOthers(
  plan: ClaimingPlan,
  claim: Claim,
  { store, world }: StoreAndWorld,
  all: Map<string, RunningClaim>,
  { wait, waiters }: WaitLimits,
): Promise<Outcome> {
  const until = world.monotonic() + wait
  for (let first = all.get(claim.hash); first; first = all.get(claim.hash)) {
    if (first.waiting >= waiters) throw inProgressProblem()
    first.waiting++
    first.ended ??= Promise.withResolvers()
    try {
      const made = await within(world, until - world.monotonic(), first.ended.promise, refuseWaiting)
      if (made) return made
    } finally {
      first.waiting--
    }
  }
  return executeAlone(plan, claim, store, all)
}

async function executeAlone(
  plan: ClaimingPlan,
  claim: Claim,
  store: StoreAndWorld['store'],
  all: Map<string, RunningClaim>,
): Promise<Outcome> {
  if (isDry(plan)) return store.execute(plan) // it does not use the key, so no other request has to wait for it
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

/** The outcome for a retry of a plan; null if the plan did not use its key. */
function priorClaimOf(plan: ClaimingPlan, { fingerprint, keeps }: Claim, outcome: Outcome): PriorClaim | null {
  if (outcome.is === 'claimed') return outcome
  const made = outcome.is === 'kept' ? outcome.current : outcome
  if (plan.do === 'recall' || !('doc' in made)) return null
  const { collection, key } = plan.do === 'decide' ? plan.read : plan
  const { doc, revision } = made
  const answer = keeps
    ? {
        doc,
        revision,
        ...('joined' in made && { joined: made.joined }),
        ...('version' in made && { version: made.version }),
      }
    : null
  return { is: 'claimed', collection, ...key, fingerprint, answer }
}

const inProgressProblem = (): Problem =>
  new Problem('idempotency-in-progress', 'The first request with this key is still running.', {
    headers: { 'Retry-After': '1' },
  })

const refuseWaiting = (): never => {
  throw inProgressProblem()
}
