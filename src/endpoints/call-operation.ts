/** Calls an operation that a resource declares: POST below the collection or an item. Part 4, methods. R88. */

import { inputNamesOf, readServedInput } from '../changes/older-inputs.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Decisions, ProposedCall } from '../flow/decision.ts'
import type { FoundRow, ReadResult, RowKey } from '../flow/found-row.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Decide, RowWrite } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { DescribedAnswer, Route } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import { isPlural, nameInSentence, singularOf, withArticle } from '../formats/naming.ts'
import { effectOfQueued, queueOperation, statusKey } from '../handlers/queued-operation.ts'
import { waitForEnd } from '../handlers/status-changes.ts'
import { claimOfTransition } from '../idempotency/claim.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { majorOf } from '../resources/change.ts'
import { decodeDocument } from '../resources/document.ts'
import { type OwnOperation, readInput, type ServedOperation } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { endedStates, statusResource } from '../resources/service-fields.ts'
import { encodeDocument } from '../rows/collection.ts'
import { rowRuleWith } from '../rules/row-rules.ts'
import { handledTypes, itemConditions } from './described.ts'
import { contextIn, type EndpointContext, itemPath, itemReply, replayReply, writeRefusal } from './item.ts'
import { admitConditionalCreate, preconditionsOf } from './preconditions.ts'
import { appliedOfAsync, preferredWait } from './prefer.ts'
import { actionOfKeys } from './transition-item.ts'
import { admitItem, admitUnlessKeyed, type WriteDescription, writeItemRoute } from './write-item.ts'

/** The routes of the operations of a version. */
export const ownOperationRoutes = (context: EndpointContext): Route[] =>
  context.operations.map((served) =>
    served.own.at === 'item' ? itemOperationRoute(context, served) : collectionOperationRoute(context, served),
  )

function callParts(context: EndpointContext, served: ServedOperation) {
  const { name, rule, input, asynchronous } = served.own
  return {
    ...{ operation: name, method: 'POST', rule, content: ['application/json'] },
    contentOptional: input.every(({ absent }) => absent !== undefined),
    claims: 'replayed',
    inputNames: inputNamesOf(served),
    query: (call: Call) => refuseParameters(call, context.resource.settings, !asynchronous),
    render: (intent: Intent, outcome: Outcome) =>
      asynchronous
        ? renderAnswer(context, intent, newestStatus(context, outcome), (doc) =>
            statusReply(context, served, intent, doc),
          )
        : renderAnswer(context, intent, newestOutput(context, served, outcome), (doc) =>
            outputReply(isOfVersion(context, outcome) ? null : served.answer, doc),
          ),
    ...(asynchronous && { settle: awaitEnd }),
  } as const
}

function itemOperationRoute(context: EndpointContext, served: ServedOperation): Route {
  const { own, older } = served
  const { today } = context.representation
  const keyed = actionOfKeys(context, 'operations', served.today)
  const { render, query, settle, inputNames, ...parts } = callParts(context, served)
  const route = writeItemRoute(context, {
    ...parts,
    rowRule: rowRuleWith(today, served.today.rowRule),
    at: `item/${own.name}`,
    claiming: (request) => claimOfTransition(request, today, keyed, older),
    headers: () => ({}),
    admit: (request, current) => {
      admitUnlessKeyed(context)(request, current)
      admitCarriedOut(served)
    },
    decide: (intent, current) => {
      admitItem(context, intent, current)
      if (own.asynchronous) return planStart(context, served, intent, intent.key)
      const { doc, hidden, revision } = current as FoundRow
      return planCall(context, served, intent, {
        key: intent.key,
        revision,
        before: decodeDocument(today, doc, hidden),
      })
    },
    about: { ...callDescription(context, served), headers: [...itemConditions, ...waitHeaders(own)] },
  })
  return { ...route, render, query, inputNames, ...(settle && { settle }) }
}

function collectionOperationRoute(context: EndpointContext, served: ServedOperation): Route {
  const { own, older } = served
  const { resource } = context
  const { today } = context.representation
  const keyed = actionOfKeys(context, 'operations', served.today)
  const { refusals, ...about } = callDescription(context, served)
  const admit = ({ call, world }: Pick<RequestContext, 'call' | 'world'>) => {
    admitConditionalCreate(preconditionsOf(call, world))
    admitCarriedOut(served)
  }
  return {
    ...callParts(context, served),
    ...{ at: `collection/${own.name}`, safe: false, resource },
    target: (request: RequestContext) => ({ read: null, admit: () => admit(request) }),
    parse: (request) => ({
      ...request,
      key: { id: '', parent: null, account: request.caller.account },
      time: request.world.now(),
      document: null,
      ...claimOfTransition(request, today, keyed, older),
    }),
    plan: (intent): Decide => ({
      do: 'decide',
      read: { do: 'none', collection: today.name, key: intent.key },
      claim: intent.claim,
      admit: () => admit(intent),
      decide: () =>
        own.asynchronous ? planStart(context, served, intent, null) : planCall(context, served, intent, null),
    }),
    about: {
      ...{ notes: [], headers: waitHeaders(own), ...about },
      refusals: [...refusals, 'precondition-failed', 'invalid-precondition'],
    },
  }
}

/** Refuses an operation that a later version withdrew. */
function admitCarriedOut({ own: { name }, refused }: ServedOperation): void {
  if (refused)
    throw new Problem(
      refused.status === 410 ? 'gone' : 'conflict',
      `${name} are not possible any more since ${refused.version}.`,
    )
}

/** The answer and what the handler writes; the item is written only if the handler says so. */
function planCall(
  { resource, representation: { today } }: EndpointContext,
  served: ServedOperation,
  { body, decisions, time }: Intent,
  item: ProposedCall['item'],
): RowWrite {
  const input = readServedInput(served, body ?? {}, resource.settings)
  const decision = (decisions as Decisions).call({ resource: today, operation: served.today, input, time, item })
  served.answer?.(decision.answer) // an output that cannot be converted must fail before the commit
  return { do: 'keep', ...decision }
}

const waitHeaders = ({ asynchronous }: OwnOperation) => (asynchronous ? (['wait'] as const) : [])

/** Stores the status of an operation that a worker will run; the status is the answer. R28, R228. */
function planStart(context: EndpointContext, served: ServedOperation, intent: Intent, item: RowKey | null): RowWrite {
  const { caller, time, world } = intent
  const { settings } = context.resource
  const input = readServedInput(served, intent.body ?? {}, settings)
  const call = { resource: context.representation.today, operation: served.today, item, input }
  const account = caller.account
  const queued = queueOperation(call, { resources: context.stored, caller, account, time, newId: world.newId })
  return {
    do: 'keep',
    answer: encodeDocument(queued.statuses.collection, queued.document).doc,
    effects: [effectOfQueued(context.writer, queued)],
  }
}

/** How often a waiting request checks whether its client has left or its operation has ended, in milliseconds. */
const lookInterval = 1000

/** Waits until the operation has ended, for as long as the client prefers and stays connected. */
async function awaitEnd({ call, world }: Intent, outcome: Outcome, store: Store): Promise<Outcome> {
  const doc = outcome.is === 'claimed' ? outcome.answer?.doc : outcome.is === 'answered' ? outcome.doc : undefined
  const time = preferredWait(call) * 1000
  if (doc === undefined || time === 0) return outcome
  const { id } = JSON.parse(doc) as { id: string }
  let latest = outcome
  await waitForEnd(world, id, { time, interval: lookInterval }, async () => {
    if (call.halfClosed?.()) return true
    const read = { do: 'read', collection: statusResource, key: statusKey(id), time: world.now() } as const
    const found = (await store.execute(read)) as ReadResult
    if (found.is !== 'found') return true
    latest = withDocument(outcome, found)
    return endedStates.includes((JSON.parse(found.doc) as { status: string }).status)
  })
  return latest
}

function withDocument(outcome: Outcome, { doc, revision }: FoundRow): Outcome {
  if (outcome.is === 'claimed') return { ...outcome, answer: { doc, revision } }
  return outcome.is === 'answered' ? { ...outcome, doc } : outcome
}

/** The output if the client waited for it and the operation has ended well, otherwise its status. */
function statusReply({ contexts }: EndpointContext, served: ServedOperation, intent: Intent, doc: string): Reply {
  const { id, status, result } = JSON.parse(doc) as { id: string; status: string; result: unknown }
  if (status === 'succeeded' && preferredWait(intent.call) > 0)
    return outputReply(served.answer, JSON.stringify(result))
  const statuses = contexts.get(statusResource) as EndpointContext
  const { body } = itemReply(statuses, intent, 202, { doc, revision: 1 })
  const applied = appliedOfAsync(intent.call)
  const headers = {
    Location: itemPath(statuses.resource, { id, parent: null }, intent.carried),
    'Retry-After': '2',
    ...(applied && { 'Preference-Applied': applied }),
  }
  return { status: 202, headers, body }
}

function renderAnswer(
  context: EndpointContext,
  intent: Intent,
  outcome: Outcome,
  reply: (doc: string) => Reply,
): Reply {
  if (outcome.is === 'claimed') return replayReply(context, intent, outcome, (_, { doc }) => reply(doc))
  if (outcome.is === 'answered') return reply(outcome.doc)
  throw callRefusal(context, intent, outcome)
}

/** Whether an output was stored when this version was the newest: then it has the form of this version. */
const isOfVersion = ({ version }: EndpointContext, outcome: Outcome): boolean =>
  outcome.is === 'claimed' && outcome.answer?.version === version

/** Converts the stored output of a repeat to the newest version; without an answer if a member is missing or has another type. */
function newestOutput(context: EndpointContext, served: ServedOperation, outcome: Outcome): Outcome {
  if (outcome.is !== 'claimed' || !outcome.answer?.version || isOfVersion(context, outcome)) return outcome
  const { doc, version } = outcome.answer
  const then = contextIn(context, version)
  if (then === undefined) return { ...outcome, answer: null } // of a version that this process does not serve
  const known = then.operations.find((one) => one.refused === null && one.today.name === served.today.name)
  if (!known?.result) return outcome
  const output = known.result(JSON.parse(doc) as Record<string, unknown>)
  const fits = output !== null && isOutput(served.today, output, context.resource)
  return { ...outcome, answer: fits ? { doc: JSON.stringify(output), revision: 0 } : null }
}

/** Whether an output is as it is declared: a member may have had another type when it was stored. */
function isOutput({ output }: OwnOperation, members: Record<string, unknown>, { settings }: Resource): boolean {
  try {
    readInput(output, members, settings)
    return true
  } catch (problem) {
    if (problem instanceof Problem) return false
    throw problem
  }
}

/** Converts the stored status of a repeat to the newest version; without an answer if a node with a newer declaration stored it. */
function newestStatus({ contexts, representation }: EndpointContext, outcome: Outcome): Outcome {
  if (outcome.is !== 'claimed' || !outcome.answer?.version) return outcome
  const { doc, version } = outcome.answer
  const { versions = ['v1'] } = representation.today.collection
  if (!versions.some((one) => majorOf(one) >= majorOf(version))) return { ...outcome, answer: null }
  const conversions = contexts.get(statusResource)?.representation.today.collection.conversions
  if (!conversions) return outcome
  const status = conversions.toToday(version, JSON.parse(doc) as Record<string, unknown>)
  return { ...outcome, answer: { doc: JSON.stringify(status), revision: 0 } }
}

const outputReply = (answer: ServedOperation['answer'], output: string): Reply => ({
  ...{ status: 200, headers: {} },
  body: answer ? answer(output) : output,
})

/** The refusal of a write of a handler. A reference to a missing row is reported at the input that it came from. */
function callRefusal(context: EndpointContext, { body, key }: Intent, outcome: Outcome): Error {
  if (outcome.is !== 'unmet') return writeRefusal(context, outcome, key)
  const inputOf = (id: string) =>
    Object.entries(body ?? {}).find(([, value]) => JSON.stringify(value).includes(JSON.stringify(id)))?.[0]
  const references = outcome.references.map((one) => ({ ...one, field: `/${inputOf(one.id)}` }))
  const representation = { ...context.representation, names: (field: string) => [field] }
  return writeRefusal({ ...context, representation }, { ...outcome, references }, key)
}

const queuedAnswer: DescribedAnswer = {
  ...{ status: 202, says: 'It will be carried out. The URL of its status is in `Location`.' },
  ...{ body: 'item', headers: ['Location', 'Idempotency-Replayed', 'Preference-Applied', 'Retry-After'] },
}

/** `refunds` are performed as `a refund`. */
const actionInWords = (name: string): string =>
  isPlural(name) ? withArticle(nameInSentence(singularOf(name))) : nameInSentence(name)

function callDescription(
  { resource: { name: collection, title }, resources }: EndpointContext,
  { own: { name, at, input, output, asynchronous }, refused }: ServedOperation,
): WriteDescription {
  const replayed = ['Idempotency-Replayed']
  return {
    id: name,
    summary: () =>
      `Perform ${actionInWords(name)} of ${at === 'item' ? withArticle(title) : nameInSentence(collection)}`,
    ...(refused && { notes: [`${refused.version} withdrew it: it is refused with ${refused.status}.`] }),
    ...{ body: 'input', input, output },
    answers: [
      { status: 200, says: 'It was carried out.', body: 'output', headers: replayed },
      ...(asynchronous ? [queuedAnswer] : []),
    ],
    ...(asynchronous && { answered: resources.get(statusResource) as Resource }),
    refusals: [...handledTypes, ...(refused ? ([refused.status === 410 ? 'gone' : 'conflict'] as const) : [])],
  }
}
