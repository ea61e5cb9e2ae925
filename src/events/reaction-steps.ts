/** Reaction steps: reads reactions and their failures, and retries or skips failures, as plans of one transaction. Part 6. R231. */
import { invalidQuery, Problem } from '../errors/problem.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import { type EventPage, type Outcome, rowsIn } from '../flow/outcome.ts'
import type { Plan } from '../flow/plan.ts'
import { type TableOperation, tablePlan } from '../flow/table.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { forwardLinks } from '../lists/links.ts'
import { cursorInformation } from '../lists/page-text.ts'
import { namedParameters } from '../lists/query-string.ts'
import { readPageSize } from '../lists/window.ts'
import type { Resource } from '../resources/resource.ts'
import { membersIn } from '../resources/service-fields.ts'
import { readEventCursor, writeEventCursor } from './event-cursor.ts'
import { type EventScope, eventTypeOf } from './event-scope.ts'
import {
  type FailureRow,
  findCountedFailures,
  findFailure,
  findPositionsAfter,
  findReaction,
  findReactions,
  type ReactionRow,
  removePlan,
  retryPlan,
  statusOf,
} from './reaction-tables.ts'

export interface ReactionRoutesContext {
  readonly scope: EventScope
  readonly resource: Resource
  /** Finds one page of failures, and the first one of the next page. */
  readonly findPage: TableOperation
}

/** Yields plans, gets their outcomes, and returns the answer as JSON. */
export type ReactionSteps = Generator<Plan, string, Outcome>

const boundOf = ({ params }: Pick<RequestContext, 'params'>): string => ['/reactions', ...params].join('/')

/** Where a page begins, and how long it is. */
export function readReactionWindow({ resource: { settings } }: ReactionRoutesContext, request: RequestContext) {
  const { values, faults } = namedParameters(request.call.target, ['limit', 'cursor'], settings)
  const limit = readPageSize(values, 'limit', settings, faults)
  const cursor = { bound: boundOf(request), settings, world: request.world }
  const after = readEventCursor(values.get('cursor'), cursor, faults) ?? 0
  if (faults.length > 0) throw invalidQuery(faults)
  return { after, limit }
}

/** A page for `reactionPage`; `next` is the position after which the next one begins, null at the end. */
const pageOf = (texts: readonly string[], next: number | null): string => `{"data":[${texts.join(',')}],"next":${next}}`

/** The answer with a page, and the links from it. */
export function reactionPage(
  context: ReactionRoutesContext,
  intent: Intent,
  page: string,
): { readonly headers: Record<string, string>; readonly body: string } {
  const { settings } = context.resource
  const { limit } = readReactionWindow(context, intent)
  const { data, next: position } = JSON.parse(page) as { readonly data: unknown[]; readonly next: number | null }
  const bound = boundOf(intent)
  const next = position === null ? null : writeEventCursor(position, { bound, settings, world: intent.world })
  const { headers, member } = forwardLinks(settings, intent.call.target, next)
  const information = cursorInformation(settings, { limit, next, hasMore: next !== null })
  return { headers, body: `{"data":${JSON.stringify(data)},${information}${member}}` }
}

const textOf = ({ resource: { settings } }: ReactionRoutesContext, members: object): string =>
  JSON.stringify(membersIn({ ...members }, settings.naming))

export function* listReactions(context: ReactionRoutesContext, intent: Intent): ReactionSteps {
  const { after, limit } = readReactionWindow(context, intent)
  const rows = rowsIn(yield tablePlan(findReactions)) as unknown as readonly ReactionRow[]
  const head = yield { do: 'head' }
  const last = head.is === 'numbered' ? head.position : 0
  const texts: string[] = []
  for (const { name, position } of rows.slice(after, after + limit)) {
    const [waiting, parked] = [
      rowsIn(yield tablePlan(findCountedFailures, { reaction: name, state: 'waiting' })).length,
      rowsIn(yield tablePlan(findCountedFailures, { reaction: name, state: 'parked' })).length,
    ]
    const behind = yield* eventsBetween(position, last, intent.world)
    texts.push(textOf(context, { name, behind, waiting, parked }))
  }
  return pageOf(texts, after + limit < rows.length ? after + limit : null)
}

/** How many events have a position after the first one, up to the last. Positions have a gap at a restore. */
export function* eventsBetween(
  first: number,
  last: number,
  { restoredAt }: Pick<Intent['world'], 'restoredAt'>,
): Generator<Plan, number, Outcome> {
  if (first >= restoredAt || last < restoredAt) return Math.max(0, last - first)
  return rowsIn(yield tablePlan(findPositionsAfter, { after: first })).length
}

export function* listFailures(context: ReactionRoutesContext, intent: Intent): ReactionSteps {
  const { after, limit } = readReactionWindow(context, intent)
  const [reaction = ''] = intent.params
  const reactions = rowsIn(yield tablePlan(findReaction, { name: reaction }))
  if (reactions.length === 0)
    throw new Problem('resource-not-found', `There is no reaction ${JSON.stringify(reaction.slice(0, 100))}.`)
  const page = rowsIn(yield tablePlan(context.findPage, { reaction, after })) as unknown as readonly FailureRow[]
  const rows = page.slice(0, limit)
  const next = page.length > limit ? (rows.at(-1) as FailureRow).position : null
  const texts: string[] = []
  for (const row of rows) texts.push(yield* failureText(context, row))
  return pageOf(texts, next)
}

/** A failure as the answer shows it; only the first line of the error, as the other lines name files of the service. */
export function* failureText(context: ReactionRoutesContext, row: FailureRow): ReactionSteps {
  const { event: eventId, item: own, due, tries, failure } = row
  const [stored, account, , item] = JSON.parse(own) as readonly (string | null)[]
  const [event] = ((yield { do: 'event', id: eventId }) as EventPage).events
  const collection = event?.collection ?? stored
  const source = context.scope.sources.find((one) => one.collection === collection)
  const eventType = source && event ? eventTypeOf(source, event) : null
  const status = statusOf(row)
  const error = failure?.split('\n', 1)[0] ?? null
  const nextTry = status === 'waiting' ? timestampOf(due) : null
  return textOf(context, {
    ...{ eventId, eventType, resource: source?.name ?? collection, item, account, status, tries, nextTry, error },
  })
}

function* foundFailure({ params: [reaction = '', event = ''] }: Intent): Generator<Plan, FailureRow, Outcome> {
  const [row] = rowsIn(yield tablePlan(findFailure, { reaction, event })) as unknown as readonly FailureRow[]
  if (row) return row
  const named = `${JSON.stringify(reaction.slice(0, 100))} and event ${JSON.stringify(event.slice(0, 100))}`
  throw new Problem('resource-not-found', `There is no failure of reaction ${named}.`)
}

export function* readFailure(context: ReactionRoutesContext, intent: Intent): ReactionSteps {
  return yield* failureText(context, yield* foundFailure(intent))
}

/** What a caller can do about a failure: retry it or skip its event. */
export interface FailureAction {
  readonly name: string
  readonly status: 200 | 202
  readonly summary: string
  readonly says: string
  /** Returns the failure after the steps. */
  readonly steps: (intent: Intent) => Generator<Plan, FailureRow, Outcome>
}

export const retries: FailureAction = {
  ...{ name: 'retries', status: 202, summary: 'Retry an event at which a reaction failed' },
  says: 'The failure, whose event will be tried.',
  *steps(intent) {
    const row = yield* foundFailure(intent)
    if (statusOf(row) === 'behind')
      throw new Problem('conflict', 'The event waits for an earlier event of its item; retry or skip that one.')
    const [again = row] = rowsIn(yield retryPlan(row, intent.world.due())) as unknown as readonly FailureRow[]
    return again
  },
}

export const skips: FailureAction = {
  ...{ name: 'skips', status: 200, summary: 'Skip an event at which a reaction failed' },
  says: 'The failure as it was; later events of its item go on.',
  *steps(intent) {
    const row = yield* foundFailure(intent)
    yield removePlan(row)
    return row
  },
}
