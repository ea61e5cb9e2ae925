/** Reply headers: for caches and browsers, and those of every answer. Part 7, conditional read. */
import { addCorsHeaders } from '../auth/cors.ts'
import type { Call } from '../flow/call.ts'
import { Memo } from '../flow/memo.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import { elapsedSince } from '../flow/world.ts'
import type { Settings } from '../settings.ts'
import type { ServerContext } from './server-context.ts'

/** What an answer depends on besides its route. */
interface Answered {
  readonly dryRun: boolean
  /** The groups of a write; those of the route if they are missing. */
  readonly groups: readonly string[] | undefined
}

/** Adds the headers that every answer of a route has. R29, R143 to R145. */
export function completeHeaders(method: string, route: Route, reply: Reply, { dryRun, groups }: Answered): Reply {
  const { headers, body } = reply
  if (dryRun) removeValidators(headers)
  if (body || reply.stream) {
    headers['Content-Type'] ??= 'application/json'
    headers['X-Content-Type-Options'] = 'nosniff'
  }
  const reads = method === 'GET' || method === 'HEAD'
  headers['Cache-Control'] = reads && (!reply.stream || reply.part) ? cacheControl(route, reply) : 'no-store'
  const { name, settings } = route.resource
  if (settings.cache.groups && !dryRun) {
    const all = new Set(groups ?? [name, ...(reply.embedded?.resources ?? [])])
    if (all.size > 0)
      headers[route.safe ? 'Cache-Groups' : 'Cache-Group-Invalidation'] = [...all].map((one) => `"${one}"`).join(', ') // R147
  }
  headers.Vary = isSameForAll(route, reply) ? 'Accept-Encoding' : varyByCaller(settings.auth) // R145
  if (route.streams?.length) addVary(headers, ['Accept'])
  return reply
}

/**
 * Removes the tag and the date of a state that a dry run has not stored: a later write gives the item the same tag with
 * another content. R121, R239.
 */
export function removeValidators(headers: Record<string, string>): void {
  for (const name of ['ETag', 'Last-Modified']) delete headers[name]
}

/** Whether an answer is the same for all callers. */
const isSameForAll = ({ rule, resource, isPersonal = false }: Route, { embedded }: Reply): boolean =>
  rule === 'public' && !isPersonal && !resource.hasScopedFields && !embedded?.isPersonal

export const varyByCaller = (auth: Settings['auth']): string => `Accept-Encoding, ${credentialHeaders(auth).join(', ')}`

const standardCredentialHeaders: readonly string[] = ['Authorization']

/** The headers that carry credentials. */
export const credentialHeaders = ({ apiKeyHeader }: Settings['auth']): readonly string[] =>
  apiKeyHeader === null ? standardCredentialHeaders : [...standardCredentialHeaders, apiKeyHeader]

/** Adds names of headers to `Vary` unless it has them. R145. */
export function addVary(headers: Record<string, string>, names: readonly string[]): void {
  for (const name of names) {
    const vary = headers.Vary
    if (!`, ${vary},`.includes(`, ${name},`)) headers.Vary = vary ? `${vary}, ${name}` : name
  }
}

/** How long caches may use an answer without revalidating it: not at all, unless declared. R143. */
function cacheControl(route: Route, reply: Reply): string {
  const { scope, maxAge } = route.resource.settings.cache
  const age = maxAge === null ? 'no-cache' : `max-age=${Math.floor(maxAge / 1000)}`
  const differs = route.resource.settings.versions.fromFeatures !== null // R191
  if (!isSameForAll(route, reply) || scope === 'private' || differs) return `private, ${age}`
  return maxAge === null && scope === null ? age : `public, ${age}`
}

/** Adds the headers of every answer, of node:http and fetch alike. R10, R26, R27, R143, R176. */
export function stampReply(call: Call, reply: Reply, { service, world }: ServerContext, started: number): void {
  const { headers, body } = reply
  addCorsHeaders(call, reply, service.settings)
  headers['Request-Id'] = call.id
  headers.Date = replyDate(world.now())
  if (service.settings.serverTiming)
    headers['Server-Timing'] = [`total;dur=${elapsedSince(world, started)}`, ...(reply.timing ?? [])].join(', ')
  if (body !== null && (call.method !== 'HEAD' || headers['Content-Encoding'] === undefined))
    headers['Content-Length'] = String(Buffer.byteLength(body))
}

/** Pure: dates by their second; many answers are sent in one second. */
const dates = new Memo<number, string>(4)

/** The value of `Date`. The one of node:http can be a second late. R130. */
function replyDate(now: number): string {
  const second = Math.floor(now / 1000)
  return dates.get(second) ?? dates.set(second, new Date(now).toUTCString())
}
