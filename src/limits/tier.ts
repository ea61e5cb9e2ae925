/** Tier: the quotas declared for groups of callers, prepared at start. Part 8, request counts. */

import { durationMilliseconds } from '../formats/time-texts.ts'
import type { DeclaredQuota, DeclaredTier, DeclaredTiers, Partition } from '../resources/declaration.ts'
import type { Settings } from '../settings.ts'

/** One quota: a number of requests in a time window. R181. */
export interface QuotaPolicy {
  readonly tier: string
  readonly name: string
  readonly quota: number
  /** In milliseconds. */
  readonly window: number
  /** Which requests are counted together. */
  readonly partition: Partition
  /** How many requests a node may count locally before it reports them. R184. */
  readonly lease: number
}

export interface Tier {
  /** The features that its callers have in addition to their own. R191. */
  readonly features: readonly string[]
  readonly policies: readonly QuotaPolicy[]
  /** The value of the header `RateLimit-Policy`. R183. */
  readonly policyHeader: string
}

export interface Quotas {
  readonly tiers: ReadonlyMap<string, Tier>
  /** The tier of callers that do not name a declared one: the first. */
  readonly first: Tier | null
  /** The tier of callers without credentials; null if it is not declared. */
  readonly anonymous: Tier | null
  readonly headers: Settings['rateLimit']['headers']
}

/** The name of the tier of callers without credentials, who are distinguished by their address. */
const anonymousTier = 'anonymous'
const oneHour = 3_600_000

/** The quotas of a service; null if it declares no tiers. */
export function quotasOf(declared: DeclaredTiers, { lease, headers }: Settings['rateLimit']): Quotas | null {
  const tiers = Object.entries(declared).map(([name, one]) => [name, tierOf(name, one, lease)] as const)
  if (tiers.length === 0) return null
  return {
    tiers: new Map(tiers.filter(([name]) => name !== anonymousTier)),
    first: tiers.find(([name]) => name !== anonymousTier)?.[1] ?? null,
    anonymous: tiers.find(([name]) => name === anonymousTier)?.[1] ?? null,
    headers,
  }
}

function tierOf(name: string, { features = [], ...declared }: DeclaredTier, lease: number): Tier {
  const usual: Partition = name === anonymousTier ? 'address' : 'caller'
  const quotas = Object.entries(declared) as [string, number | DeclaredQuota][]
  const policies = quotas.map(([policy, declaredQuota]): QuotaPolicy => {
    const {
      quota,
      window = 'PT1H',
      partition = usual,
    } = typeof declaredQuota === 'number' ? { quota: declaredQuota } : declaredQuota
    return {
      tier: name,
      name: policy,
      quota,
      window: durationMilliseconds(window) ?? oneHour,
      partition,
      lease: Math.floor((quota * lease) / 100),
    }
  })
  const policyHeader = policies.map((one) => `"${one.name}";q=${one.quota};w=${one.window / 1000}`).join(', ')
  return { features: features as readonly string[], policies, policyHeader }
}
