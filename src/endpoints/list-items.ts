/** Lists the items of a collection, or those below an owner: GET, HEAD and QUERY. Part 4, list parameters. */

import { hash } from 'node:crypto'
import { restrictedFieldRefusal } from '../auth/allow.ts'
import type { RefusalType } from '../errors/catalogue.ts'
import { invalidQuery, Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Intent, ListQuery, RequestContext } from '../flow/intent.ts'
import type { Page, Position } from '../flow/outcome.ts'
import { columnsOfCondition, type ListRows, type Read } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { nameInSentence } from '../formats/naming.ts'
import { readAlternatives } from '../lists/alternatives.ts'
import { writeCursor } from '../lists/cursor.ts'
import { parseFilterName } from '../lists/filter.ts'
import { linkHeader, pageLinks } from '../lists/links.ts'
import { listQueryReader } from '../lists/list-query.ts'
import { listOffer } from '../lists/offer.ts'
import { type PageCursors, pageText, showsCursors } from '../lists/page-text.ts'
import { parsePairs, queryViolation, queryStringOf as searchOf, targetPath } from '../lists/query-string.ts'
import type { ListParameter } from '../lists/where-parameters.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { rowRuleOf } from '../rules/row-rules.ts'
import { type Embedder, embedderOf, withEmbedded, withPairs } from '../views/embedder.ts'
import type { Pairing } from '../views/paired.ts'
import { seenRows, shownRows, viewNow } from '../views/shown-rows.ts'
import { listRulesOf, restrictedColumns } from '../views/version-lists.ts'
import { orBrokenPage } from './broken-page.ts'
import { describedPage, describedUnchanged, itemConditions, scopeTypes } from './described.ts'
import { absentItem, admitPresent, type EndpointContext, isAbsent, ownerOf } from './item.ts'
import { admitEmbeds, admitSelection, contextOfFields, embeddableBy, selectableIn, withEmbeds } from './read-item.ts'

/** A list of items that are paired with an owner. */
export interface PairedList {
  readonly pairing: Pairing
  readonly owner: (request: Pick<RequestContext, 'params'>) => ListRows['parent']
  /** The plan with the account of the pairs, and with the pairs of its rows. */
  readonly complete: (list: ListRows, intent: Intent) => ListRows
}

export function listItemsRoute(context: EndpointContext, paired: PairedList | null = null): Route {
  const { resource } = context
  const accepted = listRulesOf(context)
  const read = listQueryReader(accepted)
  const admitFilters = filterAdmission(context)
  const embedder = embedderOf(context)
  const { owner, complete } = paired ?? childrenOf(context)
  return {
    ...{ operation: 'list', method: 'GET', at: 'collection', safe: true, resource, content: [] },
    rule: ruleFor(resource.access, 'list') as string,
    rowRule: rowRuleOf(context.representation.today, 'list'),
    isPersonal: context.isPersonal,
    query: ({ target }, world, { inPath }) => read(target.slice(inPath.length), world),
    target: (request) => ({
      read: readOfOwner(owner(request), request),
      admit: (current) => admitPresent(context, current),
    }),
    parse: (request) => {
      admitFilters(request)
      if (resource.hasScopedFields)
        admitSelection((request.query as ListQuery).fields, request.caller, resource, context.challenge)
      admitEmbeds(embedder, request)
      const key = { id: '', parent: null, account: null }
      return { ...request, key, time: 0, document: null, claim: null }
    },
    plan: (intent) => complete(withEmbeds(planList(context, intent, owner(intent)), embedder, intent), intent),
    render: (intent, outcome) => {
      if (isAbsent(outcome)) throw absentItem(context, outcome)
      const page = outcome as Page
      const cut = contextOfFields(context, (intent.query as ListQuery).fields)
      const parts = { embedder, paired }
      return orBrokenPage(context.representation.today, intent, page, () => pageReply(cut, intent, page, parts))
    },
    offer: () => listOffer(accepted),
    ...selectableIn(resource),
    ...embeddableBy(embedder),
    claims: null,
    about: listDescription(context),
  }
}

/** A list of all items, or of the children of an owner. */
const childrenOf = (context: EndpointContext): Omit<PairedList, 'pairing'> => ({
  owner: ({ params }) => ownerOf(context, params[0] ?? null),
  complete: (list) => list,
})

function listDescription(context: EndpointContext): OperationDescription {
  const { resource } = context
  const { name, settings, declaration } = resource
  return {
    id: 'list',
    summary: (below) => `List ${nameInSentence(name)}${below}`,
    notes: [`At most ${settings.list.maxFilters} filters. Default order: ${(declaration.order ?? ['id']).join(', ')}.`],
    body: null,
    headers: [...itemConditions, 'modifiedSince'],
    answers: [describedPage(resource), describedUnchanged(resource)],
    refusals: [...listRefusals(context), 'precondition-failed'],
  }
}

/** The refusals of a list. An older version may be unable to sort by a field that has moved to another resource. */
const listRefusals = ({ resource, representation }: EndpointContext): readonly RefusalType[] => [
  ...scopeTypes(resource, ({ read }) => read !== null),
  ...(representation.joined.length > 0 ? ['not-implemented'] : []),
]

function planList({ resource, representation }: EndpointContext, intent: Intent, parent: ListRows['parent']): ListRows {
  const query = intent.query as ListQuery
  const { where, order, prepared, window, countTo } = query
  const withPositions = showsCursors(query, resource.settings)
  const [collection, time] = [resource.collection.name, intent.world.now()]
  const account = resource.collection.account === null ? null : intent.caller.account
  const { joined } = representation
  const list: ListRows = {
    do: 'list',
    collection,
    parent,
    account,
    time,
    where,
    order,
    prepared,
    window,
    countTo,
    withPositions,
  }
  return joined.length === 0 ? list : { ...list, joined }
}

/** Makes the check of the filters and the sort of a request. */
export function filterAdmission({ resource, representation, challenge }: EndpointContext) {
  const restricted = restrictedColumns(representation)
  if (restricted.size === 0 && !resource.hasScopedFields) return () => {}
  return (request: Pick<RequestContext, 'caller' | 'query'>): void =>
    admitRestrictedFields(request, resource, restricted, challenge)
}

/** A caller may not filter or sort by a field it cannot read: the result would reveal its values. R169. */
function admitRestrictedFields(
  { caller, query }: Pick<RequestContext, 'caller' | 'query'>,
  { byName, settings: { auth, list } }: Resource,
  restricted: ReturnType<typeof restrictedColumns>,
  challenge: string,
): void {
  const { where, order, parameters } = query as ListQuery
  const asking = { caller, challenge, auth }
  const named = parameters.flatMap((one) => fieldsOfParameter(one, list.or).map((field) => [field, one[0]] as const))
  const refuse = (field: string, scope: string) => {
    const name = named.find(([one]) => one === field)?.[1] ?? field
    return restrictedFieldRefusal(field, 'filter or sort by', [scope], asking, { in: 'query', name })
  }
  for (const [field] of named) {
    const read = byName.get(field.split('.', 1)[0] as string)?.read ?? null
    if (read !== null && !caller.scopes.has(read)) throw refuse(field, read)
  }
  for (const column of [...where.flatMap(columnsOfCondition), ...order.map(({ column }) => column)]) {
    const [field, scope] = restricted.get(column) ?? []
    if (field !== undefined && scope !== undefined && !caller.scopes.has(scope)) throw refuse(field, scope)
  }
}

/** The fields that a parameter filters or sorts by. */
function fieldsOfParameter([name, value]: ListParameter, hasOr: boolean): string[] {
  if (name === 'sort') return [value]
  const names = name === 'or' && hasOr ? readAlternatives(value) : [[name] as const]
  return typeof names === 'string' ? [] : names.map(([one]) => parseFilterName(one)?.field ?? '')
}

export function readOfOwner(owner: ListRows['parent'], { caller, world }: RequestContext): Read | null {
  if (!owner) return null
  const key = { id: owner.id, parent: null, account: caller.account }
  return { do: 'read', collection: owner.collection, key, time: world.now() }
}

type PageParts = { readonly embedder: Embedder; readonly paired: PairedList | null }

function pageReply(context: EndpointContext, intent: Intent, rows: Page, parts: PageParts): Reply {
  const { call, caller, world, query } = intent
  const { resource } = context
  const view = viewNow(context, caller, world)
  const list = query as ListQuery
  const { embed } = list
  const isPlain = (rows.embedded ?? []).length === 0
  const data = isPlain ? shownItems(context, intent, rows) : itemsWithEmbedded(context, intent, rows, parts)
  const page = { ...rows, data }
  const { settings } = resource
  const { basePath } = settings.server
  const { links: where, maxOffset } = settings.list
  const cursors = cursorsAround(resource, list, page, world)
  const path = basePath + targetPath(call.target)
  const links = where === 'none' ? null : pageLinks(path, list, page, cursors, maxOffset)
  const body = pageText(settings, list, page, cursors, where === 'body' || where === 'both' ? links : null)
  const headers: Record<string, string> = {}
  const link = links && where !== 'body' ? linkHeader(links) : ''
  if (link !== '') headers.Link = link
  if (view.mode !== 'off') headers.ETag = listTag(view.mode, body, world)
  return { status: 200, headers, body, ...(embed && { embedded: parts.embedder.reach(embed) }) }
}

/** The items of a page as the version shows them to the caller, joined by commas. */
export function shownItems(context: EndpointContext, { caller, carried, world }: Intent, page: Page): string {
  const view = viewNow(context, caller, world)
  if (context.linker) return shownRows(context, view, carried, page, page.documents).join(',')
  return seenRows(context, view, carried, page, page.documents)
}

/** As `shownItems`, with embedded items and the fields of pairs. R232. */
function itemsWithEmbedded(
  context: EndpointContext,
  intent: Intent,
  page: Page,
  { embedder, paired }: PageParts,
): string {
  const { caller, carried, world, query } = intent
  const rows = shownRows(context, viewNow(context, caller, world), carried, page, page.documents)
  const { embed } = query as ListQuery
  const embedded = page.embedded ?? []
  const members = embed && embedder.texts(embed, intent, embedded, rows.length)
  const items = members ? rows.map((row, i) => withEmbedded(row, members[i] as string)) : rows
  const pairs = embedded[embed?.size ?? 0]
  return (paired && pairs ? withPairs(items, paired.pairing, intent, pairs) : items).join(',')
}

function cursorsAround({ settings }: Resource, query: ListQuery, page: Page, world: ServiceWorld): PageCursors {
  if (!showsCursors(query, settings)) return { next: null, prev: null }
  const binding = { list: query.list, bound: query.bound, ttl: settings.list.cursor.ttl }
  const to = (place: Position | null, back: boolean) =>
    place ? writeCursor({ position: place, back, including: page.count === 0 }, binding, world) : null
  const { hasAfter, hasBefore, first, last } = page
  return {
    next: hasAfter ? to(last, false) : null,
    prev: hasBefore && query.style === 'cursor' ? to(first, true) : null,
  }
}

/** An answer whose tag, if the resource has tags, is a digest of its body. */
export function digestedReply({ settings }: Resource, world: ServiceWorld, body: string, type?: string): Reply {
  const { mode } = settings.etag
  const headers = { ...(type && { 'Content-Type': type }), ...(mode !== 'off' && { ETag: listTag(mode, body, world) }) }
  return { status: 200, headers, body }
}

/** The tag of a list is a digest of its body, and of the last restore. R148. */
export function listTag(
  mode: 'strong' | 'weak',
  body: string,
  { restoredAt }: Pick<ServiceWorld, 'restoredAt'>,
): string {
  const tag = hash('sha1', restoredAt === 0 ? body : `${restoredAt} ${body}`, 'base64url').slice(0, 22)
  return mode === 'weak' ? `W/"${tag}"` : `"${tag}"`
}

const queryMediaType = 'application/x-www-form-urlencoded'

/** QUERY: the same list as GET, with the parameters in the content. R15. */
export function queryItemsRoute(context: EndpointContext, route = listItemsRoute(context)): Route {
  const { about } = route
  return {
    ...route,
    method: 'QUERY',
    content: [queryMediaType],
    about: {
      ...about,
      id: 'query',
      summary: (below) => `${about.summary(below)}, with the query as a form`,
      body: 'form',
    },
    query: () => null,
    parse: (request) => {
      const call = asGetCall(request)
      return route.parse({ ...request, call, query: route.query(call, request.world, request.carried) })
    },
  }
}

const misplacedVersion = queryViolation(
  'unknown-parameter',
  'version',
  'version is not a parameter of the content; name it in the path, in the query of the URL or in the header.',
)

/** Makes the equivalent GET. Parameters are in the content or in the URL, not in both; `version` must be in the URL. */
function asGetCall({ call, body }: RequestContext): Call {
  const [form, own] = [String(body?.form ?? ''), searchOf(call.target)]
  if (parsePairs(form).some(([name]) => name === 'version')) throw invalidQuery([misplacedVersion]) // already chosen
  if (parsePairs(form).length > 0 && parsePairs(own).some(([name]) => name !== 'version'))
    throw new Problem(
      'invalid-query',
      'Parameters are given in the URL and in the content; send all of them in the content.',
    )
  return { ...call, target: `${targetPath(call.target)}?${[own, form].filter((part) => part !== '').join('&')}` }
}
