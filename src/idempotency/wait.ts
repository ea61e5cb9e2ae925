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
  waiting: number
  /** Settles at its end, with what is known of the key if it was used; made for the first one who waits. */
  ended: PromiseWithResolvers<Claimed | null> | null
}

const underWay = new WeakMap<Store, Map<string, Running>>()

/** Executes a plan; one with a key that another plan is using waits for the end of that one. R102. */
export function inTurn(plan: Plan, store: Store, patience: Patience): Outcome | Promise<Outcome> {
  if (!('claim' in plan) || !plan.claim) return store.execute(plan)
  const all = lineOf(store)
  return all.has(plan.claim.hash) ? queued(plan, plan.claim, store, all, patience) : alone(plan, plan.claim, store, all)
}

function lineOf(store: Store): Map<string, Running> {
  const known = underWay.get(store)
  if (known) return known
  const line = new Map<string, Running>()
  underWay.set(store, line)
  return line
}

/** What the one before made is known without the store; where it made nothing, the next one proceeds. */
async function queued(
  plan: Claiming,
  claim: Claim,
  store: Store,
  all: Map<string, Running>,
  { wait, waiters }: Patience,
): Promise<Outcome> {
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
  first.ended ??= Promise.withResolvers()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(inProgress()), ms)
  try {
    return await Promise.race([first.ended.promise, late])
  } finally {
    clearTimeout(timer)
    first.waiting--
  }
}

async function alone(plan: Claiming, claim: Claim, store: Store, all: Map<string, Running>): Promise<Outcome> {
  const own: Running = { waiting: 0, ended: null }
  all.set(claim.hash, own)
  let made: Claimed | null = null
  try {
    const outcome = await store.execute(plan)
    if (own.ended) made = madeBy(plan, claim, outcome)
    return outcome
  } finally {
    all.delete(claim.hash)
    own.ended?.resolve(made)
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
