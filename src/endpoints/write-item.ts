/** Write item: the common part of PUT, PATCH and DELETE: read, decide and write in one transaction. Part 4, methods. */

import { otherRowsRefusal } from '../auth/allow.ts'
import { isAlwaysRefused, isConcealed, maskConcealed, versionPermissions } from '../changes/convert-body.ts'
import { withOlderNames } from '../changes/queries.ts'
import type { JoinedTexts } from '../changes/representation.ts'
import { handledBy } from '../effects/row-writer.ts'
import { permits } from '../flow/caller.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { Document, Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Decide, RowChange, RowWrite } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import type { ClaimAndBody } from '../idempotency/claim.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { changeDocument, decodeDocument, type MergeValue } from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import { viewNow } from '../views/shown-rows.ts'
import { absenceTypes, conditionTypes, itemConditions, needsCondition } from './described.ts'
import { changeRules } from './further-rules.ts'
import {
  admitConvertible,
  type EndpointContext,
  itemKey,
  itemPermissions,
  itemRead,
  itemReply,
  mayRead,
  replayReply,
  restrictedFields,
  writeRefusal,
} from './item.ts'
import { admitConditionalWrite, preconditionsOf } from './preconditions.ts'
import { preferMinimal } from './prefer.ts'
import { presentItem } from './present-item.ts'
import { changesOthers, enterWrittenState, stateGuard } from './state-refusal.ts'

/** The description of a write, without the parts that are the same for all writes of items. */
export type WriteDescription = Omit<OperationDescription, 'notes' | 'headers'> & Partial<OperationDescription>

interface WriteOperation
  extends Pick<Route, 'operation' | 'method' | 'rule' | 'content' | 'furtherRules' | 'claims'>,
    Partial<Pick<Route, 'at' | 'contentOptional' | 'judgeState' | 'rowRule'>> {
  /** The claim of an idempotency key, if the method takes keys. */
  readonly claiming?: (request: RequestContext) => ClaimAndBody
  readonly headers: (intent: Intent) => Record<string, string>
  /** Throws if the row does not allow the request: it is missing, or a precondition fails. */
  readonly admit: (request: RequestContext, current: ReadResult) => void
  /** The write that follows from the current row, after `admit`. */
  readonly decide: (intent: Intent, current: ReadResult) => RowWrite
  readonly about: WriteDescription
}

export function writeItemRoute(
  context: EndpointContext,
  { claiming, headers, admit, decide, about, ...operation }: WriteOperation,
): Route {
  const { resource } = context
  return {
    at: 'item',
    ...operation,
    safe: false,
    resource,
    query: (call) => refuseParameters(call, resource.settings),
    target: (request) => ({
      read: itemRead(context, request),
      admit: (current) => admit(request, current as ReadResult),
    }),
    parse: (request) => ({
      ...request,
      key: itemKey(context, request),
      time: request.world.now(),
      document: null,
      ...(claiming?.(request) ?? { claim: null }),
    }),
    plan: (intent): Decide => ({
      do: 'decide',
      read: itemRead(context, intent),
      claim: intent.claim,
      admit: (current) => admit(intent, current),
      decide: (current) => decide(intent, current),
    }),
    showsOthers: context.representation.joined.length > 0,
    render: (intent, outcome) => renderWrite(context, intent, outcome, headers(intent)),
    about: {
      notes: [],
      headers: about.body === null ? itemConditions : [...itemConditions, 'prefer'],
      ...about,
      refusals: [...itemTypes(resource, operation.method), ...about.refusals],
    },
  }
}

const itemTypes = (resource: Resource, method: string) => [
  ...absenceTypes(resource),
  ...conditionTypes(resource, needsCondition(method)),
]

/** Checks the preconditions of a request. */
export const admitConditions = (context: EndpointContext, request: RequestContext, current: FoundRow | null): void =>
  admitConditionalWrite(
    preconditionsOf(request.call, request.world),
    current,
    viewNow(context, request.caller, request.world),
    needsCondition(request.call.method),
  )

/** Refuses a request whose item is missing or does not meet its preconditions. */
export function admitItem(context: EndpointContext, request: RequestContext, current: ReadResult): void {
  admitConditions(context, request, presentItem(context, request, current))
}

/** The same, but a repeated key is answered before the item and its state are checked. */
export const admitUnlessKeyed =
  (context: EndpointContext): WriteOperation['admit'] =>
  (request, current) => {
    if (!hasKey(request)) admitItem(context, request, current)
  }

const hasKey = (request: RequestContext & Partial<Intent>): boolean =>
  request.claim === undefined ? request.call.headers['idempotency-key'] !== undefined : request.claim !== null

function renderWrite(
  context: EndpointContext,
  intent: Intent,
  outcome: Outcome,
  headers: Record<string, string>,
): Reply {
  if (outcome.is === 'claimed')
    return replayReply(context, intent, outcome, (_, row) => {
      const reply = itemReply(context, intent, 200, row)
      Object.assign(reply.headers, headers)
      return changedReply(context, intent, reply)
    })
  const written = outcome.is === 'kept' ? outcome.current : outcome
  if (written.is !== 'found' && written.is !== 'changed' && written.is !== 'created')
    throw writeRefusal(context, written, intent.key)
  const reply = itemReply(context, intent, written.is === 'created' ? 201 : 200, written)
  Object.assign(reply.headers, headers)
  if (intent.call.method === 'PUT') dropUnstoredTags(context.resource, intent, reply)
  if (written.is !== 'created') return changedReply(context, intent, reply)
  reply.headers.Location = reply.headers['Content-Location'] as string
  return reply
}

/** The answer to a change: without content for a caller that may change the item but not read it. R168. */
function changedReply({ representation: { today } }: EndpointContext, { call, caller }: Intent, reply: Reply): Reply {
  const short = preferMinimal(call, reply, 204)
  return mayRead(caller, today) ? short : { ...short, status: 204, body: null }
}

/** A PUT answer without content (with `etag.onPut: verbatim` any) has a tag only if the item was stored as sent. R123. */
function dropUnstoredTags({ settings }: Resource, { call, body }: Intent, reply: Reply): void {
  const bare = preferMinimal(call, reply, 204) !== reply || settings.etag.onPut === 'verbatim'
  if (bare && JSON.stringify(body) !== reply.body)
    for (const name of ['ETag', 'Last-Modified']) delete reply.headers[name]
}

/** The joined rows that a PATCH starts from, and how its values are merged with theirs. */
interface PatchedRows {
  readonly rows?: JoinedTexts
  readonly merge?: MergeValue
}

/** The writes to other rows for fields of an older version that have moved to other resources. */
export function movedFieldWrites(
  context: EndpointContext,
  intent: Intent,
  document: Document,
  { rows = [], merge }: PatchedRows = {},
): { effects?: readonly RowChange[] } {
  const others = context.representation.joinedWrites(intent.body as Document, document, rows, merge)
  if (others.length === 0) return {}
  const effects = others.flatMap(({ by, today, patch }): RowChange[] => {
    const id = document[by]
    if (typeof id !== 'string') return [] // without a linked row, the row itself keeps the moved values
    const key = { id, parent: null, account: intent.caller.account }
    const names = (field: string) => context.representation.names(field, today.name)
    const permissions = versionPermissions({ names }, itemPermissions(context, intent, today))
    const { time } = intent
    return [
      {
        ...{ collection: today.name, key, time },
        change: (current) => {
          if (current.is !== 'found') return { do: 'keep' }
          const before = decodeDocument(today, current.doc, current.hidden)
          const wanted = patch(
            maskConcealed({ today }, before, permissions, (...it) => isConcealed(...it) || isAlwaysRefused(...it)),
          )
          const [first] = Object.keys(wanted)
          if (first === undefined && !permissions.blind) return { do: 'keep' }
          admitMovedField(context, intent, today, names(first ?? '')[0] ?? '')
          const guard = stateGuard(context, today, changeOf(today, before), intent)
          const after = withOlderNames({ names }, () => changeDocument(today, wanted, before, key, permissions))
          const always =
            permissions.blind || today.members.some(({ writeOnly, name }) => writeOnly && Object.hasOwn(wanted, name))
          const row = { key, time, current, before, always, guard, handled: handledBy(intent, () => ['change']) }
          return context.writer.update(today, after, row)
        },
      },
    ]
  })
  return { effects }
}

/** Refuses to write a moved field to a row that the caller could not change directly. R169. */
function admitMovedField(context: EndpointContext, { caller }: Intent, today: Resource, field: string): void {
  const rules = changeRules(context, today)
  if (rules.some((one) => permits(caller, one))) return
  const { challenge, resource } = context
  const doing = `write ${field}, now a field of ${today.name},`
  throw otherRowsRefusal(doing, rules[0], { caller, challenge, auth: resource.settings.auth })
}

const changeOf = ({ parent }: Resource, document: Document) =>
  ({ own: { operation: 'change', document }, owner: document[parent?.field ?? ''] }) as const

/**
 * Makes the write of a request to its own row. Even if nothing differs it is a change, if the request sends a write-only
 * value (or a field converted to one), or the caller may not read the item: an unchanged tag would confirm a guessed value.
 */
export function updatePlanner(
  context: EndpointContext,
  operation: 'change' | 'replace',
): (intent: Intent, current: FoundRow, before: Document, document: Document) => RowWrite {
  const hidden = restrictedFields(context, (member) => member.writeOnly)
  return (intent, current, before, document) => {
    const always =
      !mayRead(intent.caller, context.representation.today) ||
      Object.keys(intent.body ?? {}).some((name) => hidden.has(name))
    const { key, time } = intent
    const { today } = context.representation
    // A body that only writes the state carries out a transition, which `writable` does not restrict.
    const others = context.byValue === null || changesOthers(today, before, document)
    const entered = enterWrittenState(context, intent, before, document)
    const { own, owner } = changeOf(today, before)
    const guard = stateGuard(context, today, { owner, ...((entered === null || others) && { own }) }, intent)
    const write = context.writer.update(today, document, {
      key,
      time,
      current,
      before,
      always,
      entered: entered !== null,
      guard,
      handled: handledBy(intent, () => [...(others ? [operation] : []), ...(entered === null ? [] : [entered])]),
    })
    if (write.do === 'update') admitConvertible(context, intent.caller, document, current.joined)
    return write
  }
}
