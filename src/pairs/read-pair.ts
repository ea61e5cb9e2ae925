/** Reads a pair: GET and HEAD; its answer is the item of the other side, with the fields of the pair. Part 4, methods. */
import { absenceTypes, describedItem, describedUnchanged, itemConditions, tagHeaders } from '../endpoints/described.ts'
import { absentItem, type EndpointContext, missingItem } from '../endpoints/item.ts'
import { Problem } from '../errors/problem.ts'
import type { AbsentRow, EmbeddedRows, FoundRow, ReadResult, RowKey } from '../flow/found-row.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import type { Read, RowEmbed } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { DescribedAnswer, Route } from '../flow/route.ts'
import { titleInSentence, withArticle } from '../formats/naming.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { ruleFor } from '../resources/declaration.ts'
import { pairFields, pairMembers, withPair } from '../views/paired.ts'
import { shownRows, viewNow } from '../views/shown-rows.ts'
import { embeddedTag, etag, tagKeyOf } from '../views/tag.ts'

/** A URL of pairs: below an item of the side `from`, the item of the side `to`. */
export interface PairPath {
  readonly pair: EndpointContext
  readonly from: EndpointContext
  readonly to: EndpointContext
  /** Whether `from` is the first side, whose id is the parent's in the key of a pair. */
  readonly isFirst: boolean
  /** The parameters of the path, those of `from` and of `to`. */
  readonly fields: readonly [string, string]
}

type PairRequest = Pick<RequestContext, 'params' | 'caller' | 'world'>

/** The key of a pair. */
export function pairKey({ isFirst }: PairPath, { params, caller }: Pick<PairRequest, 'params' | 'caller'>): RowKey {
  const [own, other] = params as [string, string]
  const { account } = caller
  return isFirst ? { parent: own, id: other, account } : { parent: other, id: own, account }
}

/** Refuses ids that cannot exist without a query. R9. */
export function admitIds({ from, to }: PairPath, { params }: Pick<PairRequest, 'params'>): void {
  const [own, other] = params as [string, string]
  if (!from.resource.isId(own)) throw missingItem(from.resource, own)
  if (!to.resource.isId(other)) throw missingItem(to.resource, other)
}

export const pairRead = (path: PairPath, request: PairRequest): Read => ({
  do: 'read',
  collection: path.pair.resource.collection.name,
  key: pairKey(path, request),
  time: request.world.now(),
})

/** Reads the item of the path; an id that cannot exist is refused without a query. R9. */
export function readOfSide({ from: { resource } }: PairPath, { params, caller, world }: PairRequest): Read {
  const id = params[0] as string
  if (!resource.isId(id)) throw missingItem(resource, id)
  const key = { id, parent: null, account: caller.account }
  return { do: 'read', collection: resource.collection.name, key, time: world.now() }
}

/** The item of the other side, which is read with the pair. */
export const otherRow = ({ to }: PairPath, { params, caller }: Pick<PairRequest, 'params' | 'caller'>): RowEmbed => ({
  collection: to.resource.collection.name,
  account: to.resource.collection.account === null ? null : caller.account,
  joined: to.representation.joined,
  ids: () => [params[1] as string],
  embeds: [],
})

/** Whether the item of the path itself is absent, not only its pair. */
export const isOwnAbsence = ({ from, isFirst }: PairPath, { collection }: AbsentRow): boolean =>
  isFirst && collection === from.resource.collection.name

/** The refusal of a pair that does not exist. */
function absentPair(path: PairPath, { params }: Pick<PairRequest, 'params'>, current: AbsentRow | null): Problem {
  const { pair, from, to } = path
  if (current && isOwnAbsence(path, current)) return absentItem(pair, current)
  const [own, other] = params
  const message = `${from.resource.title} ${own} and ${titleInSentence(to.resource.title)} ${other} are not linked.`
  return new Problem(pair.resource.settings.missing.status === 410 ? 'gone' : 'resource-not-found', message)
}

export function readPairRoute(path: PairPath): Route {
  const { pair } = path
  const { resource } = pair
  return {
    ...{ operation: 'read', method: 'GET', at: 'item', safe: true, resource, content: [], claims: null },
    rule: ruleFor(resource.access, 'read') as string,
    query: (call) => refuseParameters(call, resource.settings),
    target: (request) => {
      admitIds(path, request)
      return {
        read: pairRead(path, request),
        admit: (current) => {
          if (current && current.is !== 'found') throw absentPair(path, request, current)
        },
      }
    },
    parse: (request) => {
      admitIds(path, request)
      return { ...request, key: pairKey(path, request), time: 0, document: null, claim: null }
    },
    plan: (intent) => ({ ...pairRead(path, intent), embeds: [otherRow(path, intent)] }),
    render: (intent, outcome) => {
      const current = outcome as ReadResult
      if (current.is !== 'found') throw absentPair(path, intent, current)
      return pairReply(path, intent, 200, current)
    },
    about: {
      id: 'get',
      summary: () =>
        `Get ${withArticle(path.to.resource.title)} that is linked to ${withArticle(path.from.resource.title)}`,
      notes: [],
      body: null,
      ...answeredBy(path),
      headers: itemConditions,
      answers: [describedPair(path, 200, 'They are linked.'), describedUnchanged(resource)],
      refusals: [...absenceTypes(resource), ...absenceTypes(path.from.resource), 'precondition-failed'],
    },
  }
}

/** The content of answers of pairs: the item of the other side, with the fields of the pair. */
export const answeredBy = ({ pair, to }: PairPath) => ({
  answered: to.resource,
  ...(pairFields(pair.resource).length > 0 && { paired: pair.resource }),
})

/** An answer with the other item. It has no Last-Modified, as that of the pair is older than that of the item may be. */
export const describedPair = (
  { pair: { resource } }: PairPath,
  status: number,
  says: string,
  headers: readonly string[] = [],
): DescribedAnswer => ({ ...describedItem(status, says, resource), headers: [...tagHeaders(resource), ...headers] })

/** The answer with the item of the other side; the tag is that of the pair and a digest of the item. */
export function pairReply(
  path: PairPath,
  intent: Intent,
  status: number,
  row: Pick<FoundRow, 'doc' | 'revision' | 'embedded'>,
  refuse = () => absentPair(path, intent, null),
): Reply {
  const { pair, to } = path
  const { caller, carried, world } = intent
  const [embedded] = (row.embedded ?? []) as readonly EmbeddedRows[]
  const [item] = embedded ? shownRows(to, viewNow(to, caller, world), carried, embedded) : []
  if (item === undefined) throw refuse() // it was deleted while pairs were not declared
  const [member = ''] = pairMembers({ shown: pair, fields: pairFields(pair.resource) }, intent, { data: row.doc })
  const body = withPair(item, member)
  const view = viewNow(pair, caller, world)
  const key = tagKeyOf(world)
  const headers: Record<string, string> = {}
  if (view.mode !== 'off') headers.ETag = embeddedTag(etag(view, row, key), body, key)
  const { access, collection } = to.resource
  const isPersonal = ruleFor(access, 'read') !== 'public' || to.isPersonal || collection.account !== null
  return { status, headers, body, embedded: { resources: [to.resource.name], isPersonal } }
}
