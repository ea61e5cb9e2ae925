/** Answers a conditional read: 304 where the client has what it would get, 412 where it insists on something else. Part 7. */
import { conditions, instant } from '../endpoints/conditional.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Conditions, Tags } from '../flow/intent.ts'
import type { Reply } from '../flow/reply.ts'
import { codedTag, isAcceptable, plainTag } from './coding.ts'

/** The answer as it is, or what its conditions make of it. Malformed ones mean nothing on a read. R126, R128, R139. */
export function unchanged(call: Call, reply: Reply, coding: string | null): Reply {
  if (reply.status !== 200 || (call.method !== 'GET' && call.method !== 'HEAD')) return reply
  const given = conditions(call)
  if (given === null) return reply
  const current = reply.headers.ETag
  const changed = instant(reply.headers['Last-Modified'])
  const { match, unmodifiedSince } = given
  const insists = match !== null && match !== 'malformed'
  const holds = insists
    ? isListed(match, current)
    : unmodifiedSince === null || changed === null || changed <= unmodifiedSince
  if (!holds)
    throw new Problem(
      'precondition-failed',
      'The resource has changed.',
      current === undefined ? {} : { headers: { ETag: current } },
    )
  const tag = known(call, given, current, changed, coding)
  return tag === null ? reply : notModified(reply, tag)
}

/** If-Match compares strongly, a tag of any coding being one of the state. R122, R124. */
function isListed(tags: Exclude<Tags, 'malformed'>, current: string | undefined): boolean {
  if (tags === '*') return true
  return tags.some(({ tag, weak }) => !weak && current === `"${plainTag(tag)[0]}"`)
}

/** The tag of what the client has and may go on using; null where it has to be sent. R141, R142. */
function known(
  call: Call,
  { noneMatch, modifiedSince }: Conditions,
  current: string | undefined,
  changed: number | null,
  coding: string | null,
): string | null {
  const own = current === undefined || coding === null ? (current ?? '') : codedTag(current, coding)
  if (noneMatch === '*') return own
  if (noneMatch === null) return modifiedSince !== null && changed !== null && changed <= modifiedSince ? own : null
  if (noneMatch === 'malformed' || current === undefined) return null
  const weak = current.startsWith('W/') ? 'W/' : ''
  for (const { tag } of noneMatch) {
    const [plain, coded] = plainTag(tag)
    if (current === `${weak}"${plain}"` && isAcceptable(call, coded)) return `${weak}"${tag}"`
  }
  return null
}

/** R140. Without a tag the time of the change is what the client asks with again. */
function notModified({ headers }: Reply, tag: string): Reply {
  const names = [
    'Cache-Control',
    'Vary',
    'Content-Location',
    'Expires',
    'Link',
    ...(tag === '' ? ['Last-Modified'] : []),
  ]
  const kept = names.filter((name) => headers[name] !== undefined)
  const told = Object.fromEntries(kept.map((name) => [name, headers[name] as string]))
  return { status: 304, headers: tag === '' ? told : { ETag: tag, ...told }, body: null }
}
