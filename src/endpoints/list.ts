/** Lists the items of a collection, or those below an owner: GET, HEAD and QUERY. Part 4, list parameters. */
import { hash } from 'node:crypto'
import { closed } from '../auth/allow.ts'
import { invalidQuery, Problem } from '../errors/problem.ts'
import type { Call, World } from '../flow/call.ts'
import { nobody } from '../flow/caller.ts'
import type { Asked, Intent, Query } from '../flow/intent.ts'
import type { Page, Place } from '../flow/outcome.ts'
import type { List, Read } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import { cursorOf } from '../lists/cursor.ts'
import { filterOf } from '../lists/filter.ts'
import { linkHeader, links } from '../lists/links.ts'
import { offerOf } from '../lists/offer.ts'
import { olderRules } from '../lists/older.ts'
import { type Cursors, pageText, showsCursors } from '../lists/page.ts'
import { pairs, pathOf, search as searchOf, wrong } from '../lists/parameters.ts'
import { queries } from '../lists/query.ts'
import { type Rules, rules } from '../lists/rules.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import type { Form } from '../versions/translate.ts'
import { orBroken } from './broken.ts'
import { absent, admitPresent, isAbsent, ownerOf, type Scene } from './item.ts'
import { audible, audiblePages, shown } from './view.ts'

export function list(scene: Scene): Route {
  const { resource } = scene
  const accepted = rulesOf(scene)
  const read = queries(accepted)
  const veiled = veiledColumns(scene.form)
  const owner = (asked: Pick<Asked, 'params'>) => ownerOf(scene, asked.params[0] ?? null)
  return {
    operation: 'list',
    resource,
    rule: ruleFor(resource.access, 'list') as string,
    content: [],
    query: ({ target }, world, { prefix }) => read(target.slice(prefix.length), world),
    target: (asked) => ownerRead(owner(asked), asked),
    parse: (asked) => {
      if (veiled.size > 0 || resource.veiled) admitFields(asked, resource, veiled, scene.challenge)
      const key = { id: '', parent: null, account: null }
      return { ...asked, key, time: 0, conditions: null, document: null, claim: null }
    },
    plan: (intent): List => {
      const asked = intent.query as Query
      const { where, order, window, countTo } = asked
      const places = showsCursors(asked, resource.settings)
      const [collection, parent, time] = [resource.collection.name, owner(intent), intent.world.now()]
      const account = resource.collection.account === null ? null : intent.caller.account
      const { beside } = scene.form
      const wanted = beside.length === 0 ? {} : { beside }
      return { do: 'list', collection, parent, account, time, where, order, window, countTo, places, ...wanted }
    },
    render: (intent, outcome) => {
      if (isAbsent(outcome)) throw absent(scene, outcome)
      const page = outcome as Page
      return orBroken(scene.form.today, intent, page, () => pageReply(scene, intent, page))
    },
    recall: null,
    offer: () => offerOf(accepted),
    admitKey: () => {},
    admit: (_, target) => admitPresent(scene, target),
  }
}

/** What the list accepts, in the names of its version. */
function rulesOf({ resource, resources, view, form }: Scene): Rules {
  const own = rules(resource, resources, view(nobody).major)
  const { today, ask, order } = form
  return ask === null ? own : olderRules(own, rulesOfToday(today), { ask, order, rulesOf: rulesOfToday })
}

const rulesOfToday = (today: Resource): Rules => rules(today, new Map([[today.name, today]]))

/** The columns of fields that only callers with a scope see, with that field and that scope. */
const veiledColumns = ({
  today: { byName, collection },
  names,
}: Form): ReadonlyMap<string, readonly [field: string, scope: string]> =>
  new Map(
    collection.columns.flatMap(({ name, field }) => {
      const top = field.split('.', 1)[0] as string
      const read = byName.get(top)?.read
      return read == null ? [] : [[name, [names(top)[0] ?? field, read]] as const]
    }),
  )

/** What a caller does not see says nothing by where rows stand and which of them are there. R169. */
function admitFields(
  { caller, query }: Pick<Asked, 'caller' | 'query'>,
  { byName, settings: { auth } }: Resource,
  veiled: ReturnType<typeof veiledColumns>,
  challenge: string,
): void {
  const { where, order, given } = query as Query
  const asking = { caller, challenge, auth }
  for (const [name, value] of given) {
    const field = name === 'sort' ? value : (filterOf(name)?.field ?? '')
    const read = byName.get(field.split('.', 1)[0] as string)?.read ?? null
    if (read !== null && !caller.scopes.has(read)) throw closed(field, 'filter or sort by', [read], asking)
  }
  for (const { column } of [...where, ...order]) {
    const [field, scope] = veiled.get(column) ?? []
    if (field !== undefined && scope !== undefined && !caller.scopes.has(scope))
      throw closed(field, 'filter or sort by', [scope], asking)
  }
}

export function ownerRead(owner: List['parent'], { caller, world }: Asked): Read | null {
  if (!owner) return null
  const key = { id: owner.id, parent: null, account: caller.account }
  return { do: 'read', collection: owner.collection, key, time: world.now() }
}

function pageReply(scene: Scene, { call, caller, world, query }: Intent, found: Page): Reply {
  const { resource, form } = scene
  const view = scene.view(caller)
  const read = view.muted.size === 0 ? found.documents : undefined
  const data =
    form.answers === null
      ? found.data
      : form.answers(audible(view, found.data), audiblePages(view, found.beside ?? []), read)
  const page = { ...found, data: shown(view, data) }
  const { settings } = resource
  const { links: where, maxOffset } = settings.list
  const asked = query as Query
  const cursors = cursorsOf(resource, asked, page, world)
  const around = where === 'none' ? null : links(pathOf(call.target), asked, page, cursors, maxOffset)
  const body = pageText(settings, asked, page, cursors, where === 'body' || where === 'both' ? around : null)
  const headers: Record<string, string> = {}
  const link = around && where !== 'body' ? linkHeader(around) : ''
  if (link !== '') headers.Link = link
  if (view.mode !== 'off') headers.ETag = listTag(view.mode, body)
  return { status: 200, headers, body }
}

function cursorsOf({ settings }: Resource, asked: Query, page: Page, world: World): Cursors {
  if (!showsCursors(asked, settings)) return { next: null, prev: null }
  const binding = { list: asked.list, bound: asked.bound, ttl: settings.list.cursor.ttl }
  const to = (place: Place | null, back: boolean) =>
    place ? cursorOf({ place, back, including: page.count === 0 }, binding, world) : null
  const { after, before, first, last } = page
  return { next: after ? to(last, false) : null, prev: before && asked.style === 'cursor' ? to(first, true) : null }
}

/** The tag of a list is made of what it shows. R148. */
function listTag(mode: 'strong' | 'weak', body: string): string {
  const tag = hash('sha1', body, 'base64url').slice(0, 22)
  return mode === 'weak' ? `W/"${tag}"` : `"${tag}"`
}

export const queryType = 'application/x-www-form-urlencoded'

/** The list of GET, asked for by a call whose content stands where the query string would. R15. */
export function search(scene: Scene): Route {
  const route = list(scene)
  return {
    ...route,
    content: [queryType],
    query: () => null,
    parse: (asked) => {
      const call = asGet(asked)
      return route.parse({ ...asked, call, query: route.query(call, asked.world, asked.carried) })
    },
  }
}

const misplaced = wrong(
  'unknown-parameter',
  'version',
  'version is not a parameter of the content; name it in the path, in the query of the URL or in the header.',
)

/** Parameters stand in the content or in the URL, not in both; the version is none of them. */
function asGet({ call, body }: Asked): Call {
  const [form, own] = [String(body?.form ?? ''), searchOf(call.target)]
  if (pairs(form).some(([name]) => name === 'version')) throw invalidQuery([misplaced]) // it is chosen before
  if (pairs(form).length > 0 && pairs(own).some(([name]) => name !== 'version'))
    throw new Problem(
      'invalid-query',
      'Parameters stand in the URL and in the content; write all of them in the content.',
    )
  return { ...call, target: `${pathOf(call.target)}?${[own, form].filter((part) => part !== '').join('&')}` }
}
