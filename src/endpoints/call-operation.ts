/** Calls an operation that a resource declares: POST below the collection or an item. Part 4, methods. R88. */
import type { Decisions, ProposedCall } from '../flow/decision.ts'
import type { FoundRow } from '../flow/found-row.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Decide, RowWrite } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import { claimOfTransition } from '../idempotency/claim.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { decodeDocument } from '../resources/document.ts'
import type { OwnOperation } from '../resources/machine.ts'
import { readInput } from '../resources/machine.ts'
import { handledTypes, itemConditions } from './described.ts'
import { type EndpointContext, replayReply, writeRefusal } from './item.ts'
import { admitConditionalCreate, preconditionsOf } from './preconditions.ts'
import { admitItem, admitUnlessKeyed, type WriteDescription, writeItemRoute } from './write-item.ts'

/** The routes of the operations of a version that are still declared. */
export const ownOperationRoutes = (scene: EndpointContext): Route[] =>
  scene.resource.operations
    .filter(({ name }) => scene.representation.today.operations.some((one) => one.name === name))
    .map((own) => (own.at === 'item' ? itemOperationRoute(scene, own) : collectionOperationRoute(scene, own)))

const callParts = (scene: EndpointContext, { name, rule, input }: OwnOperation) =>
  ({
    ...{ operation: name, method: 'POST', rule, content: ['application/json'] },
    contentOptional: input.every(({ absent }) => absent !== undefined),
    claims: 'replayed',
    render: (intent: Intent, outcome: Outcome) => renderOutput(scene, intent, outcome),
  }) as const

function itemOperationRoute(scene: EndpointContext, own: OwnOperation): Route {
  const { today } = scene.representation
  const { render, ...parts } = callParts(scene, own)
  const route = writeItemRoute(scene, {
    ...parts,
    at: `item/${own.name}`,
    claiming: (asked) => claimOfTransition(asked, today, own),
    headers: () => ({}),
    admit: admitUnlessKeyed(scene),
    decide: (intent, seen) => {
      admitItem(scene, intent, seen)
      const { doc, hidden, revision } = seen as FoundRow
      return planCall(scene, own, intent, { key: intent.key, revision, before: decodeDocument(today, doc, hidden) })
    },
    about: { ...callDescription(scene, own), headers: itemConditions },
  })
  return { ...route, render }
}

function collectionOperationRoute(scene: EndpointContext, own: OwnOperation): Route {
  const { resource } = scene
  const { today } = scene.representation
  const { refusals, ...about } = callDescription(scene, own)
  return {
    ...callParts(scene, own),
    ...{ at: `collection/${own.name}`, safe: false, resource },
    query: (call) => refuseParameters(call, resource.settings),
    target: (asked: RequestContext) => ({
      read: null,
      admit: () => admitConditionalCreate(preconditionsOf(asked.call, asked.world.now())),
    }),
    parse: (asked) => ({
      ...asked,
      key: { id: '', parent: null, account: asked.caller.account },
      time: asked.world.now(),
      document: null,
      ...claimOfTransition(asked, today, own),
    }),
    plan: (intent): Decide => ({
      do: 'decide',
      read: { do: 'none', collection: today.name, key: intent.key },
      claim: intent.claim,
      admit: () => admitConditionalCreate(preconditionsOf(intent.call, intent.time)),
      decide: () => planCall(scene, own, intent, null),
    }),
    about: {
      ...{ notes: [], headers: ['creating'], ...about },
      refusals: [...refusals, 'precondition-failed', 'invalid-precondition'],
    },
  }
}

/** The answer and what the handler writes; the item is written only if the handler says so. */
function planCall(
  { resource, representation: { today } }: EndpointContext,
  operation: OwnOperation,
  { body, decisions, time }: Intent,
  item: ProposedCall['item'],
): RowWrite {
  const input = readInput(operation.input, body ?? {}, resource.settings)
  return { do: 'keep', ...(decisions as Decisions).call({ resource: today, operation, input, time, item }) }
}

function renderOutput(scene: EndpointContext, intent: Intent, outcome: Outcome): Reply {
  if (outcome.is === 'claimed') return replayReply(scene, intent, outcome, (_, { doc }) => outputReply(doc))
  if (outcome.is === 'answered') return outputReply(outcome.doc)
  throw callRefusal(scene, intent, outcome)
}

const outputReply = (body: string): Reply => ({ status: 200, headers: {}, body })

/** The refusal of what a handler writes. A reference to nothing is the mistake of the input that it came from. */
function callRefusal(scene: EndpointContext, { body, key }: Intent, outcome: Outcome): Error {
  if (outcome.is !== 'unmet') return writeRefusal(scene, outcome, key)
  const inputOf = (id: string) =>
    Object.entries(body ?? {}).find(([, value]) => JSON.stringify(value).includes(JSON.stringify(id)))?.[0]
  const references = outcome.references.map((one) => ({ ...one, field: `/${inputOf(one.id)}` }))
  const representation = { ...scene.representation, names: (field: string) => [field] }
  return writeRefusal({ ...scene, representation }, { ...outcome, references }, key)
}

function callDescription(
  { resource: { name: collection, title } }: EndpointContext,
  { name, at, input, output }: OwnOperation,
): WriteDescription {
  return {
    id: name,
    summary: () => `Carries out ${name} of ${at === 'item' ? `one ${title.toLowerCase()}` : collection}`,
    ...{ body: 'input', input, output },
    answers: [{ status: 200, says: 'It was carried out.', body: 'output', headers: ['Idempotency-Replayed'] }],
    refusals: handledTypes,
  }
}
