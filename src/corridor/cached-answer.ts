/** Answers reads from what is known: 304 where the client has it, 412 where it insists on something else, and lists that nobody wrote to. Part 7. */
import { isChangedSince, preconditionsOf } from '../endpoints/preconditions.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import type { EntityTags, Preconditions } from '../flow/intent.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { smallAnswer } from '../limits/answer-memory.ts'
import { waitForMemory } from './admission.ts'
import { encodeReply, isCodingAcceptable, replyCoding, splitCodedTag, tagOfCoding } from './coding.ts'
import { type CachedAnswer, type CacheLookup, check, type Parts, phase, type Way } from './phase.ts'

/** Finds out whether the last answer to the same request still holds. */
export const cachePhase = phase({
  name: 'cache',
  needs: ['route', 'identified', 'versioned'],
  gives: 'lookup',
  pass: (way) => {
    const mark = listMark(way.call, way.route, way.context.store)
    return mark instanceof Promise ? mark.then((own) => lookupOf(way, own)) : lookupOf(way, mark)
  },
})

const noLookup: CacheLookup = { mark: null, before: null }
const lookupOf = (way: CacheableWay, mark: string | null): CacheLookup =>
  mark === null ? noLookup : { mark, before: recallAnswer(way, way.context.store) }

const stillValid = ({ mark, before }: CacheLookup): CachedAnswer | null => (before?.mark === mark ? before : null)

/** Answers with the last answer to the same request while it holds. */
export const recallPhase = phase({
  name: 'recall',
  needs: ['lookup'],
  gives: 'answer',
  pass: ({ call, admission, lookup }) => {
    const known = stillValid(lookup)
    if (!known) return null
    const bytes = known.reply.body?.length ?? 0
    const room = bytes > smallAnswer ? waitForMemory({ call, admission }, () => bytes) : null
    return room ? room.then(() => copyReply(known.reply)) : copyReply(known.reply)
  },
})

/** Remembers the answer, applies the conditions of a read to it, and encodes it. */
export const conditionsPhase = check({
  name: 'conditions',
  needs: ['route', 'identified', 'versioned', 'lookup', 'answer'],
  pass: (way) => {
    const { call, route, context, lookup, query, answer } = way
    const { mark } = lookup
    const known =
      stillValid(lookup) ?? (mark === null ? null : rememberAnswer(way, context.store, { query, mark, reply: answer }))
    const coding = replyCoding(call, answer, route.resource.settings)
    const applied = applyPreconditions(call, answer, coding, context.world.now())
    way.reply = applied
    if (coding === null || applied !== answer) return null
    return encodeReply(call, answer, coding, known?.encoded).then((encoded) => {
      way.reply = encoded
    })
  },
})

/** The answer as it is, or what its conditions make of it. Malformed ones mean nothing on a read. R126, R128, R139. */
export function applyPreconditions(call: Call, reply: Reply, coding: string | null, now: number): Reply {
  if (reply.status !== 200 || (call.method !== 'GET' && call.method !== 'HEAD')) return reply
  const given = preconditionsOf(call, now)
  if (given === null) return reply
  const current = reply.headers.ETag
  const { match } = given
  const insists = match !== null && match !== 'malformed'
  const holds = insists
    ? isTagListed(match, current)
    : reply.changed === undefined || !isChangedSince(given.unmodifiedSince, reply.changed, now)
  if (!holds)
    throw new Problem(
      'precondition-failed',
      'The resource has changed.',
      current === undefined ? {} : { headers: { ETag: current } },
    )
  const tag = matchedTag(call, given, reply, coding)
  return tag === null ? reply : notModified(reply, tag)
}

/** If-Match compares strongly, a tag of any coding being one of the state. R122, R124. */
function isTagListed(tags: Exclude<EntityTags, 'malformed'>, current: string | undefined): boolean {
  if (tags === '*') return true
  return tags.some(({ tag, weak }) => !weak && current === `"${splitCodedTag(tag)[0]}"`)
}

/** The tag of what the client has and may go on using; null where it has to be sent. R141, R142. */
function matchedTag(
  call: Call,
  { noneMatch, modifiedSince, now }: Preconditions,
  { headers: { ETag: current }, changed }: Reply,
  coding: string | null,
): string | null {
  const own = current === undefined || coding === null ? (current ?? '') : tagOfCoding(current, coding)
  if (noneMatch === '*') return own
  if (noneMatch === null)
    return modifiedSince !== null && changed !== undefined && !isChangedSince(modifiedSince, changed, now) ? own : null
  if (noneMatch === 'malformed' || current === undefined) return null
  const weak = current.startsWith('W/') ? 'W/' : ''
  for (const { tag } of noneMatch) {
    const [plain, coded] = splitCodedTag(tag)
    if (current === `${weak}"${plain}"` && isCodingAcceptable(call, coded)) return `${weak}"${tag}"`
  }
  return null
}

const headersOfUnchanged = ['Cache-Control', 'Vary', 'Content-Location', 'Expires', 'Link']
const headersOfUntagged = [...headersOfUnchanged, 'Last-Modified']

/** R140. Without a tag the time of the change is what the client asks with again. */
function notModified({ headers }: Reply, tag: string): Reply {
  const told: Record<string, string> = tag === '' ? {} : { ETag: tag }
  for (const name of tag === '' ? headersOfUntagged : headersOfUnchanged) {
    const value = headers[name]
    if (value !== undefined) told[name] = value
  }
  return { status: 304, headers: told, body: null }
}

interface AnswerCache {
  readonly answers: Map<string, CachedAnswer>
  characters: number
  /** What was asked once: most pages of a long list are not asked for again, and would only drive out others. */
  readonly once: Set<string>
}

/** Of all answers together; a list has 14 kB or so. */
const mostCharacters = 4_194_304
const mostOnce = 2000
/** Lists are remembered for as long as nothing was written, so that one that is asked for again is not read again. */
const answerCaches = new WeakMap<Store, AnswerCache>()

const callerNames = new WeakMap<Caller, string>()

/** A request whose caller and version are known. */
type CacheableWay = Way & Pick<Parts, 'identified' | 'versioned'>

/** What one caller was answered is nothing to another one, nor to another version. R143, R196. */
function cacheKeyOf({ call: { target }, identified: { caller }, versioned }: CacheableWay): string {
  const whose = callerNames.get(caller) ?? JSON.stringify([caller.id, caller.account, [...caller.scopes]])
  callerNames.set(caller, whose)
  return `${whose} ${versioned.carried.label} ${target}`
}

/** The state that a list is read from: that of its collection and of its owner's. Null for what is no list, or changes with time. */
function listMark(
  { method, content }: Call,
  { offer, resource, otherCollections = [] }: Route,
  store: Store,
): string | null | Promise<string | null> {
  if (!store.caches || !offer || (method !== 'GET' && method !== 'HEAD') || content !== null) return null
  if (resource.settings.list.cursor.ttl !== null) return null
  const { name, parent } = resource.collection
  return store.mark([name, ...(parent ? [parent.collection] : []), ...otherCollections]) ?? store.fetchMark?.() ?? null
}

/** What was answered to the same question before; its mark says whether it still holds. */
export function recallAnswer(visit: CacheableWay, store: Store): CachedAnswer | null {
  const answers = answerCaches.get(store)?.answers
  const name = cacheKeyOf(visit)
  const known = answers?.get(name)
  if (!answers || !known) return null
  answers.delete(name) // to the end: those that are asked for the least go first
  answers.set(name, known)
  return known
}

export function rememberAnswer(
  visit: CacheableWay,
  store: Store,
  { query, mark, reply }: Omit<CachedAnswer, 'encoded'>,
): CachedAnswer {
  const known = { query, mark, reply: copyReply(reply), encoded: new Map() }
  if (reply.status !== 200 || answerSize(reply) === 0 || answerSize(reply) > mostCharacters) return known
  const memory = answerCaches.get(store) ?? { answers: new Map(), characters: 0, once: new Set() }
  answerCaches.set(store, memory)
  const name = cacheKeyOf(visit)
  if (memory.answers.has(name) || memory.once.delete(name)) keepAnswer(memory, name, known)
  else {
    if (memory.once.size >= mostOnce) memory.once.clear()
    memory.once.add(name)
  }
  return known
}

const answerSize = ({ body }: Reply): number => (typeof body === 'string' ? body.length : 0)

function keepAnswer(memory: AnswerCache, name: string, known: CachedAnswer): void {
  const { answers } = memory
  const drop = (one: string) => {
    memory.characters -= answerSize((answers.get(one) as CachedAnswer).reply)
    answers.delete(one)
  }
  if (answers.has(name)) drop(name)
  const size = answerSize(known.reply)
  for (const one of answers.keys()) {
    if (memory.characters + size <= mostCharacters) break
    drop(one)
  }
  memory.characters += size
  answers.set(name, known)
}

/** The same answer, whose headers may be added to. */
const copyReply = ({ status, headers, body }: Reply): Reply => ({ status, headers: { ...headers }, body })
