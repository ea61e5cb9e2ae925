/** Answers reads from what is known: 304 where the client has it, 412 where it insists on something else, and lists that nobody wrote to. Part 7. */
import { conditions, isChangedSince } from '../endpoints/conditional.ts'
import { Problem } from '../errors/problem.ts'
import type { Call, Carried } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import type { Conditions, Query, Tags } from '../flow/intent.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { codedTag, isAcceptable, plainTag } from './coding.ts'

/** The answer as it is, or what its conditions make of it. Malformed ones mean nothing on a read. R126, R128, R139. */
export function unchanged(call: Call, reply: Reply, coding: string | null, now: number): Reply {
  if (reply.status !== 200 || (call.method !== 'GET' && call.method !== 'HEAD')) return reply
  const given = conditions(call, now)
  if (given === null) return reply
  const current = reply.headers.ETag
  const { match } = given
  const insists = match !== null && match !== 'malformed'
  const holds = insists
    ? isListed(match, current)
    : reply.changed === undefined || !isChangedSince(given.unmodifiedSince, reply.changed, now)
  if (!holds)
    throw new Problem(
      'precondition-failed',
      'The resource has changed.',
      current === undefined ? {} : { headers: { ETag: current } },
    )
  const tag = known(call, given, reply, coding)
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
  { noneMatch, modifiedSince, now }: Conditions,
  { headers: { ETag: current }, changed }: Reply,
  coding: string | null,
): string | null {
  const own = current === undefined || coding === null ? (current ?? '') : codedTag(current, coding)
  if (noneMatch === '*') return own
  if (noneMatch === null)
    return modifiedSince !== null && changed !== undefined && !isChangedSince(modifiedSince, changed, now) ? own : null
  if (noneMatch === 'malformed' || current === undefined) return null
  const weak = current.startsWith('W/') ? 'W/' : ''
  for (const { tag } of noneMatch) {
    const [plain, coded] = plainTag(tag)
    if (current === `${weak}"${plain}"` && isAcceptable(call, coded)) return `${weak}"${tag}"`
  }
  return null
}

const lasting = ['Cache-Control', 'Vary', 'Content-Location', 'Expires', 'Link']
const untagged = [...lasting, 'Last-Modified']

/** R140. Without a tag the time of the change is what the client asks with again. */
function notModified({ headers }: Reply, tag: string): Reply {
  const told: Record<string, string> = tag === '' ? {} : { ETag: tag }
  for (const name of tag === '' ? untagged : lasting) {
    const value = headers[name]
    if (value !== undefined) told[name] = value
  }
  return { status: 304, headers: told, body: null }
}

/** What was asked and answered, the state of the store that it was read from, and the answer as it was coded. */
export interface Known {
  readonly query: Query | null
  readonly mark: string
  readonly reply: Reply
  readonly coded: Map<string, Buffer>
}

interface Memory {
  readonly answers: Map<string, Known>
  characters: number
  /** What was asked once: most pages of a long list are not asked for again, and would only drive out others. */
  readonly once: Set<string>
}

/** Of all answers together; a list has 14 kB or so. */
const mostCharacters = 4_194_304
const mostOnce = 2000
/** Lists are remembered for as long as nothing was written, so that one that is asked for again is not read again. */
const remembered = new WeakMap<Store, Memory>()

const names = new WeakMap<Caller, string>()

/** What is asked, by whom, and of which version. */
interface Visit {
  readonly call: Call
  readonly caller: Caller
  readonly carried: Carried
  readonly route: Route
}

/** What one caller was answered is nothing to another one, nor to another version. R143, R196. */
function nameOf({ call: { target }, caller, carried: { label } }: Visit): string {
  const whose = names.get(caller) ?? JSON.stringify([caller.id, caller.account, [...caller.scopes]])
  names.set(caller, whose)
  return `${whose} ${label} ${target}`
}

/** The state that a list is read from: that of its collection and of its owner's. Null for what is no list, or changes with time. */
export function markOf(
  { method, content }: Call,
  { operation, resource, beside = [] }: Route,
  store: Store,
): string | null | Promise<string | null> {
  if (operation !== 'list' || (method !== 'GET' && method !== 'HEAD') || content !== null) return null
  if (resource.settings.list.cursor.ttl !== null) return null
  const { name, parent } = resource.collection
  return store.mark([name, ...(parent ? [parent.collection] : []), ...beside]) ?? store.asked?.() ?? null
}

/** What was answered to the same question before; its mark says whether it still holds. */
export function recalled(visit: Visit, store: Store): Known | null {
  const answers = remembered.get(store)?.answers
  const name = nameOf(visit)
  const known = answers?.get(name)
  if (!answers || !known) return null
  answers.delete(name) // to the end: those that are asked for the least go first
  answers.set(name, known)
  return known
}

export function remember(visit: Visit, store: Store, { query, mark, reply }: Omit<Known, 'coded'>): Known {
  const known = { query, mark, reply: fresh(reply), coded: new Map() }
  if (reply.status !== 200 || sizeOf(reply) === 0 || sizeOf(reply) > mostCharacters) return known
  const memory = remembered.get(store) ?? { answers: new Map(), characters: 0, once: new Set() }
  remembered.set(store, memory)
  const name = nameOf(visit)
  if (memory.answers.has(name) || memory.once.delete(name)) keep(memory, name, known)
  else {
    if (memory.once.size >= mostOnce) memory.once.clear()
    memory.once.add(name)
  }
  return known
}

const sizeOf = ({ body }: Reply): number => (typeof body === 'string' ? body.length : 0)

function keep(memory: Memory, name: string, known: Known): void {
  const { answers } = memory
  const drop = (one: string) => {
    memory.characters -= sizeOf((answers.get(one) as Known).reply)
    answers.delete(one)
  }
  if (answers.has(name)) drop(name)
  const size = sizeOf(known.reply)
  for (const one of answers.keys()) {
    if (memory.characters + size <= mostCharacters) break
    drop(one)
  }
  memory.characters += size
  answers.set(name, known)
}

/** The same answer, whose headers may be added to. */
export const fresh = ({ status, headers, body }: Reply): Reply => ({ status, headers: { ...headers }, body })
