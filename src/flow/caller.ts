/** Caller: who sent a request, as far as it was proven. Part 5. */
import type { AccessRule } from '../resources/declaration.ts'

export interface Caller {
  /** Names the caller among all of them; empty where nobody is known. */
  readonly id: string
  /** The account that rows belong to; null where the caller has none. */
  readonly account: string | null
  readonly scopes: ReadonlySet<string>
  /** The set of quotas that the caller has. */
  readonly tier: string | null
  /** The features that the caller has, which its version may follow from. */
  readonly features: ReadonlySet<string>
}

export const nobody: Caller = { id: '', account: null, scopes: new Set(), tier: null, features: new Set() }

/** Whether a rule lets a caller do what it is for; without a rule nobody may. */
export const permits = ({ id, scopes }: Caller, rule: AccessRule | undefined): boolean =>
  rule === 'authenticated' ? id !== nobody.id : rule === 'public' || (rule !== undefined && scopes.has(rule))
