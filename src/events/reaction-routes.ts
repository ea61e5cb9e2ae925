/** Reaction routes: lists reactions and the events that they have failed at, which can be retried or skipped. Part 6. R231. */
import { describedUnchanged, itemConditions } from '../endpoints/described.ts'
import { listTag } from '../endpoints/list-items.ts'
import { invalidQuery, Problem } from '../errors/problem.ts'
import { type Fields, f } from '../fields/field.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import { type Outcome, rowsIn } from '../flow/outcome.ts'
import type { Claim, Plan, SequenceRun } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { type TableOperation, tablePlan } from '../flow/table.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { claimOfTransition, keptAnswer, keyReuseProblem } from '../idempotency/claim.ts'
import { cursorInformation } from '../lists/page-text.ts'
import { nameViolations, parametersOf, refuseParameters } from '../lists/query-string.ts'
import { readPageSize } from '../lists/window.ts'
import { inputFields, readInput } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { inCase, membersIn, readReactions, writeReactions } from '../resources/service-fields.ts'
import { readEventCursor, writeEventCursor } from './event-cursor.ts'
import type { EventScope } from './event-scope.ts'
import {
  countedFailures,
  type FailureRow,
  findCountedFailures,
  findFailure,
  findFailuresAfter,
  findReaction,
  findReactions,
  type ReactionRow,
  removeFailure,
  retryFailure,
} from './reaction-tables.ts'

interface ReactionRoutesContext {
  readonly scope: EventScope
  readonly resource: Resource
  /** Finds one page of failures, and the first one of the next page. */
  readonly findPage: TableOperation
}

/** The routes of reactions in a version, by their paths. They show the failures of all accounts. */
export function reactionRoutes(
  scope: EventScope,
  resource: Resource,
): readonly (readonly [path: string, route: Route])[] {
  const context = { scope, resource, findPage: findFailuresAfter(resource.settings.list.maxPageSize + 1) }
  const failures = '/reactions/{name}/failures'
  return [
    ['/reactions', listRoute(context, reactionList)],
    [failures, listRoute(context, failureList)],
    [`${failures}/{event}`, readRoute(context, failureItem)],
    [`${failures}/{event}/retries`, settlingRoute(context, retries)],
    [`${failures}/{event}/skips`, settlingRoute(context, skips)],
  ]
}

/** Yields plans, gets their outcomes, and returns the answer as JSON. */
type ReactionSteps = Generator<Plan, string, Outcome>

interface ReactionRead extends Pick<OperationDescription, 'id' | 'notes'> {
  readonly at: Route['at']
  readonly says: string
  readonly fields: Fields
  readonly steps: (context: ReactionRoutesContext, intent: Intent) => ReactionSteps
}

const reactionFields: Fields = {
  name: f.text(),
  /** How many events it has not looked at yet, those that it does not name included. */
  behind: f.integer(),
  waiting: f.integer(),
  parked: f.integer(),
}

const failureFields: Fields = {
  eventId: f.text(),
  resource: f.text(),
  item: f.text(),
  account: f.text({ optional: true }),
  status: f.enum(['waiting', 'parked', 'behind']),
  tries: f.integer(),
  nextTry: f.timestamp({ optional: true }),
  error: f.text({ optional: true }),
}

const reactionList: ReactionRead = {
  ...{ at: 'collection', id: 'list', says: 'Lists reactions', fields: reactionFields, steps: listReactions },
  notes: [`\`waiting\` and \`parked\` count up to ${countedFailures} failures.`],
}

const failureNotes = [
  '`waiting` is tried again at its next try, `parked` only after a retry by hand, and `behind` waits for an earlier event of its item.',
]

const failureList: ReactionRead = {
  ...{ at: 'item/failures', id: 'failures', says: 'Lists the events that a reaction has failed at' },
  ...{ fields: failureFields, steps: listFailures, notes: failureNotes },
}

const failureItem: ReactionRead = {
  ...{ at: 'item/failures/item', id: 'failure', says: 'Reads an event that a reaction has failed at' },
  ...{ fields: failureFields, steps: readFailure, notes: failureNotes },
}

/** The parts that all routes share. Their plans read and write tables of the service, and no items. */
function routeOf(
  { scope, resource }: ReactionRoutesContext,
  makeSteps: (intent: Intent) => ReactionSteps,
): Pick<Route, 'resource' | 'target' | 'pathPatterns' | 'plan'> {
  const collection = scope.sources[0]?.collection as string
  return {
    resource,
    target: () => ({ read: null, admit: () => {} }),
    pathPatterns: { name: '^[a-z][A-Za-z0-9_-]{0,63}$' },
    plan: (intent) => {
      const { key, claim, call } = intent
      const dry = call.method === 'POST' ? {} : ({ dry: true } as const)
      return { do: 'sequence', collection, key, claim, begin: () => runOf(makeSteps(intent)), ...dry }
    },
  }
}

/** Runs the steps as a sequence of plans, in one transaction. */
function runOf(steps: ReactionSteps): SequenceRun {
  let answer: string | null = null
  const next: SequenceRun['next'] = (before) => {
    const { done, value } = steps.next(before as Outcome)
    if (!done) return value
    answer = value
    return null
  }
  return { next, answer: () => answer }
}

function readRoute(context: ReactionRoutesContext, { at, id, says, fields, notes, steps }: ReactionRead): Route {
  const { resource } = context
  const { settings, rules } = resource
  return {
    ...routeOf(context, (intent) => steps(context, intent)),
    ...{ operation: id, method: 'GET', at, safe: true, rule: readReactions, content: [], claims: null },
    query: (call) => refuseParameters(call, settings),
    parse: intentOf,
    render: (_, outcome) => {
      const body = textIn(outcome)
      return { status: 200, headers: { ETag: listTag('strong', body) }, body }
    },
    about: {
      ...{ id, summary: () => says, notes, body: null, headers: itemConditions },
      output: inputFields(inCase(fields, settings.naming), {}, rules),
      answers: [
        { status: 200, says: 'As it is now.', body: 'output', headers: ['ETag'] },
        describedUnchanged(resource),
      ],
      refusals: ['precondition-failed', ...(at === 'collection' ? [] : (['resource-not-found'] as const))],
    },
  }
}

function listRoute(context: ReactionRoutesContext, read: ReactionRead): Route {
  const route = readRoute(context, read)
  const [, unchanged] = route.about.answers as [unknown, ReturnType<typeof describedUnchanged>]
  const parameters = ['limit', 'cursor']
  return {
    ...route,
    query: () => null,
    parse: (asked) => {
      readWindow(context, asked)
      return intentOf(asked)
    },
    offer: () => ({ filters: [], sorts: [], customs: [], parameters }),
    about: {
      ...route.about,
      answers: [{ status: 200, says: 'A page of the list.', body: 'outputs', headers: ['ETag'] }, unchanged],
    },
  }
}

const intentOf = (asked: RequestContext): Intent => ({
  ...asked,
  ...{ key: { id: '', parent: null, account: asked.caller.account }, time: 0, document: null, claim: null },
})

function textIn(outcome: Outcome): string {
  if (outcome.is !== 'answered') throw new Error(`The store answered ${outcome.is} to a request for reactions.`)
  return outcome.doc
}

const boundOf = ({ params }: Pick<RequestContext, 'params'>): string => ['/reactions', ...params].join('/')

/** Where a page begins, and how long it is. */
function readWindow({ resource: { settings } }: ReactionRoutesContext, asked: RequestContext) {
  const given = parametersOf(asked.call.target)
  const accepted = ['limit', 'cursor', ...(settings.versions.carriers.includes('query') ? ['version'] : [])]
  const faults = nameViolations(given, (name) => accepted.includes(name), accepted, settings)
  const values = new Map(given)
  const limit = readPageSize(values, 'limit', settings, faults)
  const cursor = { bound: boundOf(asked), settings, world: asked.world }
  const after = readEventCursor(values.get('cursor'), cursor, faults) ?? 0
  if (faults.length > 0) throw invalidQuery(faults)
  return { after, limit }
}

/** A page; `next` is the position after which the next one begins, null at the end. */
function pageOf(
  { resource: { settings } }: ReactionRoutesContext,
  asked: Intent,
  { texts, next }: { readonly texts: readonly string[]; readonly next: number | null },
  limit: number,
): string {
  const cursor = next === null ? null : writeEventCursor(next, { bound: boundOf(asked), settings, world: asked.world })
  return `{"data":[${texts.join(',')}],${cursorInformation(settings, { limit, next: cursor, hasMore: next !== null })}}`
}

const textOf = ({ resource: { settings } }: ReactionRoutesContext, members: object): string =>
  JSON.stringify(membersIn({ ...members }, settings.naming))

function* listReactions(context: ReactionRoutesContext, intent: Intent): ReactionSteps {
  const { after, limit } = readWindow(context, intent)
  const rows = rowsIn(yield tablePlan(findReactions)) as unknown as readonly ReactionRow[]
  const named = rows.filter(({ name }) => isReaction(name))
  const head = yield { do: 'head' }
  const last = head.is === 'numbered' ? head.position : 0
  const texts: string[] = []
  for (const { name, position } of named.slice(after, after + limit)) {
    const [waiting, parked] = [
      rowsIn(yield tablePlan(findCountedFailures, { reaction: name, state: 'waiting' })).length,
      rowsIn(yield tablePlan(findCountedFailures, { reaction: name, state: 'parked' })).length,
    ]
    texts.push(textOf(context, { name, behind: Math.max(0, last - position), waiting, parked }))
  }
  return pageOf(context, intent, { texts, next: after + limit < named.length ? after + limit : null }, limit)
}

/** The publisher has a position too, under a name with a dot. */
const isReaction = (name: string): boolean => !name.includes('.')

function* listFailures(context: ReactionRoutesContext, intent: Intent): ReactionSteps {
  const { after, limit } = readWindow(context, intent)
  const [reaction = ''] = intent.params
  const known = isReaction(reaction) ? rowsIn(yield tablePlan(findReaction, { name: reaction })) : []
  if (known.length === 0)
    throw new Problem('resource-not-found', `There is no reaction ${JSON.stringify(reaction.slice(0, 100))}.`)
  const found = rowsIn(yield tablePlan(context.findPage, { reaction, after })) as unknown as readonly FailureRow[]
  const rows = found.slice(0, limit)
  const next = found.length > limit ? (rows.at(-1) as FailureRow).position : null
  return pageOf(context, intent, { texts: rows.map((row) => failureText(context, row)), next }, limit)
}

/** A failure as it is answered; of the error only its first line, as the others name files of the service. */
function failureText(context: ReactionRoutesContext, { event, item: own, state, due, tries, failure }: FailureRow) {
  const [collection, account, , item] = JSON.parse(own) as readonly (string | null)[]
  const source = context.scope.sources.find((one) => one.collection === collection)
  const status = isBehind({ tries, failure }) ? 'behind' : state
  const error = failure?.split('\n', 1)[0] ?? null
  const nextTry = status === 'waiting' ? timestampOf(due) : null
  return textOf(context, {
    ...{ eventId: event, resource: source?.name ?? collection, item, account, status, tries, nextTry, error },
  })
}

const isBehind = ({ tries, failure }: Pick<FailureRow, 'tries' | 'failure'>): boolean => tries === 0 && failure === null

function* foundFailure({ params: [reaction = '', event = ''] }: Intent): Generator<Plan, FailureRow, Outcome> {
  const [row] = rowsIn(yield tablePlan(findFailure, { reaction, event })) as unknown as readonly FailureRow[]
  if (row) return row
  const named = `${JSON.stringify(reaction.slice(0, 100))} and event ${JSON.stringify(event.slice(0, 100))}`
  throw new Problem('resource-not-found', `There is no failure of reaction ${named}.`)
}

function* readFailure(context: ReactionRoutesContext, intent: Intent): ReactionSteps {
  return failureText(context, yield* foundFailure(intent))
}

/** Something that a caller decides about a failure. */
interface Settling {
  readonly name: string
  readonly status: 200 | 202
  readonly summary: string
  readonly says: string
  /** Returns the failure as it is then. */
  readonly steps: (intent: Intent) => Generator<Plan, FailureRow, Outcome>
}

const retries: Settling = {
  ...{ name: 'retries', status: 202, summary: 'Tries an event again that a reaction has failed at' },
  says: 'The failure, whose event will be tried.',
  *steps(intent) {
    const row = yield* foundFailure(intent)
    if (isBehind(row))
      throw new Problem('conflict', 'The event waits for an earlier event of its item; retry or skip that one.')
    const due = { state: 'waiting', due: intent.world.due(), tries: 0 } as const
    yield tablePlan(retryFailure, { ...row, ...due })
    return { ...row, ...due }
  },
}

const skips: Settling = {
  ...{ name: 'skips', status: 200, summary: 'Gives an event up that a reaction has failed at' },
  says: 'The failure as it was; later events of its item go on.',
  *steps(intent) {
    const row = yield* foundFailure(intent)
    yield tablePlan(removeFailure, { reaction: row.reaction, event: row.event })
    return row
  },
}

function settlingRoute(context: ReactionRoutesContext, own: Settling): Route {
  const { resource } = context
  const { name, status } = own
  const { settings, rules } = resource
  function* steps(intent: Intent): ReactionSteps {
    return failureText(context, yield* own.steps(intent))
  }
  return {
    ...routeOf(context, steps),
    ...{ operation: name, method: 'POST', at: `item/failures/item/${name}`, safe: false, rule: writeReactions },
    ...{ content: ['application/json'], contentOptional: true, claims: 'replayed' },
    query: (call) => refuseParameters(call, settings),
    parse: (asked) => {
      const taken = claimOfTransition(asked, resource, { name, rule: writeReactions })
      readInput([], taken.body, settings)
      return { ...intentOf(asked), ...taken, time: asked.world.now() }
    },
    render: ({ claim }, outcome) => settledReply(resource, status, claim, outcome),
    about: {
      ...{ id: name, summary: () => own.summary, notes: [], body: 'input', input: [], headers: [] },
      output: inputFields(inCase(failureFields, settings.naming), {}, rules),
      answers: [{ status, says: own.says, body: 'output', headers: ['Idempotency-Replayed'] }],
      refusals: ['resource-not-found', 'conflict'],
    },
  }
}

function settledReply({ settings }: Resource, status: number, claim: Claim | null, outcome: Outcome): Reply {
  if (outcome.is !== 'claimed') return { status, headers: {}, body: textIn(outcome) }
  const known = keptAnswer(outcome, claim as Claim)
  if (known === null) throw keyReuseProblem(outcome, claim as Claim, null, settings)
  return { status, headers: { 'Idempotency-Replayed': 'true' }, body: known.doc }
}
