/** THE CORRIDOR: the whole way of a request, in order; the only file that knows the order. R1. */
import { allow, allowAccount } from '../auth/allow.ts'
import { refuseCredentialsInBody, refuseCredentialsInOptions } from '../auth/scheme.ts'
import { admitContent, negotiate } from '../endpoints/accept.ts'
import { locate, type RouteMatch } from '../endpoints/locate.ts'
import { endpointWithoutRoutes, methodNotAllowed, optionsReply } from '../endpoints/options.ts'
import { Problem } from '../errors/problem.ts'
import { type Call, type CarriedVersion, expiryTime } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import type { Intent, ListQuery, RequestContext } from '../flow/intent.ts'
import type { Reply } from '../flow/reply.ts'
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { executeInTurn } from '../idempotency/wait.ts'
import { answerMemoryOf, expectedPageSize, learnPageSize, smallAnswer } from '../limits/answer-memory.ts'
import { acquireCallerSlot, acquireSlot, releaseNothing } from '../limits/concurrency.ts'
import { admitUnlessOverloaded } from '../limits/overload.ts'
import { addQuotaHeaders, admitQuota, type QuotaStatus, spendQuota } from '../limits/quota.ts'
import type { Service } from '../service.ts'
import type { Settings } from '../settings.ts'
import { addVersionHeaders, type VersionNotice } from '../versions/notices.ts'
import { countVersionUse } from '../versions/usage.ts'
import { type Admission, holdUntilSent, onceSendable, releaseAdmission, waitForMemory } from './admission.ts'
import {
  applyPreconditions,
  type CachedAnswer,
  copyReply,
  listMark,
  recallAnswer,
  rememberAnswer,
} from './cached-answer.ts'
import { encodeIfAccepted, encodeReply, replyCoding } from './coding.ts'
import { identifyCaller } from './identify-caller.ts'
import { admitHost, admitMessage } from './message.ts'
import { admitNoContent, readPayload } from './payload.ts'
import { refuse } from './refuse.ts'
import { addVary, completeHeaders, credentialHeaders } from './reply-headers.ts'
import type { ServerContext } from './server-context.ts'
import { documentReply, healthReply } from './unversioned.ts'
import { chooseVersion, namedVersionOf, successorUrl, type VersionedPath } from './versioned-path.ts'

// long because: the order of all checks is seen at one glance
export async function handle(call: Call, house: ServerContext): Promise<Reply> {
  const { service, world } = house
  const admission: Admission = {
    leave: releaseNothing,
    finish: releaseNothing,
    memory: answerMemoryOf(house.store),
    space: null,
  }
  let { settings } = service
  let versioned: VersionedPath | null = null
  let routed: Route | null = null
  let rate: QuotaStatus | null = null
  try {
    admitMessage(call, service.settings) //                               400, 414, 417, 431
    const health = healthReply(call, house)
    if (health) return await health
    admitUnlessOverloaded(house, call.id) //                              503
    admission.leave = acquireSlot(house.store, settings.limits.concurrency) // 503
    admitHost(call, house.hosts) //                                       421
    const document = documentReply(call, house) //                        400, 401, 404, 405, 410
    if (document) return holdUntilSent(call, await onceSendable(call, await document, admission), admission)
    const now = expiryTime(world)
    const named = namedVersionOf(call, service, now) //                   400, 404, 410
    const early = named.carried === null && service.choice.fromFeatures !== null && call.method !== 'OPTIONS'
    const recognized = early ? await identifyCaller(call, 'public', house) : null // R191
    if (recognized?.problem) rate = await spendQuota(house, call, nobody) // a failed attempt counts, whatever it asked for
    admitQuota(rate) //                                                   429
    if (recognized?.problem) throw recognized.problem //                  401
    versioned = chooseVersion(named, recognized?.caller ?? nobody, service, now) // 400
    const match = findEndpoint(call, versioned, service) //               400, 404
    if ('status' in match) return holdUntilSent(call, withVersionHeaders(match, versioned, house), admission)
    if (call.method === 'OPTIONS') {
      refuseCredentialsInOptions(call, settings.auth) //                  400
      await admitNoContent(call, service.settings)
      return holdUntilSent(
        call,
        withVersionHeaders(optionsReply(match.endpoint), versioned, house, match.endpoint),
        admission,
      )
    }
    const route = findRoute(call, match.endpoint, versioned.version, settings) // 405
    settings = route.resource.settings
    routed = route
    const identified = identifyCaller(call, route.rule, house)
    const { caller, problem } = identified instanceof Promise ? await identified : identified // 400, 401, 429
    if (service.declaration.versions) countVersionUse(house.store, versioned.version.label, caller.id, world.now())
    const spending = spendQuota(house, call, caller)
    rate = spending instanceof Promise ? await spending : spending //     429
    admitQuota(rate)
    if (problem) throw problem
    admission.finish = acquireCallerSlot(house.store, caller, call, service.settings.limits.callerConcurrency) // 429
    allow(caller, route.rule, service.challenge) //                       403
    allowAccount(caller, route.resource) //                               403
    const { carried } = versioned
    const reply = await serveRoute({ call, caller, carried, route, params: match.params, admission }, house)
    return holdUntilSent(call, withVersionHeaders(addQuotaHeaders(reply, rate), versioned, house, route), admission)
  } catch (problem) {
    releaseAdmission(admission) //                                        a refusal is small
    const refused = refuse(call, house, problem, versioned?.version ?? null)
    return withVersionHeaders(
      addQuotaHeaders(await encodeIfAccepted(call, refused, settings), rate),
      versioned,
      house,
      routed,
    )
  }
}

/** A call on its way through a route. */
interface RoutedCall {
  readonly call: Call
  readonly caller: Caller
  readonly carried: CarriedVersion
  readonly route: Route
  readonly params: readonly string[]
  readonly admission: Admission
}

/** The answer of a route, or what the client has of it already. */
async function serveRoute(visit: RoutedCall, house: ServerContext): Promise<Reply> {
  const { call, route } = visit
  const { store } = house
  const state = listMark(call, route, store)
  const mark = state instanceof Promise ? await state : state
  const before = mark === null ? null : recallAnswer(visit, store)
  negotiate(call) //                                                       406
  const known = before?.mark === mark ? before : null
  if (known && bodyLength(known.reply) > smallAnswer) await waitForMemory(visit, () => bodyLength(known.reply)) // 503
  const { reply, query } = known
    ? { reply: copyReply(known.reply), query: null }
    : await executeRoute(visit, house, before)
  const kept = known ?? (mark === null ? null : rememberAnswer(visit, store, { query, mark, reply }))
  const coding = replyCoding(call, reply, route.resource.settings)
  const told = applyPreconditions(call, reply, coding, house.world.now()) //           304, 412
  return coding !== null && told === reply ? await encodeReply(call, reply, coding, kept?.encoded) : told
}

/** Only what has changed nothing may be refused when it is done. */
const isSafe = ({ method }: Call): boolean => method === 'GET' || method === 'HEAD'
const bodyLength = ({ body }: Reply): number => body?.length ?? 0

/** What is asked may be known from before, when the answer was another one. */
async function executeRoute(
  visit: RoutedCall,
  { store, world }: ServerContext,
  before: CachedAnswer | null,
): Promise<{ reply: Reply; query: ListQuery | null }> {
  const { call, caller, carried, route, params, admission } = visit
  admitContent(call, route) //                                             415, 413
  const query = before?.query ?? route.query(call, world, carried) //      400
  const want = parseIntent({ call, caller, carried, params, query, body: null, world }, route, store)
  const intent = want instanceof Promise ? await want : want
  const rows = intent.query?.window.limit ?? 0
  const size = () => expectedPageSize(route, rows || 1)
  const full = rows > 0 || admission.memory.isFull() || size() > smallAnswer ? waitForMemory(visit, size) : null
  if (full) await full //                                                   503
  const end = executeInTurn(route.plan(intent), store, route.resource.settings.idempotency)
  const outcome = end instanceof Promise ? await end : end //              404, 410, 412, 400, 409: one transaction
  const reply = completeHeaders(call.method, route, route.render(intent, outcome))
  if (!admission.space && isSafe(call) && bodyLength(reply) > smallAnswer)
    await waitForMemory(visit, () => bodyLength(reply)) // 503
  if (rows > 0 || bodyLength(reply) > smallAnswer || size() > smallAnswer)
    learnPageSize(route, rows || 1, bodyLength(reply))
  return { reply, query }
}

/** What is wanted. Where that cannot be read or has to be asked for, the target and its conditions come first. R1, R19. */
function parseIntent(asked: RequestContext, route: Route, store: Store): Intent | Promise<Intent> {
  const { content, headers } = asked.call
  if (content !== null || headers.expect !== undefined || route.content.length > 0)
    return parseWithContent(asked, route, store)
  try {
    return route.parse(asked) //                                           400
  } catch (problem) {
    return admitTargetFirst(asked, route, store).then(() => Promise.reject(problem))
  }
}

/** What is wanted by a call that has content, or should have. */
async function parseWithContent(asked: RequestContext, route: Route, store: Store): Promise<Intent> {
  if (asked.call.headers.expect !== undefined) await admitTargetFirst(asked, route, store)
  let given = asked
  try {
    const body = await readPayload(asked.call, route) //                       400, 413
    if (body !== null) given = { ...asked, body }
    refuseCredentialsInBody(body, route) //                                              400
    return route.parse(given) //                                           400, every mistake at once
  } catch (problem) {
    await admitTargetFirst(given, route, store)
    throw problem
  }
}

async function admitTargetFirst(asked: RequestContext, route: Route, store: Store): Promise<void> {
  const target = route.target(asked) //                                    404
  route.admit(asked, target && (await store.execute(target))) //           404, 410, 412, 428
  const key = asked.body && route.recall?.(asked) //                       400
  if (key) route.admitKey(asked, key.claim, await executeInTurn(key, store, route.resource.settings.idempotency)) // 409
}

/** An answer of the versioned interface, with what is told of the version and of the operation in it. R145, R193, R198. */
function withVersionHeaders(
  reply: Reply,
  passage: VersionedPath | null,
  { service, world }: ServerContext,
  at: Route | Endpoint | null = null,
): Reply {
  const { headers } = reply
  const { choice, settings } = service
  if (passage !== null) {
    const { version, path } = passage
    const notice = (at && service.going.get(at)) ?? (service.notices.get(version.label) as VersionNotice)
    const now = expiryTime(world)
    const next = () => (notice.successor === null ? null : successorUrl(service, version.label, path, now))
    addVersionHeaders(headers, notice, next, now)
  }
  const inUrl = passage !== null && passage.carried.prefix + passage.carried.query !== ''
  if (choice.fromFeatures !== null && !inUrl) addVary(headers, credentialHeaders(settings.auth))
  if (choice.carriers.includes('header')) addVary(headers, ['version'])
  return reply
}

/** The place of a target, or the answer that sends to it. */
export function findEndpoint(
  { target }: Call,
  { version, path }: VersionedPath,
  { settings }: Service,
): RouteMatch | Reply {
  const { tree, methods } = version
  if (!target.startsWith('/')) return { endpoint: endpointWithoutRoutes('*', methods), params: [] } // R11: the service itself
  const match = locate(tree, path)
  if (match) return match
  if (path.length > 1 && path.endsWith('/') && settings.path.trailingSlash !== 'reject') {
    const found = locate(tree, path.slice(0, -1)) // R7
    if (found && settings.path.trailingSlash === 'ignore') return found
    const end = target.indexOf('?')
    const Location = end < 0 ? target.slice(0, -1) : target.slice(0, end - 1) + target.slice(end)
    if (found) return { status: 308, headers: { Location, 'Cache-Control': 'no-store' }, body: '' }
  }
  throw new Problem('route-not-found', 'There is no such path. Check the spelling, and that it has no trailing slash.')
}

export function findRoute({ method }: Call, place: Endpoint, { methods }: ServedVersion, settings: Settings): Route {
  const route = place.methods.get(method)
  if (route) return route
  if (settings.methods.unknown === 405 || methods.split(', ').includes(method)) throw methodNotAllowed(method, place)
  throw new Problem('not-implemented', `${method} is not a method of this service.`) // R13
}
