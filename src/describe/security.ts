/** Security: describes the credentials, and the scope that each operation needs. Part 13; part 5. */
import { isScope } from '../auth/allow.ts'
import type { Components, DocumentPart } from '../bodies/components.ts'
import type { Route } from '../flow/route.ts'
import type { Service } from '../service.ts'

/** The security requirements of an operation; empty if it is public. */
export type OperationSecurity = (route: Route) => readonly DocumentPart[]

export function operationSecurity({ settings, declaration }: Service, components: Components): OperationSecurity {
  const { tokens, apiKeyHeader } = settings.auth
  const scopes = Object.entries(declaration.scopes ?? {}).map(([scope, meaning]) => `${scope}: ${meaning}`)
  const meant = scopes.length === 0 ? '' : ` Scopes: ${scopes.join('; ')}.`
  const all: Readonly<Record<string, DocumentPart>> = {
    apiKey: { type: 'http', scheme: 'bearer', bearerFormat: 'API key', description: `An API key.${meant}` },
    ...(apiKeyHeader === null
      ? {}
      : { apiKeyHeader: { type: 'apiKey', in: 'header', name: apiKeyHeader, description: `An API key.${meant}` } }),
    ...(tokens === null
      ? {}
      : {
          token: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: `An access token of ${tokens.issuer} for ${tokens.audience}.${meant}`,
          },
        }),
  }
  return ({ rule }) => {
    if (rule === 'public') return []
    return Object.entries(all).map(([name, scheme]) => {
      components.put('securitySchemes', [name], scheme)
      return { [name]: isScope(rule) ? [rule] : [] }
    })
  }
}
