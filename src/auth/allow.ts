/** Decides whether a caller may do what a route does. Part 5, authentication. */
import { Problem } from '../errors/problem.ts'
import type { Caller } from '../flow/caller.ts'
import type { Rule } from '../resources/declaration.ts'

/** Refuses a caller without the scope that the rule names. Who is known at all was settled before. R168, R169. */
export function allow({ scopes }: Caller, rule: Rule, challenge: string): void {
  if (rule === 'public' || rule === 'authenticated' || scopes.has(rule)) return
  throw new Problem('insufficient-scope', `This needs the scope ${rule}, which the credentials do not have.`, {
    headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${rule}"` },
    extra: { scope: rule },
  })
}
