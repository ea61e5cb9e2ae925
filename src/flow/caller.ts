/** Caller: the authenticated sender of a request, or the anonymous one. Part 5. */
import type { AccessRule } from '../resources/declaration.ts'

export interface Caller {
  /** Identifies the caller, also among those of its account; it stays the same. Empty if the caller is anonymous. */
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
  /** Set for operators of the service, who use all rows of the account. */
  readonly unrestricted?: true
}

export const nobody: Caller = { id: '', account: null, scopes: new Set(), tier: null, features: new Set() }

/** Whose use of the service is counted: all callers of an account count together. R100, R181. */
export const consumerOf = ({ id, account }: Pick<Caller, 'id' | 'account'>): string =>
  account === null ? id : `account:${account}`

/** Whether a rule permits a caller; without a rule no caller is permitted. */
export const permits = ({ id, scopes }: Pick<Caller, 'id' | 'scopes'>, rule: AccessRule | undefined): boolean =>
  rule === 'authenticated' ? id !== nobody.id : rule === 'public' || (rule !== undefined && scopes.has(rule))
