/** Lets calls with one key wait for the first of them, in this process, without holding anything of the store. Part 4, idempotency of POST. */
import { Problem } from '../errors/problem.ts'
import type { Claimed, Outcome } from '../flow/outcome.ts'
import type { Claim, Create, Once, Plan, Recall } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { Settings } from '../resources/settings.ts'

type Patience = Pick<Settings['idempotency'], 'wait' | 'waiters'>
type Claiming = Create | Once | Recall

/** A plan under way with a key. */
interface Running {
  /** Settles at its end, with what is known of the key if it was used. */
  readonly ended: Promise<Claimed | null>
  waiting: number
}

const underWay = new WeakMap<Store, Map<string, Running>>()

/** Executes a plan; one with a key that another plan is using waits for the end of that one. R102. */
export function inTurn(plan: Plan, store: Store, patience: Patience): Outcome | Promise<Outcome> {
  return 'claim' in plan && plan.claim ? queued(plan, plan.claim, store, patience) : store.execute(plan)
}

/** What the one before made is known without the store; where it made nothing, the next one proceeds. */
async function queued(plan: Claiming, claim: Claim, store: Store, { wait, waiters }: Patience): Promise<Outcome> {
  const all = underWay.get(store) ?? new Map<string, Running>()
  underWay.set(store, all)
  const until = performance.now() + wait
  for (let first = all.get(claim.hash); first; first = all.get(claim.hash)) {
    if (first.waiting >= waiters) throw inProgress()
    const made = await endOf(first, until - performance.now())
    if (made) return made
  }
  return alone(plan, claim, store, all)
}

async function endOf(first: Running, ms: number): Promise<Claimed | null> {
  first.waiting++
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(inProgress()), ms)
  try {
    return await Promise.race([first.ended, late])
  } finally {
    clearTimeout(timer)
    first.waiting--
  }
}

async function alone(plan: Claiming, claim: Claim, store: Store, all: Map<string, Running>): Promise<Outcome> {
  const { promise: ended, resolve } = Promise.withResolvers<Claimed | null>()
  all.set(claim.hash, { ended, waiting: 0 })
  let made: Claimed | null = null
  try {
    const outcome = await store.execute(plan)
    made = madeBy(plan, claim, outcome)
    return outcome
  } finally {
    all.delete(claim.hash)
    resolve(made)
  }
}

/** What a repeat of a plan is told. */
function madeBy(plan: Claiming, { fingerprint, keeps }: Claim, outcome: Outcome): Claimed | null {
  if (outcome.is === 'claimed') return outcome
  const made = outcome.is === 'kept' ? outcome.seen : outcome
  if (plan.do === 'recall' || (made.is !== 'created' && made.is !== 'changed' && made.is !== 'found')) return null
  const { collection, key } = plan.do === 'create' ? plan : plan.decide.read
  const { doc, revision, beside } = made
  const answer = keeps ? { doc, revision, ...(beside && { beside }) } : null
  return { is: 'claimed', collection, ...key, fingerprint, answer }
}

const inProgress = (): Problem =>
  new Problem('idempotency-in-progress', 'The first request with this key is still running.', {
    headers: { 'Retry-After': '1' },
  })
