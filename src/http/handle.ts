/** THE CORRIDOR: the whole way of a request, in order; the only file that knows the order. R1. */
import { allow, allowOwn } from '../auth/allow.ts'
import { admitBody, admitOptions } from '../auth/scheme.ts'
import { admitContent, negotiate } from '../endpoints/accept.ts'
import { bare, notAllowed, optionsReply } from '../endpoints/options.ts'
import { locate, type Match } from '../endpoints/route.ts'
import { Problem } from '../errors/problem.ts'
import { type Call, type Carried, dueTime } from '../flow/call.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import type { Asked, Intent, Query } from '../flow/intent.ts'
import type { Reply } from '../flow/reply.ts'
import type { Edition, Place, Route } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { inTurn } from '../idempotency/wait.ts'
import { enter, nothing, share } from '../limits/crowd.ts'
import { admitRate, featuresOf, type Rate, rated, spend } from '../limits/quota.ts'
import { expected, learn, roomOf, small } from '../limits/room.ts'
import { admitStrain } from '../limits/strain.ts'
import { versionsIn } from '../lists/parameters.ts'
import type { Settings } from '../resources/settings.ts'
import type { Service } from '../service.ts'
import { isEnded, isReleased, type Named, named, unnamed } from '../versions/choose.ts'
import { type Notice, retire } from '../versions/retire.ts'
import { count } from '../versions/usage.ts'
import { document, health } from './apart.ts'
import { coded, codedIfBetter, willCode } from './coding.ts'
import { credentialHeaders, dressed, vary } from './headers.ts'
import type { House } from './house.ts'
import { admitHost, admitMessage } from './message.ts'
import { noContent, payload } from './payload.ts'
import { known } from './proven.ts'
import { refuse } from './refuse.ts'
import { giveBack, type Pass, room, staying, withRoom } from './stay.ts'
import { fresh, type Known, markOf, recalled, remember, unchanged } from './unchanged.ts'

// long because: the order of all checks is seen at one glance
export async function answer(call: Call, house: House): Promise<Reply> {
  const { service, world } = house
  const pass: Pass = { leave: nothing, finish: nothing, room: roomOf(house.store), space: null }
  let { settings } = service
  let passage: Passage | null = null
  let at: Route | null = null
  let rate: Rate | null = null
  try {
    admitMessage(call, service.settings) //                                400, 414, 417, 431
    const apart = health(call, house)
    if (apart) return await apart
    admitStrain(house, call.id) //                                         503
    pass.leave = enter(house.store, settings.limits.concurrency) //        503
    admitHost(call, house.hosts) //                                        421
    const told = document(call, house) //                                   400, 401, 404, 405, 410
    if (told) return staying(call, await withRoom(call, await told, pass), pass)
    const now = dueTime(world)
    const said = versionIn(call, service, now) //                          400, 404, 410
    const early = said.carried === null && service.choice.fromFeatures !== null && call.method !== 'OPTIONS'
    const hinted = early ? await known(call, 'public', house) : null //    R191
    if (hinted?.problem) rate = await spend(house, call, nobody) //        a failed attempt counts, whatever it asked for
    admitRate(rate) //                                                     429
    if (hinted?.problem) throw hinted.problem //                           401
    passage = chosen(said, hinted?.caller ?? nobody, service, now) //      400
    const match = find(call, passage, service) //                          400, 404
    if ('status' in match) return staying(call, labelled(match, passage, house), pass)
    if (call.method === 'OPTIONS') {
      admitOptions(call, settings.auth) //                                 400
      await noContent(call, service.settings)
      return staying(call, labelled(optionsReply(match.place), passage, house, match.place), pass)
    }
    const route = routeOf(call, match.place, passage.edition, settings) // 405
    settings = route.resource.settings
    at = route
    const who = known(call, route.rule, house)
    const { caller, problem } = who instanceof Promise ? await who : who // 400, 401, 429
    if (service.declaration.versions) count(house.store, passage.edition.label, caller.id, world.now())
    const spent = spend(house, call, caller)
    rate = spent instanceof Promise ? await spent : spent //               429
    admitRate(rate)
    if (problem) throw problem
    pass.finish = share(house.store, caller, call, service.settings.limits.callerConcurrency) // 429
    allow(caller, route.rule, service.challenge) //                        403
    allowOwn(caller, route.resource) //                                    403
    const { carried } = passage
    const reply = await served({ call, caller, carried, route, params: match.params, pass }, house)
    return staying(call, labelled(rated(reply, rate), passage, house, route), pass)
  } catch (problem) {
    giveBack(pass) // a refusal is small
    const refused = refuse(call, house, problem, passage?.edition ?? null)
    return labelled(rated(await codedIfBetter(call, refused, settings), rate), passage, house, at)
  }
}

/** A call on its way through a route. */
interface Visit {
  readonly call: Call
  readonly caller: Caller
  readonly carried: Carried
  readonly route: Route
  readonly params: readonly string[]
  readonly pass: Pass
}

/** The answer of a route, or what the client has of it already. */
async function served(visit: Visit, house: House): Promise<Reply> {
  const { call, route } = visit
  const { store } = house
  const state = markOf(call, route, store)
  const mark = state instanceof Promise ? await state : state
  const before = mark === null ? null : recalled(visit, store)
  negotiate(call) //                                                       406
  const known = before?.mark === mark ? before : null
  if (known && lengthOf(known.reply) > small) await room(visit, () => lengthOf(known.reply)) // 503
  const { reply, query } = known ? { reply: fresh(known.reply), query: null } : await inner(visit, house, before)
  const kept = known ?? (mark === null ? null : remember(visit, store, { query, mark, reply }))
  const coding = willCode(call, reply, route.resource.settings)
  const told = unchanged(call, reply, coding, house.world.now()) //           304, 412
  return coding !== null && told === reply ? await coded(call, reply, coding, kept?.coded) : told
}

/** Only what has changed nothing may be refused when it is done. */
const isSafe = ({ method }: Call): boolean => method === 'GET' || method === 'HEAD'
const lengthOf = ({ body }: Reply): number => body?.length ?? 0

/** What is asked may be known from before, when the answer was another one. */
async function inner(
  visit: Visit,
  { store, world }: House,
  before: Known | null,
): Promise<{ reply: Reply; query: Query | null }> {
  const { call, caller, carried, route, params, pass } = visit
  admitContent(call, route) //                                             415, 413
  const query = before?.query ?? route.query(call, world, carried) //      400
  const want = wanted({ call, caller, carried, params, query, body: null, world }, route, store)
  const intent = want instanceof Promise ? await want : want
  const rows = intent.query?.window.limit ?? 0
  const size = () => expected(route, rows || 1)
  const full = rows > 0 || pass.room.isFull() || size() > small ? room(visit, size) : null
  if (full) await full //                                                   503
  const end = inTurn(route.plan(intent), store, route.resource.settings.idempotency)
  const outcome = end instanceof Promise ? await end : end //              404, 410, 412, 400, 409: one transaction
  const reply = dressed(call.method, route, route.render(intent, outcome))
  if (!pass.space && isSafe(call) && lengthOf(reply) > small) await room(visit, () => lengthOf(reply)) // 503
  if (rows > 0 || lengthOf(reply) > small || size() > small) learn(route, rows || 1, lengthOf(reply))
  return { reply, query }
}

/** What is wanted. Where that cannot be read or has to be asked for, the target and its conditions come first. R1, R19. */
function wanted(asked: Asked, route: Route, store: Store): Intent | Promise<Intent> {
  const { content, headers } = asked.call
  if (content !== null || headers.expect !== undefined || route.content.length > 0) return sent(asked, route, store)
  try {
    return route.parse(asked) //                                           400
  } catch (problem) {
    return admitted(asked, route, store).then(() => Promise.reject(problem))
  }
}

/** What is wanted by a call that has content, or should have. */
async function sent(asked: Asked, route: Route, store: Store): Promise<Intent> {
  if (asked.call.headers.expect !== undefined) await admitted(asked, route, store)
  let given = asked
  try {
    const body = await payload(asked.call, route) //                       400, 413
    if (body !== null) given = { ...asked, body }
    admitBody(body, route) //                                              400
    return route.parse(given) //                                           400, every mistake at once
  } catch (problem) {
    await admitted(given, route, store)
    throw problem
  }
}

async function admitted(asked: Asked, route: Route, store: Store): Promise<void> {
  const target = route.target(asked) //                                    404
  route.admit(asked, target && (await store.execute(target))) //           404, 410, 412, 428
  const key = asked.body && route.recall?.(asked) //                       400
  if (key) route.admitKey(asked, key.claim, await inTurn(key, store, route.resource.settings.idempotency)) // 409
}

/** The version that serves a call, and its path without it. */
export interface Passage {
  readonly edition: Edition
  readonly carried: Carried
  readonly path: string
}

const pathOf = ({ target }: Call): string => {
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}

/** What a call says of its version; where that is not served any more, the way to another one is told. R188, R204. */
function versionIn(call: Call, service: Service, now: number): Named {
  const toward = (label: string, path: string) => successor(service, label, path, now)
  return named(call, { path: pathOf(call), queried: versionsIn(call.target), now, toward }, service.choice)
}

function chosen({ carried, path }: Named, caller: Caller, { choice, editions, quotas }: Service, now: number): Passage {
  const own = carried ?? unnamed(featuresOf(caller, quotas), choice, now)
  return { edition: editions.get(own.label) as Edition, carried: own, path }
}

/** The version that serves a call of a caller, in one step. */
export const passageOf = (call: Call, caller: Caller, service: Service, now: number): Passage =>
  chosen(versionIn(call, service, now), caller, service, now)

/** The same place in the version to move to, where it is there; the way to one that has ended itself goes on to the next. R201. */
function successor(service: Service, label: string, path: string, now: number): string | null {
  const { notices, editions, choice } = service
  const { successor: next = null, names } = notices.get(label) ?? {}
  const edition = next === null || !isReleased(choice, next, now) ? undefined : editions.get(next)
  if (next === null || !edition) return null
  const segment = (own: string, i: number) => (i % 2 === 1 ? (names?.get(own) ?? own) : own)
  const there = names?.size ? path.split('/').map(segment).join('/') : path
  if (isEnded(choice, next, now)) return successor(service, next, there, now)
  if (!leads(edition.tree, there)) return null
  return choice.carriers.includes('path') ? `/${next}${there}` : `${there}?version=${next}`
}

/** Whether a path leads to a place. One with a malformed escape was refused, and its refusal comes here to be labelled. */
function leads(tree: Edition['tree'], path: string): boolean {
  try {
    return locate(tree, path) !== null
  } catch {
    return false
  }
}

/** An answer of the versioned interface, with what is told of the version and of the operation in it. R145, R193, R198. */
function labelled(
  reply: Reply,
  passage: Passage | null,
  { service, world }: House,
  at: Route | Place | null = null,
): Reply {
  const { headers } = reply
  const { choice, settings } = service
  if (passage !== null) {
    const { edition, path } = passage
    const notice = (at && service.going.get(at)) ?? (service.notices.get(edition.label) as Notice)
    const now = dueTime(world)
    const next = () => (notice.successor === null ? null : successor(service, edition.label, path, now))
    retire(headers, notice, next, now)
  }
  const inUrl = passage !== null && passage.carried.prefix + passage.carried.query !== ''
  if (choice.fromFeatures !== null && !inUrl) vary(headers, credentialHeaders(settings.auth))
  if (choice.carriers.includes('header')) vary(headers, ['version'])
  return reply
}

/** The place of a target, or the answer that sends to it. */
export function find({ target }: Call, { edition, path }: Passage, { settings }: Service): Match | Reply {
  const { tree, methods } = edition
  if (!target.startsWith('/')) return { place: bare('*', methods), params: [] } // R11: the service itself
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

export function routeOf({ method }: Call, place: Place, { methods }: Edition, settings: Settings): Route {
  const route = place.methods.get(method)
  if (route) return route
  if (settings.methods.unknown === 405 || methods.split(', ').includes(method)) throw notAllowed(method, place)
  throw new Problem('not-implemented', `${method} is not a method of this service.`) // R13
}
