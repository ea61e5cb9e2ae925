/** Cached answers: repeats lists until their collections change, and answers conditional reads with 304 or 412. Part 7. */
import { preferredStream } from '../endpoints/content-negotiation.ts'
import { type ConditionsWorld, isChangedSince, preconditionsOf } from '../endpoints/preconditions.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import { type Caller, consumerOf } from '../flow/caller.ts'
import type { EntityTags, ListQuery, Preconditions } from '../flow/intent.ts'
import { Memo } from '../flow/memo.ts'
import { columnsOfList } from '../flow/plan.ts'
import { Remembered } from '../flow/remembered.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { ListedRows, Store } from '../flow/store.ts'
import { smallAnswer } from '../limits/answer-memory.ts'
import { waitForMemory } from './admission.ts'
import { encodeReply, isCodingAcceptable, replyCoding, splitCodedTag, tagOfCoding } from './coding.ts'
import { type CachedAnswer, type CacheLookup, check, phase, type RequestParts, type RequestState } from './phase.ts'

/** Looks up the last answer to the same request, and whether it is still valid. */
export const cachePhase = phase({
  name: 'cache',
  needs: ['route', 'identified', 'versioned'],
  gives: 'lookup',
  pass: (state) => {
    const { store } = state.context
    const read = collectionsRead(state.call, state.route, store)
    if (read === null) return noLookup
    const { answers, once, callerNames } = state.context.world.state.of(makeAnswerCache, null)
    const key = cacheKeyOf(state, callerNames)
    const lookUp = (mark: string | null) => lookupOf(state, { read, mark, key, answers })
    const mark = store.mark(read)
    if (mark !== null || !store.fetchMark) return lookUp(mark)
    // A state that costs a query is fetched only for requests that come again, as the first answer is not cached.
    const isNew = once.latest(key) === undefined && answers.latest(key) === undefined
    return isNew ? { ...noLookup, key } : store.fetchMark().then(lookUp)
  },
})

const noLookup: CacheLookup = { key: '', mark: null, collection: null, query: null, cached: null }

/** The collections that an answer is read from, their state, and where it would be cached. */
interface SoughtAnswer extends Pick<AnswerCache, 'answers'>, Pick<CacheLookup, 'mark' | 'key'> {
  readonly read: readonly string[]
}

/** The parsed query of an outdated answer can still be used, as the request is the same. */
function lookupOf({ context: { store, service }, route }: CacheableRequest, sought: SoughtAnswer): CacheLookup {
  const { read, mark, key, answers } = sought
  if (mark === null) return noLookup
  const cached = answers.get(key, mark, (since, answer) => isStill(store, answer, since)) ?? null
  if (cached) cached.repeated = true
  const isAlone = read.length === 1 && route.operation === 'list' && !service.ruled
  const collection = isAlone ? (read[0] as string) : null
  return { key, mark, collection, query: answers.latest(key)?.query ?? null, cached }
}

/** The columns that select the rows of a list; null if the list is read from several collections. */
function chosenRows({ collection, query }: Pick<CachedAnswer, 'collection' | 'query'>): ListedRows | null {
  const columns = collection !== null && query !== null ? columnsOfList(query as ListQuery) : null
  return columns && { collection: collection as string, columns }
}

/** Whether no write since then affects the answer: neither the columns that select its rows nor the rows themselves. */
function isStill({ isUnaffected }: Store, answer: CachedAnswer, since: string): boolean {
  if (!isUnaffected) return false
  answer.listed ??= listedRows(answer)
  return answer.listed !== null && isUnaffected(answer.listed, since)
}

function listedRows(answer: CachedAnswer): ListedRows | null {
  const chosen = chosenRows(answer)
  if (chosen === null) return null
  const { data } = JSON.parse(answer.reply.body as string) as { data: readonly { readonly id: string }[] }
  return { ...chosen, ids: new Set(data.map(({ id }) => id)) }
}

/** Repeats the last answer to the same request if it is still valid. */
export const recallPhase = phase({
  name: 'recall',
  needs: ['lookup'],
  gives: 'answer',
  pass: ({ call, admission, lookup: { cached } }) => {
    if (!cached) return null
    const bytes = cached.reply.body?.length ?? 0
    const room = bytes > smallAnswer ? waitForMemory({ call, admission }, () => bytes) : null
    return room ? room.then(() => copyReply(cached.reply)) : copyReply(cached.reply)
  },
})

/** Caches the answer, applies the preconditions of a read to it, and compresses it. */
export const conditionsPhase = check({
  name: 'conditions',
  needs: ['route', 'identified', 'versioned', 'lookup', 'answer'],
  pass: (state) => {
    const { call, route, context, lookup, query, answer } = state
    const cached =
      lookup.cached ??
      (lookup.key === ''
        ? null
        : rememberAnswer(
            context.world.state.of(makeAnswerCache, null),
            lookup,
            { query, reply: answer },
            context.store,
          ))
    const coding = replyCoding(call, answer, route.resource.settings)
    const applied = applyPreconditions(call, answer, coding, context.world)
    state.reply = applied
    if (answer.part && applied === answer && call.method !== 'HEAD')
      return answer.part().then((part) => {
        state.reply = part
      })
    if (coding === null || applied !== answer) return null
    return encodeReply(call, answer, coding, { kept: cached?.encoded }).then((encoded) => {
      state.reply = encoded
    })
  },
})

/** The methods whose answer is the representation that conditions are about. R15, R126. */
const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY'])

/** Returns the answer or a 304, or throws a 412. Malformed preconditions are ignored on a read. R126, R128, R139. */
export function applyPreconditions(call: Call, reply: Reply, coding: string | null, world: ConditionsWorld): Reply {
  const isEndless = reply.stream !== undefined && reply.part === undefined
  if (reply.status !== 200 || isEndless || !readingMethods.has(call.method)) return reply
  const preconditions = preconditionsOf(call, world)
  if (preconditions === null) return reply
  const current = reply.headers.ETag
  const { match } = preconditions
  const insists = match !== null && match !== 'malformed'
  const holds = insists
    ? isTagListed(match, current)
    : reply.changed === undefined || !isChangedSince(preconditions.unmodifiedSince, reply.changed, preconditions)
  if (!holds)
    throw new Problem(
      'precondition-failed',
      'The resource has changed since the state that the condition names. Read it again without the condition.',
      current === undefined ? {} : { headers: { ETag: current } },
    )
  const tag = matchedTag(call, preconditions, reply, coding)
  return tag === null ? reply : notModified(reply, tag)
}

/** If-Match compares strongly; the tag of any coding counts as a tag of the state. R122, R124. */
function isTagListed(tags: Exclude<EntityTags, 'malformed'>, current: string | undefined): boolean {
  if (tags === '*') return true
  return tags.some(({ tag, weak }) => !weak && current === `"${splitCodedTag(tag)[0]}"`)
}

/** The tag of the answer that the client may keep using, '' if it has none; null if the answer must be sent. R141, R142. */
function matchedTag(
  call: Call,
  preconditions: Preconditions,
  { headers: { ETag: current }, changed }: Reply,
  coding: string | null,
): string | null {
  const { noneMatch, modifiedSince } = preconditions
  const own = current === undefined || coding === null ? (current ?? '') : tagOfCoding(current, coding)
  if (noneMatch === '*') return own
  if (noneMatch === null)
    return modifiedSince !== null && changed !== undefined && !isChangedSince(modifiedSince, changed, preconditions)
      ? own
      : null
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

/** R140. Without a tag the 304 carries Last-Modified, with which the client asks again. */
function notModified({ headers }: Reply, tag: string): Reply {
  const kept: Record<string, string> = tag === '' ? {} : { ETag: tag }
  for (const name of tag === '' ? headersOfUntagged : headersOfUnchanged) {
    const value = headers[name]
    if (value !== undefined) kept[name] = value
  }
  return { status: 304, headers: kept, body: null }
}

/** A cached list is valid until one of the collections that it was read from changes. */
interface AnswerCache {
  readonly answers: Remembered<CachedAnswer>
  /**
   * Requests that were answered once in a state, with the sizes of their answers: a request that comes again only after more
   * answers than can be cached would find its own evicted, so caching it would only evict others. The state is null if it was
   * not fetched; it is taken for the next one that is.
   */
  readonly once: Remembered<true, string | null>
  readonly callerNames: Memo<Caller, string>
}

/** The limit for all cached answers together, in characters; a list has about 14,000. */
const mostCharacters = 8_388_608
/** The least size that an entry of `once` counts, as its key takes memory too. */
const leastCharacters = mostCharacters / 2000

export const makeAnswerCache = (): AnswerCache => ({
  answers: new Remembered(mostCharacters),
  once: new Remembered(mostCharacters),
  callerNames: new Memo(1000),
})

/** A request whose caller and version are known. */
type CacheableRequest = RequestState & Pick<RequestParts, 'route' | 'identified' | 'versioned'>

/** Answers differ between callers and between versions. R143, R196. */
function cacheKeyOf(
  { call: { target }, context: { service }, identified: { caller }, versioned }: CacheableRequest,
  names: AnswerCache['callerNames'],
): string {
  const id = service.ruled ? caller.id : consumerOf(caller)
  const whose = names.get(caller) ?? names.set(caller, JSON.stringify([id, caller.account, [...caller.scopes]]))
  return `${whose} ${versioned.carried.label} ${target}`
}

/** Whether a target can have the parameter `embed`, whose name may be percent-encoded. */
const mayEmbed = /\?.*(?:embed|%)/

/** The collections that a list is read from; null for other requests and streams, and if its cursors expire. */
function collectionsRead(
  call: Call,
  { offer, resource, otherCollections = [], embeds, streams = [] }: Route,
  store: Store,
): readonly string[] | null {
  const { method, target, content } = call
  if (streams.length > 0 && preferredStream(call, streams) !== null) return null
  if (!store.caches || !offer || (method !== 'GET' && method !== 'HEAD') || content !== null) return null
  if (resource.settings.list.cursor.ttl !== null) return null
  const { name, parent } = resource.collection
  const embedded = embeds && mayEmbed.test(target) ? embeds.collections() : []
  return [name, ...(parent ? [parent.collection] : []), ...otherCollections, ...embedded]
}

/**
 * Caches an answer at the second request for it in the same state, and in a new state at once if it was requested again in the last
 * one: answers that are outdated before they are repeated cost memory for nothing. Its size counts one and a half times, as its
 * compressed bodies, which are a tenth to a third of it, are kept with it.
 */
export function rememberAnswer(
  { answers, once }: AnswerCache,
  { key, mark, collection }: Pick<CacheLookup, 'key' | 'mark' | 'collection'>,
  { query, reply }: Pick<CachedAnswer, 'query' | 'reply'>,
  store: Pick<Store, 'isUnaffected'>,
): CachedAnswer {
  const entry = { query, reply: copyReply(reply), encoded: new Map(), repeated: false, collection }
  if (reply.status !== 200 || typeof reply.body !== 'string' || reply.body === '') return entry
  const size = 1.5 * reply.body.length
  // Only the columns can be compared: the rows of the former answer were not kept.
  const isSame = (since: string | null) => {
    if (since === null) return true
    const chosen = chosenRows(entry)
    return chosen !== null && store.isUnaffected?.(chosen, since) === true
  }
  entry.repeated = mark !== null && once.get(key, mark, isSame) === true
  if (mark !== null && (entry.repeated || answers.latest(key)?.repeated)) {
    answers.put(key, mark, entry, size)
    return entry
  }
  answers.delete(key)
  once.put(key, mark, true, Math.max(size, leastCharacters))
  return entry
}

/** A copy of an answer, so that headers can be added to it. */
const copyReply = ({ status, headers, body }: Reply): Reply => ({ status, headers: { ...headers }, body })
