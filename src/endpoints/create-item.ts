/** Creates an item below its collection: POST. Part 4, methods. */

import { handledBy } from '../effects/row-writer.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Document, Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Claim, Create } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { colocateId } from '../flow/shard-key.ts'
import { withArticle } from '../formats/naming.ts'
import { claimOfCreate } from '../idempotency/claim.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { ruleFor } from '../resources/declaration.ts'
import { type ItemAddress, stampDocument } from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import { rowRuleOf } from '../rules/row-rules.ts'
import {
  describedCreation,
  replayHeaders,
  scopeTypes,
  stateTypes,
  totalTypes,
  uniqueTypes,
  writesRestricted,
} from './described.ts'
import { writeRules } from './further-rules.ts'
import {
  admitConvertible,
  admitPresent,
  type EndpointContext,
  isAbsent,
  itemPath,
  itemPermissions,
  itemReply,
  ownerOf,
  replayReply,
  restrictedFields,
  writeRefusal,
} from './item.ts'
import { readOfOwner } from './list-items.ts'
import { admitConditionalCreate, preconditionsOf } from './preconditions.ts'
import { preferMinimal } from './prefer.ts'
import { enterWrittenState, operationsOfCreation, stateGuard, timed } from './state-refusal.ts'
import { movedFieldWrites } from './write-item.ts'

export function createItemRoute(context: EndpointContext): Route {
  const { resource } = context
  const concealed = restrictedFields(context)
  const owner = (request: RequestContext) => ownerOf(context, request.params[0] ?? null)
  return {
    operation: 'create',
    method: 'POST',
    at: 'collection',
    safe: false,
    resource,
    rule: ruleFor(resource.access, 'create') as string,
    rowRule: rowRuleOf(context.representation.today, 'create'),
    content: ['application/json'],
    query: (call) => refuseParameters(call, resource.settings),
    target: (request) => ({
      read: readOfOwner(owner(request), request),
      admit: (current) => {
        admitPresent(context, current)
        admitConditionalCreate(preconditionsOf(request.call, request.world))
      },
    }),
    judgeState: ({ id }, request) => stateGuard(context, context.representation.today, { owner: id }, timed(request)),
    parse: (request) => parseCreate(context, request, concealed),
    plan: (intent) => planCreate(context, intent, owner(intent)),
    showsOthers: context.representation.joined.length > 0,
    render: (intent, outcome) => {
      if (outcome.is === 'claimed')
        return replayReply(context, intent, outcome, (...it) => createdReply(context, intent, ...it))
      if (outcome.is !== 'created') throw creationFailure(context, intent, outcome)
      return createdReply(context, intent, intent.key, outcome)
    },
    claim: (request) => claimOfCreate(request, context.representation.today, concealed).claim,
    furtherRules: writeRules(context),
    claims: resource.settings.idempotency.required ? 'required' : 'optional',
    about: createDescription(context),
  }
}

function createDescription(context: EndpointContext): OperationDescription {
  const { resource } = context
  const { settings, key, title, collection } = resource
  const { minimalOnCreate } = settings.prefer
  const chosen = key !== null || settings.resource.id === 'client'
  return {
    id: 'create',
    summary: (below) => `Create ${withArticle(title)}${below}`,
    notes: [],
    body: 'create',
    headers: minimalOnCreate ? ['prefer'] : [],
    answers: [
      describedCreation(resource, [
        ...(minimalOnCreate ? ['Preference-Applied'] : []),
        ...replayHeaders(resource, 'optional'),
      ]),
    ],
    refusals: [
      ...scopeTypes(resource, writesRestricted),
      ...(chosen && settings.deleted.status === 410 ? ['resource-deleted'] : []),
      ...(collection.account === null ? [] : ['resource-not-found']),
      ...['precondition-failed', 'invalid-precondition'],
      ...totalTypes(context),
      ...stateTypes(context, 'create'),
      ...uniqueTypes(context, key !== null || settings.resource.id !== 'typeid'),
    ],
  }
}

function createdReply(context: EndpointContext, intent: Intent, key: ItemAddress, row: StoredText): Reply {
  const { resource } = context
  const reply = itemReply(context, intent, 201, row)
  const path = itemPath(resource, key, intent.carried)
  Object.assign(reply.headers, { Location: path, 'Content-Location': path })
  return resource.settings.prefer.minimalOnCreate ? preferMinimal(intent.call, reply, 201) : reply
}

function parseCreate(context: EndpointContext, request: RequestContext, concealed: ReadonlySet<string>): Intent {
  const resource = context.representation.today
  admitConditionalCreate(preconditionsOf(request.call, request.world))
  const { claim, body } = claimOfCreate(request, resource, concealed)
  const document = context.representation.create(body, itemPermissions(context, request))
  const time = request.world.now()
  const key = newRowKey(resource, document, request, claim)
  const intent = { ...request, key, time, claim, document }
  enterWrittenState(context, intent, null, document)
  stampDocument(resource, document, key, request.params[0] ?? null, time)
  admitConvertible(context, request.caller, document)
  return intent
}

/** An id generated under an idempotency key gets the shard of that key. */
function newRowKey(
  resource: Resource,
  document: Document,
  { params, caller: { account }, world }: RequestContext,
  claim: Claim | null,
): RowKey {
  const parent = resource.collection.composite ? (params[0] as string) : null
  if (resource.key !== null) return { id: String(document[resource.key]), parent, account }
  if (typeof document.id === 'string') return { id: document.id, parent, account }
  const { id: maker } = resource.settings.resource
  const makeId = () => world.newId(resource.prefix as string)
  const id =
    typeof maker === 'function' ? `${resource.prefix}_${maker()}` : claim ? colocateId(makeId(), claim.hash) : makeId()
  if (!resource.isId(id))
    throw new Error(`The generator of ${resource.name} made ${JSON.stringify(id)}, which is not a valid id.`)
  return { id, parent, account }
}

function planCreate(context: EndpointContext, intent: Intent, owner: Create['parent']): Create {
  const { key, time, claim } = intent
  const { today, joined } = context.representation
  const document = intent.document as Document
  const guard = stateGuard(context, today, { owner: owner?.id }, intent)
  const birth = context.writer.create(today, document, {
    key,
    parent: owner,
    time,
    claim,
    guard,
    handled: handledBy(intent, () => operationsOfCreation(context, document)),
  })
  return joined.length === 0 ? birth : { ...birth, joined, ...movedFieldWrites(context, intent, document) }
}

/** Why a creation failed. An id of a custom generator that is or was in use is an internal error. R36, R152. */
function creationFailure(context: EndpointContext, { key }: Intent, outcome: Outcome): Error {
  const { name, settings } = context.representation.today
  const clash =
    outcome.is === 'duplicate' ? (outcome.fields[0] ?? 'id') === 'id' : isAbsent(outcome) && outcome.collection === name
  if (clash && typeof settings.resource.id === 'function')
    return new Error(`The generator of ${name} made ${key.id}, which is or was in use.`)
  // If deletions are secret, a deleted id is refused like one in use. R134
  const secret = outcome.is === 'gone' && outcome.collection === name && settings.deleted.status === 404
  return writeRefusal(context, secret ? { is: 'duplicate', fields: ['id'] } : outcome, key)
}

/** The text of a row and its revision. */
interface StoredText {
  readonly doc: string
  readonly revision: number
}
