/** Says which pages of other origins may read an answer, and what they may ask. Pure. Part 5, authentication. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { Settings } from '../settings.ts'

/** The headers that pages may read, besides those that every page may. R176. */
const exposedHeaders = [
  ...[
    'Accept-Patch',
    'Accept-Query',
    'Allow',
    'Content-Location',
    'Date',
    'Deprecation',
    'ETag',
    'Idempotency-Replayed',
  ],
  ...['Link', 'Location', 'Preference-Applied', 'RateLimit', 'RateLimit-Policy', 'Request-Id', 'Retry-After'],
  ...['Server-Timing', 'Sunset', 'Version', 'WWW-Authenticate'],
].join(', ')
const exposedLegacyHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].join(', ')

/** For how many seconds a page need not ask again what it may ask. */
const preflightMaxAge = '7200'

type CorsRequest = Pick<Call, 'method' | 'headers'>

/** Adds what the origin of a call is told; nothing where no origins are declared. Credentials of the browser are never asked for. R174 to R176. */
export function addCorsHeaders(
  { method, headers: asked }: CorsRequest,
  { status, headers }: Reply,
  { cors, auth, rateLimit }: Settings,
): void {
  if (cors.origins.length === 0) return
  const all = cors.origins.includes('*')
  if (!all) headers.Vary = headers.Vary === undefined ? 'Origin' : `${headers.Vary}, Origin` // R145
  const { origin } = asked
  if (origin === undefined || !(all || cors.origins.includes(origin))) return
  headers['Access-Control-Allow-Origin'] = all ? '*' : origin
  headers['Access-Control-Expose-Headers'] =
    rateLimit.headers === 'x-ratelimit' ? `${exposedHeaders}, ${exposedLegacyHeaders}` : exposedHeaders
  if (method !== 'OPTIONS' || status !== 204 || asked['access-control-request-method'] === undefined) return
  const own = auth.apiKeyHeader === null ? [] : [auth.apiKeyHeader.toLowerCase()]
  headers['Access-Control-Allow-Methods'] = headers.Allow as string
  headers['Access-Control-Allow-Headers'] = [...new Set([...cors.headers, ...own])].join(', ')
  headers['Access-Control-Max-Age'] = preflightMaxAge
}
