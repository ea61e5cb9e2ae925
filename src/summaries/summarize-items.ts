/** Summarizes the items of a list: GET and HEAD of a summary. Part 4, list parameters. R236. */

import { restrictedFieldRefusal } from '../auth/allow.ts'
import type { ServedSummary } from '../changes/older-summaries.ts'
import { describedUnchanged, itemConditions, scopeTypes, tagHeaders } from '../endpoints/described.ts'
import { absentItem, admitPresent, type EndpointContext, isAbsent, ownerOf } from '../endpoints/item.ts'
import { digestedReply, filterAdmission, readOfOwner } from '../endpoints/list-items.ts'
import { Problem } from '../errors/problem.ts'
import { mostGroups, summarySegment } from '../fields/summary.ts'
import type { Intent, ListQuery, RequestContext } from '../flow/intent.ts'
import type { RowGroups } from '../flow/outcome.ts'
import type { ListRows } from '../flow/plan.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { nameInSentence } from '../formats/naming.ts'
import { summaryOffer, summaryQueryReader } from '../lists/summary-query.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { rowRuleOf } from '../rules/row-rules.ts'
import { listRulesOf } from '../views/version-lists.ts'
import { describedMembers } from './described-members.ts'
import { shownGroups } from './shown-groups.ts'
import { summaryColumns } from './summary-columns.ts'

export const summaryRoutes = (context: EndpointContext): Route[] =>
  context.resource.methods.includes('list') ? context.summaries.map((served) => summaryRoute(context, served)) : []

function summaryRoute(context: EndpointContext, served: ServedSummary): Route {
  const { resource, representation } = context
  const { today } = representation
  const columns = summaryColumns(today, served.today)
  const accepted = listRulesOf(context)
  const read = summaryQueryReader(accepted, columns.order, mostGroups)
  const admitFilters = filterAdmission(context)
  const needed = neededScopes(context, served)
  const owner = (request: Pick<RequestContext, 'params'>) => ownerOf(context, request.params[0] ?? null)
  const show = shownGroups(served, columns, resource.rules)
  return {
    operation: summarySegment,
    method: 'GET',
    at: `collection/${summarySegment}/${served.own.segment}`,
    safe: true,
    resource,
    rule: ruleFor(resource.access, 'list') as string,
    rowRule: rowRuleOf(today, 'list'),
    content: [],
    query: ({ target }) => read(target),
    target: (request) => ({ read: readOfOwner(owner(request), request), admit: (row) => admitPresent(context, row) }),
    parse: (request) => {
      admitScopes(request, needed, resource, context.challenge)
      admitFilters(request)
      return { ...request, key: { id: '', parent: null, account: null }, time: 0, document: null, claim: null }
    },
    plan: (intent) => ({ ...planSummary(today, intent, owner(intent)), summary: columns.summary }),
    render: (intent, outcome) => {
      if (isAbsent(outcome)) throw absentItem(context, outcome)
      const { groups } = outcome as RowGroups
      if (groups.length > mostGroups) throw tooManyGroups(served)
      return digestedReply(resource, intent.world, JSON.stringify({ data: show(groups) }))
    },
    offer: () => summaryOffer(accepted),
    claims: null,
    about: summaryDescription(context, served),
  }
}

function planSummary(today: Resource, { caller, query, world }: Intent, parent: ListRows['parent']): ListRows {
  const { where, order, prepared, window } = query as ListQuery
  return {
    ...{ do: 'list', collection: today.name, parent, time: world.now() },
    account: today.collection.account === null ? null : caller.account,
    ...{ where, order, prepared, window, countTo: null, withPositions: false },
  }
}

/** A caller may not summarize by a field that it cannot read: the groups would reveal its values. R169. */
function admitScopes(
  { caller }: RequestContext,
  needed: readonly (readonly [field: string, scope: string])[],
  { settings: { auth } }: Resource,
  challenge: string,
): void {
  const missing = needed.find(([, scope]) => !caller.scopes.has(scope))
  if (!missing) return
  const [field, scope] = missing
  throw restrictedFieldRefusal(field, 'summarize', [scope], { caller, challenge, auth })
}

/** The fields of a summary that need a scope, in the version or now. */
function neededScopes(
  { resource, representation: { today } }: EndpointContext,
  { own, today: newest }: ServedSummary,
): [field: string, scope: string][] {
  const paths = [...newest.groups, ...newest.values].map(({ path }) => path)
  return [...own.groups, ...own.values].flatMap(({ path }, i) =>
    [resource.byName.get(topOf(path)), today.byName.get(topOf(paths[i] as string))].flatMap((member) =>
      member?.read ? [[path, member.read] as [string, string]] : [],
    ),
  )
}

const topOf = (path: string): string => path.split('.', 1)[0] as string

const tooManyGroups = ({ own: { groups } }: ServedSummary): Problem =>
  new Problem(
    'invalid-query',
    `The summary has more than ${mostGroups} groups by ${groups.map(({ member }) => member).join(' and ')}. Filter it, so that it has fewer.`,
  )

function summaryDescription({ resource }: EndpointContext, { own }: ServedSummary): OperationDescription {
  const { name } = resource
  const by = own.groups.map(({ member }) => member).join(' and ')
  const headers = tagHeaders(resource)
  return {
    id: `${own.segment}-summary`,
    summary: (below) => `Summarize ${nameInSentence(name)}${below}${by === '' ? '' : ` by ${by}`}`,
    notes: [
      `Only the items that match the filters count. More than ${mostGroups} groups are refused with 400.`,
      'The id of a group is made of its values.',
    ],
    ...{ body: null, headers: itemConditions },
    summarized: describedMembers(own),
    answers: [
      { status: 200, says: 'The groups, in the order of their fields.', body: 'summary', headers },
      { ...describedUnchanged(resource), headers },
    ],
    refusals: [...scopeTypes(resource, ({ read }) => read !== null), 'precondition-failed'],
  }
}
