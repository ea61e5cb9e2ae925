/** Answers a conditional read: 304 where the client has what it would get, 412 where it insists on something else. Part 7. */

import { negotiate } from '../endpoints/accept.ts'
import { conditions, instant } from '../endpoints/conditional.ts'
import { Problem } from '../errors/problem.ts'
import type { Call, Carried } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import type { Conditions, Tags } from '../flow/intent.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { codedTag, isAcceptable, plainTag, willCode } from './coding.ts'

/** The answer as it is, or what its conditions make of it. Malformed ones mean nothing on a read. R126, R128, R139. */
export function unchanged(call: Call, reply: Reply, coding: string | null): Reply {
  if (reply.status !== 200 || (call.method !== 'GET' && call.method !== 'HEAD')) return reply
  const given = conditions(call)
  if (given === null) return reply
  const current = reply.headers.ETag
  const { match, unmodifiedSince, modifiedSince } = given
  const timed = unmodifiedSince !== null || modifiedSince !== null // reading a date costs more than all the rest
  const changed = timed ? instant(reply.headers['Last-Modified']) : null
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

/** What was answered, and the state of the store that it was read from. */
interface Known {
  readonly mark: string
  readonly reply: Reply
}

const most = 2000
/** The tags of lists are remembered for as long as nothing was written, so that an unchanged list is not read again. */
const remembered = new WeakMap<Store, Map<string, Known>>()

let callers = 0
const numbers = new WeakMap<Caller, number>()

/** What is asked, by whom, and of which version. */
interface Visit {
  readonly call: Call
  readonly caller: Caller
  readonly carried: Carried
  readonly route: Route
}

/** What one caller was answered is nothing to another one, nor to another version. R143, R196. */
function nameOf({ call: { target }, caller, carried: { label } }: Visit): string {
  const number = numbers.get(caller) ?? ++callers
  numbers.set(caller, number)
  return `${number} ${label} ${target}`
}

/** The state that a list is read from: that of its collection and of its owner's. Null for what is no list, or changes with time. */
export function markOf(
  { method, content }: Call,
  { operation, resource, beside = [] }: Route,
  store: Store,
): string | null {
  if (operation !== 'list' || (method !== 'GET' && method !== 'HEAD') || content !== null) return null
  if (resource.settings.list.cursor.ttl !== null) return null
  const { name, parent } = resource.collection
  return store.mark([name, ...(parent ? [parent.collection] : []), ...beside])
}

/** 304, where the client has what it was given before and nothing was written since; null where the list has to be read. R139. */
export function unread(visit: Visit, store: Store): Reply | null {
  const { call, route } = visit
  if (call.headers['if-none-match'] === undefined) return null
  const before = remembered.get(store)?.get(nameOf(visit))
  if (!before || before.mark !== markOf(call, route, store)) return null
  negotiate(call)
  const reply = { ...before.reply, headers: { ...before.reply.headers } }
  const told = unchanged(call, reply, willCode(call, reply, route.resource.settings))
  return told === reply ? null : told
}

/** Only as much of a text is kept, in length, as says whether it would be coded, and so which tag it has: lists can be long. */
export function remember(visit: Visit, store: Store, { mark, reply }: Known): void {
  const { resource } = visit.route
  if (reply.status !== 200 || reply.headers.ETag === undefined) return
  const all = remembered.get(store) ?? new Map<string, Known>()
  if (all.size >= most) all.clear()
  const length = Math.min(Buffer.byteLength(reply.body ?? ''), resource.settings.compression.minBytes ?? 0)
  const told: Reply = { status: 200, headers: { ...reply.headers }, body: ' '.repeat(length) }
  remembered.set(store, all.set(nameOf(visit), { mark, reply: told }))
}
