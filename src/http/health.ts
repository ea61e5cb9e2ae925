/** Whether the process lives and whether it can serve: /healthz and /readyz, outside the versioned interface. R186, R197. */
import { bare, notAllowed, optionsReply } from '../endpoints/options.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { House } from './house.ts'

const place = bare('/healthz', 'GET, HEAD, OPTIONS')

/** The answer for the two paths; null for all others. */
export function health(call: Call, house: House): Promise<Reply> | null {
  const { target } = call
  if (target.charCodeAt(target.length - 1) !== 0x7a && !target.includes('z?')) return null // both end in z
  const path = target.split('?', 1)[0]
  return path === '/healthz' || path === '/readyz' ? told(call, house, path === '/readyz') : null
}

async function told({ method }: Call, { store, open }: House, ready: boolean): Promise<Reply> {
  if (method === 'OPTIONS') return optionsReply(place)
  if (method !== 'GET' && method !== 'HEAD') throw notAllowed(method, place)
  if (ready && !open()) throw new Problem('unavailable', 'The service is stopping.')
  const reason = ready ? await store.ready() : null
  if (reason !== null) throw new Problem('dependency-unavailable', 'The store does not answer.', { cause: reason })
  const headers = {
    'Content-Type': 'application/json',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  }
  return { status: 200, headers, body: ready ? '{"status":"ready"}' : '{"status":"alive"}' }
}
