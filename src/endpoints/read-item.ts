/** Reads an item: GET and HEAD. Part 4, methods. */

import { restrictedFieldRefusal } from '../auth/allow.ts'
import type { Caller } from '../flow/caller.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { EmbedTree, FieldSelection, Intent, RequestContext } from '../flow/intent.ts'
import type { ListRows, Read } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
import { itemQueryReader, selectableFields } from '../lists/field-selection.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { rowRuleOf } from '../rules/row-rules.ts'
import { type Embedder, embedderOf, withEmbedded } from '../views/embedder.ts'
import { embeddedTag, tagKeyOf } from '../views/tag.ts'
import { viewOfFields } from '../views/view.ts'
import { absenceTypes, describedItem, describedUnchanged, itemConditions, scopeTypes } from './described.ts'
import { admitPresent, type EndpointContext, itemKey, itemRead, itemReply } from './item.ts'
import { presentItem } from './present-item.ts'

export function readItemRoute(context: EndpointContext): Route {
  const { resource } = context
  const readQuery = itemQueryReader(resource, context.resources)
  const selected = ({ query }: Pick<RequestContext, 'query'>) => query?.fields ?? null
  const embedder = embedderOf(context)
  return {
    operation: 'read',
    method: 'GET',
    at: 'item',
    safe: true,
    resource,
    rule: ruleFor(resource.access, 'read') as string,
    rowRule: rowRuleOf(context.representation.today, 'read'),
    isPersonal: context.isPersonal,
    content: [],
    query: ({ target }) => readQuery(target),
    target: (request) => ({ read: itemRead(context, request), admit: (current) => admitPresent(context, current) }),
    parse: (request) => {
      admitSelection(selected(request), request.caller, resource, context.challenge)
      admitEmbeds(embedder, request)
      return { ...request, key: itemKey(context, request), time: 0, document: null, claim: null }
    },
    plan: (intent) => withEmbeds(itemRead(context, intent), embedder, intent),
    render: (intent, outcome) => {
      const row = presentItem(context, intent, outcome as ReadResult)
      const reply = itemReply(contextOfFields(context, selected(intent)), intent, 200, row)
      const embed = intent.query?.embed
      return embed ? replyWithEmbedded(reply, embedder, { embed, intent, row }) : reply
    },
    claims: null,
    ...selectableIn(resource),
    ...embeddableBy(embedder),
    about: readDescription(resource),
  }
}

/** A caller may not select a field that it cannot read: leaving it out would look as if it had been selected. R169. */
export function admitSelection(
  fields: FieldSelection | null,
  caller: Caller,
  { byName, settings: { auth } }: Resource,
  challenge: string,
): void {
  for (const name of fields?.names ?? []) {
    const read = byName.get(name.split('.', 1)[0] as string)?.read ?? null
    if (read !== null && !caller.scopes.has(read))
      throw restrictedFieldRefusal(name, 'read', [read], { caller, challenge, auth }, { in: 'query', name: 'fields' })
  }
}

/** Refuses callers that may not read what they embed. R169. */
export function admitEmbeds({ admit }: Embedder, { query, caller }: Pick<RequestContext, 'query' | 'caller'>): void {
  if (query?.embed) admit(query.embed, caller)
}

/** Adds the rows that a request embeds to its plan. */
export const withEmbeds = <P extends Read | ListRows>(read: P, { plan }: Embedder, intent: Intent): P =>
  intent.query?.embed ? { ...read, embeds: plan(intent.query.embed, intent) } : read

export const embeddableBy = ({ names, collections, rules }: Embedder): Pick<Route, 'embeds' | 'furtherRules'> =>
  names.length === 0 ? {} : { embeds: { names, collections }, furtherRules: rules }

/** The answer with `_embedded`. It has no Last-Modified, because no date records when a row has left an embedded list. R130. */
function replyWithEmbedded(
  { status, body, headers: { 'Last-Modified': _, ...headers } }: Reply,
  { texts, reach }: Embedder,
  { embed, intent, row }: { readonly embed: EmbedTree; readonly intent: Intent; readonly row: FoundRow },
): Reply {
  const [members = ''] = texts(embed, intent, row.embedded ?? [], 1)
  const { ETag } = headers
  if (ETag !== undefined) headers.ETag = embeddedTag(ETag, members, tagKeyOf(intent.world))
  return { status, headers, body: withEmbedded(body as string, members), embedded: reach(embed) }
}

export const selectableIn = (resource: Resource): Pick<Route, 'fields'> =>
  resource.settings.list.fields ? { fields: selectableFields(resource) } : {}

/** The context for an answer with the selected fields alone, which has no links. R233. */
export const contextOfFields = (context: EndpointContext, fields: FieldSelection | null): EndpointContext =>
  fields === null ? context : { ...context, linker: null, view: (caller) => viewOfFields(context.view(caller), fields) }

const readDescription = (resource: Resource): OperationDescription => ({
  id: 'get',
  summary: () => `Get ${withArticle(resource.title)}`,
  notes: [],
  body: null,
  headers: [...itemConditions, 'modifiedSince'],
  answers: [describedItem(200, `${resource.title}.`, resource), describedUnchanged(resource)],
  refusals: [
    ...absenceTypes(resource),
    ...(resource.settings.list.fields ? scopeTypes(resource, ({ read }) => read !== null) : []),
    'precondition-failed',
  ],
})
