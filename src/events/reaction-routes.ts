/** Reaction routes: lists reactions and the events that they have failed at, which can be retried or skipped. Part 6. R231. */
import { describedUnchanged, itemConditions } from '../endpoints/described.ts'
import { listTag } from '../endpoints/list-items.ts'
import { type Fields, f } from '../fields/field.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Claim, SequenceRun } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { claimOfTransition, keptAnswer, keyReuseProblem } from '../idempotency/claim.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { inputFields, readInput } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { inCase, readReactions, writeReactions } from '../resources/service-fields.ts'
import type { EventScope } from './event-scope.ts'
import {
  type FailureAction,
  failureText,
  listFailures,
  listReactions,
  type ReactionRoutesContext,
  type ReactionSteps,
  reactionPage,
  readFailure,
  readReactionWindow,
  retries,
  skips,
} from './reaction-steps.ts'
import { countedFailures, findFailuresAfter } from './reaction-tables.ts'

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

interface ReactionRead extends Pick<OperationDescription, 'id' | 'notes'> {
  readonly at: Route['at']
  readonly says: string
  readonly fields: Fields
  readonly steps: (context: ReactionRoutesContext, intent: Intent) => ReactionSteps
}

const reactionFields: Fields = {
  name: f.text(),
  /** How many events it has not processed yet, including events of types that it does not follow. */
  behind: f.integer(),
  waiting: f.integer(),
  parked: f.integer(),
}

const failureFields: Fields = {
  eventId: f.text(),
  /** Null if the event is kept no longer, or if the version does not have its resource. */
  eventType: f.text({ optional: true }),
  resource: f.text(),
  item: f.text(),
  account: f.text({ optional: true }),
  status: f.enum(['waiting', 'parked', 'behind']),
  tries: f.integer(),
  nextTry: f.timestamp({ optional: true }),
  error: f.text({ optional: true }),
}

const reactionList: ReactionRead = {
  ...{ at: 'collection', id: 'list', says: 'List reactions', fields: reactionFields, steps: listReactions },
  notes: [`\`waiting\` and \`parked\` count up to ${countedFailures} failures.`],
}

const failureNotes = [
  '`waiting` is tried again at its next try, `parked` only after a retry by hand, and `behind` waits for an earlier event of its item.',
]

const failureList: ReactionRead = {
  ...{ at: 'item/failures', id: 'failures', says: 'List the events at which a reaction failed' },
  ...{ fields: failureFields, steps: listFailures, notes: failureNotes },
}

const failureItem: ReactionRead = {
  ...{ at: 'item/failures/item', id: 'failure', says: 'Get an event at which a reaction failed' },
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
    pathPatterns: { name: '^[a-z][A-Za-z0-9_.-]{0,63}$' },
    plan: (intent) => {
      const { key, claim } = intent
      return { do: 'sequence', collection, key, claim, begin: () => runOf(makeSteps(intent)) }
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
    render: ({ world }, outcome) => {
      const body = textIn(outcome)
      return { status: 200, headers: { ETag: listTag('strong', body, world) }, body }
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
  return {
    ...route,
    query: () => null,
    parse: (request) => {
      readReactionWindow(context, request)
      return intentOf(request)
    },
    render: (intent, outcome) => {
      const { headers, body } = reactionPage(context, intent, textIn(outcome))
      return { status: 200, headers: { ...headers, ETag: listTag('strong', body, intent.world) }, body }
    },
    about: {
      ...route.about,
      answers: [{ status: 200, says: 'A page of the list.', body: 'outputs', headers: ['ETag', 'Link'] }, unchanged],
    },
  }
}

const intentOf = (request: RequestContext): Intent => ({
  ...request,
  ...{ key: { id: '', parent: null, account: request.caller.account }, time: 0, document: null, claim: null },
})

function textIn(outcome: Outcome): string {
  if (outcome.is !== 'answered') throw new Error(`The store answered ${outcome.is} to a request for reactions.`)
  return outcome.doc
}

function settlingRoute(context: ReactionRoutesContext, own: FailureAction): Route {
  const { resource } = context
  const { name, status } = own
  const { settings, rules } = resource
  function* steps(intent: Intent): ReactionSteps {
    return yield* failureText(context, yield* own.steps(intent))
  }
  return {
    ...routeOf(context, steps),
    ...{ operation: name, method: 'POST', at: `item/failures/item/${name}`, safe: false, rule: writeReactions },
    ...{ content: ['application/json'], contentOptional: true, claims: 'replayed' },
    query: (call) => refuseParameters(call, settings),
    parse: (request) => {
      const taken = claimOfTransition(request, resource, { name, rule: writeReactions })
      readInput([], taken.body, settings)
      return { ...intentOf(request), ...taken, time: request.world.now() }
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
  const kept = keptAnswer(outcome, claim as Claim)
  if (kept === null) throw keyReuseProblem(outcome, claim as Claim, null, settings)
  return { status, headers: { 'Idempotency-Replayed': 'true' }, body: kept.doc }
}
