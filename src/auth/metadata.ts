/** Says which authorization server issues the tokens that are taken here. Part 5, authentication. */
import type { TokenSettings } from '../settings.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

/** Where the document stands: at the root, and where the URL of the resource has a path, before it too. R171. */
export interface ResourceMetadata {
  readonly url: string
  readonly paths: readonly string[]
  readonly text: string
}

export function resourceMetadata(name: string, scopes: readonly string[], tokens: TokenSettings): ResourceMetadata {
  const resource = tokens.resource ?? tokens.audience
  const { origin, pathname } = new URL(resource)
  const path = pathname === '/' ? '' : pathname
  const document = {
    resource,
    resource_name: name,
    authorization_servers: [tokens.issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
  }
  return {
    url: `${origin}${wellKnown}${path}`,
    paths: [...new Set([wellKnown, wellKnown + path])],
    text: JSON.stringify(document),
  }
}
