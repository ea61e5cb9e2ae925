/** CORS: which origins' pages may read an answer, and which requests they may send. Pure. Part 5, authentication. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { Settings } from '../settings.ts'

/** The headers that pages may read, in addition to those that browsers always expose. R176. */
const exposedHeaders = [
  ...['Accept', 'Accept-Encoding', 'Accept-Patch', 'Accept-Query', 'Accept-Ranges', 'Allow'],
  ...['Cache-Group-Invalidation', 'Cache-Groups', 'Content-Disposition', 'Content-Location', 'Content-Range'],
  ...['Date', 'Deprecation', 'Dry-Run', 'ETag', 'Idempotency-Replayed'],
  ...['Link', 'Location', 'Preference-Applied', 'RateLimit', 'RateLimit-Policy', 'Request-Id', 'Retry-After'],
  ...['Server-Timing', 'Sunset', 'Version', 'WWW-Authenticate'],
].join(', ')
const exposedLegacyHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].join(', ')

/** For how many seconds browsers cache a preflight. */
const preflightMaxAge = '7200'

type CorsRequest = Pick<Call, 'method' | 'headers'>

/** Adds the CORS headers for the origin of a call. Never allows the browser's credentials. R174 to R176. */
export function addCorsHeaders(
  { method, headers: requestHeaders }: CorsRequest,
  { status, headers }: Reply,
  { cors, auth, rateLimit }: Settings,
): void {
  if (cors.origins.length === 0) return
  const all = cors.origins.includes('*')
  if (!all) headers.Vary = headers.Vary === undefined ? 'Origin' : `${headers.Vary}, Origin` // R145
  const { origin } = requestHeaders
  if (origin === undefined || !(all || cors.origins.includes(origin))) return
  headers['Access-Control-Allow-Origin'] = all ? '*' : origin
  headers['Access-Control-Expose-Headers'] =
    rateLimit.headers === 'x-ratelimit' ? `${exposedHeaders}, ${exposedLegacyHeaders}` : exposedHeaders
  if (method !== 'OPTIONS' || status !== 204 || requestHeaders['access-control-request-method'] === undefined) return
  const own = auth.apiKeyHeader === null ? [] : [auth.apiKeyHeader.toLowerCase()]
  headers['Access-Control-Allow-Methods'] = headers.Allow as string
  headers['Access-Control-Allow-Headers'] = [...new Set([...cors.headers, ...own])].join(', ')
  headers['Access-Control-Max-Age'] = preflightMaxAge
}
