/** Answers a conditional read: 304 where the client has what it would get, 412 where it insists on something else. Part 7. */
import { conditions, instant } from '../endpoints/conditional.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Tags } from '../flow/intent.ts'
import type { Reply } from '../flow/reply.ts'

/** The answer as it is, or what its conditions make of it. Malformed ones mean nothing on a read. R126, R128, R139. */
export function unchanged(call: Call, reply: Reply): Reply {
  if (reply.status !== 200 || (call.method !== 'GET' && call.method !== 'HEAD')) return reply
  const given = conditions(call)
  if (given === null) return reply
  const current = reply.headers.ETag
  const changed = instant(reply.headers['Last-Modified'])
  const { match, noneMatch, unmodifiedSince, modifiedSince } = given
  if (
    match && match !== 'malformed'
      ? !listed(match, current, false)
      : unmodifiedSince !== null && changed !== null && changed > unmodifiedSince
  ) {
    throw new Problem(
      'precondition-failed',
      'The resource has changed.',
      current === undefined ? {} : { headers: { ETag: current } },
    )
  }
  const known =
    noneMatch && noneMatch !== 'malformed'
      ? listed(noneMatch, current, true)
      : !noneMatch && modifiedSince !== null && changed !== null && changed <= modifiedSince
  return known ? notModified(reply) : reply
}

function listed(tags: Exclude<Tags, 'malformed'>, current: string | undefined, weakly: boolean): boolean {
  if (tags === '*') return true
  if (current === undefined) return false
  const weak = current.startsWith('W/')
  const own = current.slice(weak ? 3 : 1, -1)
  return tags.some((one) => one.tag === own && (weakly || !(one.weak || weak)))
}

/** R140. */
function notModified({ headers }: Reply): Reply {
  const kept = ['ETag', 'Cache-Control', 'Vary', 'Content-Location', 'Expires', 'Link'].filter(
    (name) => headers[name] !== undefined,
  )
  return { status: 304, headers: Object.fromEntries(kept.map((name) => [name, headers[name] as string])), body: null }
}
