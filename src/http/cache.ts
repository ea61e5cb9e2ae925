/** What caches and browsers are told of every answer. Part 7, conditional read. */
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'

/** Completes the headers of an answer of a route. R29, R143 to R145. */
export function dressed(method: string, route: Route, reply: Reply): Reply {
  const { headers, body } = reply
  if (body !== null) {
    headers['Content-Type'] ??= 'application/json'
    headers['X-Content-Type-Options'] = 'nosniff'
  }
  const reads = method === 'GET' || method === 'HEAD'
  headers['Cache-Control'] = reads ? freshness(route) : 'no-store'
  const { name, settings } = route.resource
  if (settings.cache.groups) headers[reads ? 'Cache-Groups' : 'Cache-Group-Invalidation'] = `"${name}"` // R147
  headers.Vary = 'Accept-Encoding'
  return reply
}

/** How long an answer may be used without asking again: not at all, unless declared. R143. */
function freshness({ rule, resource }: Route): string {
  const { scope, maxAge } = resource.settings.cache
  const age = maxAge === null ? 'no-cache' : `max-age=${Math.floor(maxAge / 1000)}`
  if (rule !== 'public' || scope === 'private') return `private, ${age}`
  return maxAge === null && scope === null ? age : `public, ${age}`
}
