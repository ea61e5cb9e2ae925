/** Caller: the authenticated sender of a request, or the anonymous one. Part 5. */
import type { AccessRule } from '../resources/declaration.ts'

export interface Caller {
  /** Identifies the caller; empty if it is anonymous. */
  readonly id: string
  /** The account whose rows the caller sees; null if it has none. */
  readonly account: string | null
  /** The name of the API key that the request was sent with; missing if it was sent with none. */
  readonly key?: string
  readonly scopes: ReadonlySet<string>
  /** The name of the caller's set of quotas. */
  readonly tier: string | null
  /** The caller's features, which can choose its version. */
  readonly features: ReadonlySet<string>
}

export const nobody: Caller = { id: '', account: null, scopes: new Set(), tier: null, features: new Set() }

/** Whether a rule permits a caller; without a rule no caller is permitted. */
export const permits = ({ id, scopes }: Pick<Caller, 'id' | 'scopes'>, rule: AccessRule | undefined): boolean =>
  rule === 'authenticated' ? id !== nobody.id : rule === 'public' || (rule !== undefined && scopes.has(rule))
