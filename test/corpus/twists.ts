/** Makes variations of requests from earlier answers; each kind of variation has a weight. */
import { again, change, gone, keyed, list, page, read, remove, searched, write } from './asks.ts'
import type { Door, Request } from './exchange.ts'
import type { Variation, VariationSources } from './given.ts'
import { credential, malformed, method, place, query, typed, version } from './oddities.ts'

/** All variations with their weights. */
const variations: readonly (readonly [kind: string, weight: number, twist: Variation])[] = [
  ['read with conditions', 8, read],
  ['write with conditions', 9, write],
  ['change', 6, change],
  ['remove', 4, remove],
  ['what was removed', 3, gone],
  ['page by cursor', 9, page],
  ['list', 14, list],
  ['the same again', 4, again],
  ['idempotency key', 9, keyed],
  ['malformed body', 9, malformed],
  ['content type', 4, typed],
  ['method', 6, method],
  ['path', 6, place],
  ['query string', 4, query],
  ['credential', 7, credential],
  ['version', 6, version],
  ['QUERY', 2, searched],
]
const drawn = variations.flatMap((way) => Array.from({ length: way[1] }, () => way))

/** A request that is made from earlier ones, and the kind of the variation. */
export function variedRequest(sources: VariationSources): { readonly kind: string; readonly request: Request } | null {
  const [kind, , twist] = sources.chance.one(drawn)
  const made = twist(sources)
  if (made === null) return null
  const { main, door, holders, chance } = sources
  const who = holders.length > 1 && chance.once(5) ? chance.one(holders) : main
  const request = made.who !== undefined || who === undefined || kind === 'credential' ? made : { ...made, who }
  const named = /^[/]/.test(request.target) && (door === 'fetch' || !/[ #\u0080-\u{10ffff}]/u.test(request.target))
  return named && sendable(request, door) ? { kind, request } : null
}

/** Whether a door can send the request: `fetch` cannot send content with GET and HEAD, and CONNECT is not sent at all. */
function sendable({ method, body, headers }: Request, door: Door): boolean {
  if (headers.some(([, value]) => /[^\x20-\x7e\x80-\xff]/.test(value))) return false
  if (door === 'fetch' && (method === 'GET' || method === 'HEAD') && body !== undefined) return false
  if (door === 'fetch' && headers.some(([name]) => name === 'Expect')) return false
  return method !== 'CONNECT'
}
