/** Metadata: the document that names the authorization server of the service. Part 5, authentication. */
import type { TokenSettings } from '../settings.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

/** The document and its paths: the well-known path, also followed by the path of the resource's URL if it has one. R171. */
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
