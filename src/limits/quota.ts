/** Quota: counts a request against the caller's quotas, and adds the remainder to its answer. Part 8, request counts. */
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { type Caller, consumerOf } from '../flow/caller.ts'
import { clientBlock } from '../flow/network.ts'
import type { Reply } from '../flow/reply.ts'
import type { Store } from '../flow/store.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { type Naming, toCase } from '../formats/naming.ts'
import { makeMeter, type QuotaBalance, type QuotaDecision } from './meter.ts'
import { type Ledger, storeLedger } from './quota-table.ts'
import type { QuotaPolicy, Quotas, Tier } from './tier.ts'

/** The quotas of a caller after a request. */
export interface QuotaStatus extends QuotaDecision {
  readonly tier: Tier
  readonly headers: Quotas['headers']
  readonly naming: Naming
  readonly now: number
}

/** The store, clock and ledger that requests are counted with. */
interface QuotaContext {
  readonly service: { readonly quotas: Quotas | null; readonly settings: { readonly naming: Naming } }
  readonly store: Store
  readonly world: ServiceWorld
  /** Counts in place of the store. */
  readonly ledger?: Ledger
}

/** Counts a request; null if its caller has no quotas. R181, R184. */
export function spendQuota(
  { service: { quotas, settings }, store, world, ledger = storeLedger(store) }: QuotaContext,
  call: Call,
  caller: Caller,
): QuotaStatus | null | Promise<QuotaStatus | null> {
  const tier = quotas && tierOf(quotas, caller)
  if (!tier) return null
  const own = world.state.of(makeMeter, ledger)
  const charges = tier.policies.map((policy) => ({ policy, partition: quotaPartition(policy, call, caller) }))
  const now = world.due()
  const taken = own(charges, now)
  const rate = ({ granted, balances }: QuotaDecision): QuotaStatus => ({
    granted,
    balances,
    tier,
    headers: quotas.headers,
    naming: settings.naming,
    now,
  })
  return taken instanceof Promise ? taken.then(rate) : rate(taken)
}

/** A caller that names a declared tier has that tier; any other known caller has the first one. */
function tierOf({ tiers, first, anonymous }: Quotas, { id, tier }: Caller): Tier | null {
  if (id === '') return anonymous
  return (tier === null ? undefined : tiers.get(tier)) ?? first
}

/** The features of a caller and of its tier. R191. */
export function featuresOf(caller: Caller, quotas: Quotas | null): ReadonlySet<string> {
  const gained = (quotas && tierOf(quotas, caller)?.features) ?? []
  return gained.length === 0 ? caller.features : new Set([...caller.features, ...gained])
}

function quotaPartition({ partition }: QuotaPolicy, call: Call, caller: Caller): string {
  switch (partition) {
    case 'caller':
      return consumerOf(caller)
    case 'address':
      return clientBlock(call.address)
    case 'tier':
      return ''
  }
}

/** Throws if a quota is used up. R182. */
export function admitQuota(rate: QuotaStatus | null): void {
  if (rate === null || rate.granted) return
  const violated = rate.balances.filter(({ left }) => left === 0)
  const last = violated.reduce((a, b) => (b.until > a.until ? b : a), violated[0] as QuotaBalance)
  const { name, quota } = last.policy
  const wait = secondsLeft(last, rate.now)
  const message = `The ${name} quota of ${quota} ${quota === 1 ? 'request' : 'requests'} is used up. Ask again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.`
  throw new Problem('quota-exceeded', message, {
    headers: { 'Retry-After': String(wait) },
    extra: { [toCase('violatedPolicies', rate.naming)]: violated.map(({ policy }) => policy.name) },
  })
}

const secondsLeft = ({ until }: QuotaBalance, now: number): number => Math.max(1, Math.ceil((until - now) / 1000))

/** Adds the headers that show the quotas of the caller. R183. */
export function addQuotaHeaders(reply: Reply, rate: QuotaStatus | null): Reply {
  if (rate === null || rate.headers === 'none') return reply
  const { headers } = reply
  if (rate.headers === 'x-ratelimit') Object.assign(headers, legacyQuotaHeaders(rate))
  else {
    headers['RateLimit-Policy'] = rate.tier.policyHeader
    headers.RateLimit = rateLimitField(rate, Number(headers['Retry-After'] ?? Infinity))
  }
  return reply
}

/** Leaves out the end of a window if `Retry-After` is earlier, as a retry at that time may succeed. */
function rateLimitField({ balances, now }: QuotaStatus, retryAfter: number): string {
  let text = ''
  for (const standing of balances) {
    const seconds = secondsLeft(standing, now)
    const reset = seconds > retryAfter ? '' : `;t=${seconds}`
    text += `${text === '' ? '' : ', '}"${standing.policy.name}";r=${standing.left}${reset}`
  }
  return text
}

/** The older X-RateLimit headers, for the quota with the least left; if several are equal, for the one that ends last. */
function legacyQuotaHeaders({ balances, now }: QuotaStatus): Record<string, string> {
  const nearest = balances.reduce((a, b) => (b.left < a.left || (b.left === a.left && b.until > a.until) ? b : a))
  return {
    'X-RateLimit-Limit': String(nearest.policy.quota),
    'X-RateLimit-Remaining': String(nearest.left),
    'X-RateLimit-Reset': String(secondsLeft(nearest, now)),
  }
}
