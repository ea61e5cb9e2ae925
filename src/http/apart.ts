/** What stands apart from the resources: whether the process lives and can serve, and documents about the service. Part 1. */
import { bare, notAllowed, optionsReply } from '../endpoints/options.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { Service } from '../service.ts'
import type { House } from './house.ts'

const place = bare('/healthz', 'GET, HEAD, OPTIONS')

/** The answer of /healthz and /readyz, outside the versioned interface; null for all other paths. R186, R197. */
export function health(call: Call, house: House): Promise<Reply> | null {
  const { target } = call
  if (target.charCodeAt(target.length - 1) !== 0x7a && !target.includes('z?')) return null // both end in z
  const path = target.split('?', 1)[0]
  return path === '/healthz' || path === '/readyz' ? told(call, house, path === '/readyz') : null
}

async function told(call: Call, { store, open }: House, ready: boolean): Promise<Reply> {
  const options = optionsOf(call)
  if (options) return options
  if (ready && !open()) throw new Problem('unavailable', 'The service is stopping.')
  const reason = ready ? await store.ready() : null
  if (reason !== null) throw new Problem('dependency-unavailable', 'The store does not answer.', { cause: reason })
  return json(ready ? '{"status":"ready"}' : '{"status":"alive"}', 'no-store')
}

/** A document about the service, which is for everybody; null for all paths that have none. R171. */
export function document(call: Call, { documents }: Service): Reply | null {
  if (documents.size === 0) return null
  const text = documents.get(call.target.split('?', 1)[0] as string)
  return text === undefined ? null : (optionsOf(call) ?? json(text, 'no-cache'))
}

function optionsOf({ method }: Call): Reply | null {
  if (method === 'OPTIONS') return optionsReply(place)
  if (method !== 'GET' && method !== 'HEAD') throw notAllowed(method, place)
  return null
}

const json = (body: string, caching: string): Reply => ({
  status: 200,
  headers: { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff', 'Cache-Control': caching },
  body,
})
