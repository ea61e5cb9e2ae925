/** Allow: refuses callers whose scopes or account do not permit the operation of a route. Part 5, authentication. */
import { Problem } from '../errors/problem.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import type { AccessRule } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import type { Settings } from '../settings.ts'
import { missingCredentials } from './credentials.ts'

export const isScope = (rule: AccessRule): boolean => rule !== 'public' && rule !== 'authenticated'

/** Refuses a caller without the scope that the rule names. Credentials were checked before. R168, R169. */
export function allow({ scopes }: Caller, rule: AccessRule, challenge: string): void {
  if (!isScope(rule) || scopes.has(rule)) return
  throw new Problem(
    'insufficient-scope',
    `This needs the scope ${rule}, which the credentials do not have. Use credentials that have it.`,
    {
      headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${rule}"` },
      extra: { scope: rule },
    },
  )
}

/** Refuses a caller without an account if items belong to accounts: it could neither own nor create any. R168, R170. */
export function allowAccount({ account }: Caller, { name, collection }: Pick<Resource, 'name' | 'collection'>): void {
  if (collection.account === null || account) return
  const message = `The items of ${name} belong to accounts, and the credentials name none. Use an API key of an account, or a token that names one.`
  throw new Problem('access-denied', message)
}

/** The caller, and the parts of the challenge that a refusal for missing credentials has. */
export interface ChallengeContext {
  readonly caller: Caller
  readonly challenge: string
  readonly auth: Pick<Settings['auth'], 'apiKeyHeader'>
}

/** The error if a request would change rows of another resource whose access rule refuses the caller. R165, R169. */
export function otherRowsRefusal(
  doing: string,
  rule: AccessRule | undefined,
  { caller, challenge, auth }: ChallengeContext,
): Problem {
  if (rule === undefined)
    return new Problem('access-denied', `Nobody may ${doing}, as no rule of \`access\` covers it.`)
  if (caller.id === nobody.id) return missingCredentials(challenge, auth)
  return new Problem('insufficient-scope', `To ${doing} needs the scope ${rule}, which the credentials do not have.`, {
    headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${rule}"` },
    extra: { scope: rule },
  })
}

/** Where a request names a restricted field: in its body, or in a parameter. The URL of a summary does not name its fields. */
type FieldPlace = { readonly in: 'body'; readonly pointer: string } | { readonly in: 'query'; readonly name: string }

/** The error for a field that needs scopes which the caller lacks; without credentials it is a 401. R165, R169. */
export function restrictedFieldRefusal(
  field: string,
  doing: string,
  scopes: readonly string[],
  { caller, challenge, auth }: ChallengeContext,
  place?: FieldPlace,
): Problem {
  if (caller.id === nobody.id) return missingCredentials(challenge, auth)
  const scope = scopes.join(' ')
  const named = `the ${scopes.length > 1 ? 'scopes' : 'scope'} ${scopes.join(' and ')}`
  return new Problem('insufficient-scope', `To ${doing} ${field} needs ${named}, which the credentials do not have.`, {
    headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${scope}"` },
    extra: { scope, ...place },
  })
}
