/** Pair routes: the URLs of pairs below both of their sides, `/orders/{orderId}/tags/{tagId}` and the lists above them. Part 4. */
import { allowAccount, otherRowsRefusal } from '../auth/allow.ts'
import { absenceTypes } from '../endpoints/described.ts'
import { type EndpointContext, missingItem } from '../endpoints/item.ts'
import { listItemsRoute, type PairedList, queryItemsRoute } from '../endpoints/list-items.ts'
import { permits } from '../flow/caller.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { Route } from '../flow/route.ts'
import { nameInSentence, titleInSentence, withArticle } from '../formats/naming.ts'
import { type AccessRule, ruleFor } from '../resources/declaration.ts'
import { pairSides } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import { pairEmbeds } from '../views/embedder.ts'
import { pairingFrom } from '../views/paired.ts'
import { type PairPath, readPairRoute } from './read-pair.ts'
import { linkPairRoute, unlinkPairRoute } from './write-pair.ts'

/** A kind of URL and its routes. */
type RoutesAt = readonly [template: string, routes: readonly Route[]]

/** The routes of pairs by their paths; null for a resource that is not one of pairs. */
export function pairRoutes(context: EndpointContext): readonly RoutesAt[] | null {
  const sides = pairSides(context.resource)
  if (!sides) return null
  const [first, second] = sides.map((name) => context.contexts.get(name)) as [EndpointContext, EndpointContext]
  const fields = [context.resource.parent?.field, context.resource.key] as [string, string]
  return [
    ...routesBelow({ pair: context, from: first, to: second, isFirst: true, fields }),
    ...routesBelow({ pair: context, from: second, to: first, isFirst: false, fields: [fields[1], fields[0]] }),
  ]
}

function routesBelow(path: PairPath): RoutesAt[] {
  const { from, to, fields } = path
  const list = `/${from.resource.name}/{${fields[0]}}/${to.resource.name}`
  const routes = [readPairRoute(path), linkPairRoute(path), unlinkPairRoute(path)]
  const guarded = routes.map((route) => guardedRoute(path, route))
  return [
    [list, listRoutes(path).map((route) => guardedRoute(path, route))],
    [`${list}/{${fields[1]}}`, guarded],
  ]
}

/** The items of the other side that are paired with an item of the path. */
function pairedList({ pair, from, to }: PairPath): PairedList {
  const pairing = pairingFrom(from.resource, pair)
  const isOwned = pair.resource.collection.account !== null
  return {
    pairing,
    owner: ({ params: [id = ''] }) => {
      if (!from.resource.isId(id)) throw missingItem(from.resource, id)
      return { collection: from.representation.today.name, id, pairs: pairing.rows }
    },
    complete: (list, intent) => {
      const own = isOwned ? { ...list, account: intent.caller.account } : list
      const more = intent.query?.fields ? [] : pairEmbeds(pairing, to, intent)
      return more.length === 0 ? own : { ...own, embeds: [...(list.embeds ?? []), ...more] }
    },
  }
}

/** The list of the other side, with its parameters. */
function listRoutes(path: PairPath): Route[] {
  const { pair, from, to } = path
  const paired = pairedList(path)
  const list = listItemsRoute(to, paired)
  const { access, collection, hasScopedFields } = pair.resource
  const isOthers = ruleFor(to.resource.access, 'list') !== 'public' || collection.account !== null || hasScopedFields
  const base: Route = {
    ...list,
    rule: ruleFor(access, 'read') as string,
    otherCollections: [
      ...to.representation.joined.map((one) => one.collection),
      ...[collection.name, from.resource.collection.name],
    ],
    render: (intent, outcome) => {
      const reply = list.render(intent, outcome)
      const { resources = [], isPersonal = false } = reply.embedded ?? {}
      const embedded = { resources: [...resources, pair.resource.name], isPersonal: isPersonal || isOthers }
      return { ...reply, embedded }
    },
    about: {
      ...list.about,
      ...(paired.pairing.fields.length > 0 && { paired: pair.resource }),
      summary: () => `List the ${nameInSentence(to.resource.name)} of ${withArticle(from.resource.title)}`,
    },
  }
  const all = to.resource.settings.methods.query ? [base, queryItemsRoute(to, base)] : [base]
  return all.map((route) => {
    const refusals = [...route.about.refusals, ...absenceTypes(from.resource)]
    return { ...route, about: { ...route.about, refusals } }
  })
}

/** A route that also requires the rules of both sides, as its answers reveal whether these items exist. */
function guardedRoute({ pair, from, to, fields }: PairPath, route: Route): Route {
  const needed = [from, to].map(({ resource }) => [resource, ruleFor(resource.access, 'read')] as const)
  const { account } = pair.resource.collection
  return {
    ...route,
    pathItems: { [fields[0]]: from.resource, [fields[1]]: to.resource },
    furtherRules: [
      ...(route.furtherRules ?? []),
      ...needed.map(([, rule]) => rule),
      ...(account !== null && route.resource.collection.account === null ? [undefined] : []),
    ],
    target: (request) => {
      admitReader(pair, request, needed)
      return route.target(request)
    },
    parse: (request) => {
      admitReader(pair, request, needed)
      return route.parse(request)
    },
    render: (intent, outcome) => {
      const reply = route.render(intent, outcome)
      const isPersonal = needed.some(([, rule]) => rule !== 'public')
      return reply.embedded && isPersonal ? { ...reply, embedded: { ...reply.embedded, isPersonal } } : reply
    },
    about: {
      ...route.about,
      scope: `${from.resource.name}.${to.resource.name}`,
      notes: [...route.about.notes, sidesNote(from.resource, to.resource)],
    },
  }
}

const sidesNote = (from: Resource, to: Resource): string =>
  `The caller has to see the ${titleInSentence(from.title)} and the ${titleInSentence(to.title)}.`

function admitReader(
  { challenge, resource }: EndpointContext,
  { caller }: Pick<RequestContext, 'caller'>,
  needed: readonly (readonly [resource: Resource, rule: AccessRule | undefined])[],
): void {
  const { auth } = resource.settings
  for (const [{ name }, rule] of needed)
    if (!permits(caller, rule)) throw otherRowsRefusal(`read ${name}`, rule, { caller, challenge, auth })
  allowAccount(caller, resource)
}
