/** Revision routes: GET of the revisions of an item, and of one of them. R237. */
import { otherRowsRefusal } from '../auth/allow.ts'
import { ConversionError } from '../changes/conversion-error.ts'
import { brokenPageProblem } from '../endpoints/broken-page.ts'
import { mergePatchType } from '../endpoints/content-negotiation.ts'
import { absenceTypes, describedUnchanged, itemConditions, tagHeaders } from '../endpoints/described.ts'
import { absentItem, type EndpointContext, isAbsent, itemKey, mayRead, ownerOf } from '../endpoints/item.ts'
import { digestedReply } from '../endpoints/list-items.ts'
import { invalidQuery, Problem } from '../errors/problem.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { Intent, RequestContext, RevisionQuery } from '../flow/intent.ts'
import type { Outcome, RevisionPage, StoredRevision } from '../flow/outcome.ts'
import type { ReadRevisions } from '../flow/plan.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
import { readCursor, writeCursor } from '../lists/cursor.ts'
import { forwardLinks } from '../lists/links.ts'
import { cursorInformation } from '../lists/page-text.ts'
import { namedParameters, queryViolation, targetPath } from '../lists/query-string.ts'
import { cursorFaultMessages, readPageSize } from '../lists/window.ts'
import { ruleFor } from '../resources/declaration.ts'
import { revisionSegment as segment } from '../resources/own-operations.ts'
import { revisionActions, revisionView } from './revision-view.ts'

export function revisionRoutes(context: EndpointContext): Route[] {
  const { history } = context.resource.declaration
  if (!history) return []
  let names: ReadonlyMap<string, string> | undefined
  const viewFor = (request: Pick<RequestContext, 'caller' | 'world'>) => {
    names ??= revisionActions(context)
    return revisionView(context, names, request)
  }
  return [listRoute(context, history.read, viewFor), readRoute(context, history.read, viewFor)]
}

type ViewFor = (request: Pick<RequestContext, 'caller' | 'world'>) => ReturnType<typeof revisionView>

/** The parts that both routes share. Revisions outlive their item, so no row has to exist. */
function routeOf(
  context: EndpointContext,
  rule: string,
): Omit<Route, 'at' | 'operation' | 'parse' | 'plan' | 'render' | 'about'> {
  const { resource } = context
  return {
    ...{ method: 'GET', safe: true, resource, rule, content: [], claims: null },
    query: () => null,
    target: () => ({ read: null, admit: () => {} }),
    furtherRules: [ruleFor(resource.access, 'read')],
  }
}

/**
 * Refuses callers that may not read the items. During a rolling upgrade it refuses every caller, as nodes of the former declaration
 * write no revisions.
 */
function admit({ resource, representation, challenge }: EndpointContext, { caller, world }: RequestContext): void {
  const read = ruleFor(resource.access, 'read')
  if (read !== undefined && !mayRead(caller, resource))
    throw otherRowsRefusal(`read ${resource.name}`, read, { caller, challenge, auth: resource.settings.auth })
  if (world.waiting(representation.today.name)?.history)
    throw new Problem(
      'maintenance',
      `Revisions of ${resource.name} begin when the change of the database is finished; nodes of the former declaration may still run. Try again later.`,
    )
}

function planOf(context: EndpointContext, intent: Intent, viewFor: ViewFor): Omit<ReadRevisions, 'before' | 'limit'> {
  const { key, world } = intent
  const { isShown } = viewFor(intent)
  return { do: 'revisions', collection: context.representation.today.name, key, time: world.now(), isShown }
}

function intentOf(context: EndpointContext, request: RequestContext, params: readonly string[]): Intent {
  admit(context, request)
  const key = itemKey(context, { ...request, params })
  ownerOf(context, key.parent)
  return { ...request, key, time: 0, document: null, claim: null }
}

function listRoute(context: EndpointContext, rule: string, viewFor: ViewFor): Route {
  const { resource } = context
  const { settings } = resource
  const cursors = revisionCursors(context)
  const readQuery = (intent: Intent): RevisionQuery => {
    const { values, faults } = namedParameters(intent.call.target, ['cursor', 'limit'], settings)
    const limit = readPageSize(values, 'limit', settings, faults)
    const text = values.get('cursor') ?? ''
    const read = text === '' ? null : cursors.read(text, intent)
    if (typeof read === 'string') faults.push(queryViolation(read, 'cursor', cursorFaultMessages[read]))
    if (faults.length > 0) throw invalidQuery(faults)
    return { limit, before: read === null || typeof read === 'string' ? null : Number(read.position[0]) }
  }
  return {
    ...routeOf(context, rule),
    ...{ operation: segment, at: `item/${segment}` },
    parse: (request) => {
      const intent = intentOf(context, request, request.params)
      return { ...intent, revisions: readQuery(intent) }
    },
    plan: (intent) => ({ ...planOf(context, intent, viewFor), ...(intent.revisions as RevisionQuery) }),
    render: (intent, outcome) => {
      if (isAbsent(outcome)) throw absentItem(context, outcome)
      const { revisions, next: before } = outcome as RevisionPage
      const { limit, before: start } = intent.revisions as RevisionQuery
      const data = entriesOf(revisions, viewFor(intent).entry, (at, { sequence }) => ({
        ...(at === 0 ? {} : { prev: cursors.url(intent, at, start) }),
        ...(at === revisions.length - 1 && before === null ? {} : { next: cursors.url(intent, limit, sequence) }),
      }))
      const next = before === null ? null : cursors.write(intent, before)
      const information = cursorInformation(settings, { limit, next, hasMore: before !== null })
      const { headers, member } = forwardLinks(settings, intent.call.target, next)
      const body = `{"data":${JSON.stringify(data)},${information}${member}}`
      const reply = digestedReply(resource, intent.world, body)
      return { ...reply, headers: { ...headers, ...reply.headers } }
    },
    about: listDescription(context),
  }
}

/** The cursors of the revisions of one item. They are valid for callers that see the same fields of it. */
function revisionCursors({ resource, representation }: EndpointContext) {
  const { collection, settings } = resource
  const bindingOf = ({ key, caller }: Pick<Intent, 'key' | 'caller'>) => ({
    ...{ list: `/${representation.today.name}/${segment}`, ttl: settings.list.cursor.ttl },
    bound: JSON.stringify([collection.account === null ? null : caller.account, key.parent, key.id]),
  })
  const write = (intent: Intent, before: number): string =>
    writeCursor({ position: [String(before)], back: false, including: false }, bindingOf(intent), intent.world)
  return {
    write,
    read: (text: string, intent: Intent) => readCursor(text, bindingOf(intent), intent.world),
    /** The URL of a page; of the newest revisions without `before`. */
    url: (intent: Intent, limit: number, before: number | null): string => {
      const cursor = before === null ? '' : `&cursor=${encodeURIComponent(write(intent, before))}`
      return `${settings.server.basePath}${targetPath(intent.call.target)}?limit=${limit}${cursor}`
    },
  }
}

/** The entries of a page; refuses it if the version cannot show one of them. */
function entriesOf<E>(
  revisions: readonly StoredRevision[],
  entry: (revision: StoredRevision) => E,
  linksAround: (at: number, event: StoredEvent) => Record<string, string>,
): E[] {
  return revisions.map((revision, at) => {
    try {
      return entry(revision)
    } catch (failure) {
      throw failure instanceof ConversionError
        ? brokenPageProblem(failure, at, linksAround(at, revision.event))
        : failure
    }
  })
}

const listDescription = (context: EndpointContext): OperationDescription => ({
  ...{
    id: segment,
    summary: () => `List the revisions of ${withArticle(context.resource.title)}, newest first`,
  },
  ...{ body: null, headers: itemConditions },
  notes: [
    '`changes` is a merge patch from the revision before. Revisions stay when the item is deleted.',
    '`by` is the id of the caller; null if the service itself has made the change, or a caller without credentials.',
  ],
  answers: [
    {
      status: 200,
      says: 'A page of revisions.',
      body: 'revisions',
      headers: [...tagHeaders(context.resource), 'Link'],
    },
    describedUnchanged(context.resource),
  ],
  refusals: [...absenceTypes(context.resource), ...furtherTypes, 'precondition-failed'],
})

const furtherTypes = ['credentials-missing', 'insufficient-scope', 'maintenance'] as const

const numberPattern = '^[1-9][0-9]{0,15}$'
const numberForm = new RegExp(numberPattern)

function readRoute(context: EndpointContext, rule: string, viewFor: ViewFor): Route {
  const { resource } = context
  const numbersIn = ({ call, params }: RequestContext): readonly string[] => {
    const { values, faults } = namedParameters(call.target, ['against'], resource.settings)
    const against = values.get('against')
    if (against !== undefined && !numberForm.test(against))
      faults.push(
        queryViolation('invalid-parameter-value', 'against', 'against must be the number of a revision, as 6.'),
      )
    if (faults.length > 0) throw invalidQuery(faults)
    return [params.at(-1) as string, ...(against === undefined ? [] : [against])]
  }
  return {
    ...routeOf(context, rule),
    ...{ operation: segment, at: `item/${segment}/{revision}`, pathPatterns: { revision: numberPattern } },
    answersPatch: ({ target }) => /[?&]against=/.test(target),
    parse: (request) => {
      const intent = intentOf(context, request, request.params.slice(0, -1))
      const [number = ''] = numbersIn(intent)
      if (!numberForm.test(number)) throw missingRevision(context, intent, number)
      return intent
    },
    plan: (intent) => ({
      ...planOf(context, intent, viewFor),
      ...{ before: null, limit: 1, numbers: numbersIn(intent).map(Number) },
    }),
    render: (intent, outcome) => {
      const view = viewFor(intent)
      const [to, from] = numbersIn(intent).map((one) => revisionIn(context, intent, outcome, one).event)
      if (!to) throw new Error('A request for a revision names none.')
      if (!from) return digestedReply(resource, intent.world, view.text(to))
      return digestedReply(resource, intent.world, JSON.stringify(view.between(from, to)), mergePatchType)
    },
    about: readDescription(context),
  }
}

const readDescription = (context: EndpointContext): OperationDescription => ({
  ...{ id: 'revision', summary: () => `Get ${withArticle(context.resource.title)} as it was in a revision` },
  ...{ body: null, headers: itemConditions },
  notes: ['With `against`, the number of another revision, the answer is the merge patch from that one to this one.'],
  answers: [
    {
      status: 200,
      says: `${context.resource.title}, as it was.`,
      body: 'revision',
      headers: tagHeaders(context.resource),
    },
    describedUnchanged(context.resource),
  ],
  refusals: [...absenceTypes(context.resource), ...furtherTypes, 'precondition-failed'],
})

function revisionIn(context: EndpointContext, intent: Intent, outcome: Outcome, number: string): StoredRevision {
  const revision = (outcome as RevisionPage).revisions.find(({ event }) => event.sequence === Number(number))
  if (!revision) throw missingRevision(context, intent, number)
  return revision
}

const missingRevision = ({ resource }: EndpointContext, { key }: Intent, number: string): Problem =>
  new Problem(
    'resource-not-found',
    `${resource.title} ${key.id.slice(0, 100)} has no revision ${number.slice(0, 20)}. Those that are kept are listed at …/${segment}.`,
  )
