/** Item: the addresses, answers and refusals that the routes of items share. Part 4, endpoints. */
import { restrictedFieldRefusal } from '../auth/allow.ts'
import type { StoredOperation } from '../changes/older-inputs.ts'
import type { ServedSummary } from '../changes/older-summaries.ts'
import { renameViolation } from '../changes/queries.ts'
import type { RowWriter } from '../effects/row-writer.ts'
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import type { CarriedVersion } from '../flow/call.ts'
import { type Caller, permits } from '../flow/caller.ts'
import type { AbsentRow, FoundRow, JoinedRow, ReadResult, RowKey } from '../flow/found-row.ts'
import type { Document, Intent, RequestContext } from '../flow/intent.ts'
import { Memo } from '../flow/memo.ts'
import type { Duplicate, MissingReferences, Outcome, PriorClaim } from '../flow/outcome.ts'
import type { Claim, Read } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import { keptAnswer, keyReuseProblem } from '../idempotency/claim.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { ItemAddress, Permissions } from '../resources/document.ts'
import type { ServedTimer, ServedTransition, Transition } from '../resources/machine.ts'
import type { Member, Resource } from '../resources/resource.ts'
import { encodeDocument } from '../rows/collection.ts'
import type { EmbeddingResource } from '../views/embedder.ts'
import { viewNow } from '../views/shown-rows.ts'
import { etag, tagKeyOf } from '../views/tag.ts'
import { maskDocuments, maskJoined, omitUnseen as seenIn, type View } from '../views/view.ts'
import { isSettled, lastChange } from './preconditions.ts'

/** Everything that the routes of a resource in one version are made from. */
export interface EndpointContext extends EmbeddingResource {
  readonly version: string
  /** The contexts of all resources of the version; complete when the first request arrives. */
  readonly contexts: ReadonlyMap<string, EndpointContext>
  /** The contexts of all versions, by version and by the name of the resource. */
  readonly versions: ReadonlyMap<string, ReadonlyMap<string, EndpointContext>>
  readonly service: string
  /** All resources as they are stored. */
  readonly stored: ReadonlyMap<string, Resource>
  readonly writer: RowWriter
  /** The transitions of the version, each with the one that is carried out. */
  readonly transitions: readonly ServedTransition[]
  readonly timed: readonly ServedTimer[]
  /** The operations that the version declares, each with the one that is carried out. */
  readonly operations: readonly StoredOperation[]
  readonly summaries: readonly ServedSummary[]
  /** The transitions that are carried out where callers of the version write the state; null if they cannot. */
  readonly byValue: readonly Transition[] | null
}

/** The context of the same resource in another version, if it has the resource. */
export const contextIn = (
  { versions, representation: { today } }: Pick<EndpointContext, 'versions' | 'representation'>,
  version: string,
): EndpointContext | undefined =>
  [...(versions.get(version)?.values() ?? [])].find((one) => one.representation.today === today)

/** The version's resource that is stored in a collection. */
const resourceByCollection = (
  { resources }: Pick<EndpointContext, 'resources'>,
  collection: string,
): Resource | undefined => [...resources.values()].find((one) => one.collection.name === collection)

/** The key of the addressed item; an id that cannot exist is refused without a query. R9. */
export function itemKey({ resource }: EndpointContext, { params, caller }: RequestContext): RowKey {
  const id = params[params.length - 1] as string
  const parent = resource.collection.composite ? (params[0] as string) : null
  if (!resource.isId(id)) throw missingItem(resource, id)
  return { id, parent, account: caller.account }
}

export function itemRead(context: EndpointContext, request: RequestContext): Read {
  const key = itemKey(context, request)
  ownerOf(context, key.parent)
  const { joined } = context.representation
  const own: Read = { do: 'read', collection: context.resource.collection.name, key, time: request.world.now() }
  return joined.length === 0 ? own : { ...own, joined }
}

/** Whether a caller may read the items of a resource, as it is stored. */
export const mayRead = (caller: Caller, { access }: Resource): boolean => permits(caller, ruleFor(access, 'read'))

/** The write permissions of a caller on rows of this resource, or of another one to which fields have moved. */
export const itemPermissions = (
  { challenge, resource, representation }: EndpointContext,
  { caller }: Pick<RequestContext, 'caller'>,
  today = representation.today,
): Permissions => ({
  scopes: caller.scopes,
  blind: !mayRead(caller, today),
  refuse: (field, scopes) =>
    restrictedFieldRefusal(
      field,
      'write',
      scopes,
      { caller, challenge, auth: resource.settings.auth },
      { in: 'body', pointer: `/${field}` },
    ),
})

/** The fields of a body that are write-only, readable only with a scope, or converted to such fields. R169. */
export function restrictedFields(
  { resource, representation }: EndpointContext,
  isConcealed = isRestricted,
): ReadonlySet<string> {
  const own = resource.members.filter(isConcealed).map(({ name }) => name)
  const today = representation.today.members.filter(isConcealed).flatMap(({ name }) => representation.names(name))
  const moved = representation.moved.filter(({ today, fields }) =>
    today.members.some((one) => fields.includes(one.name) && isConcealed(one)),
  )
  return new Set([...own, ...today, ...moved.map(({ name }) => name)])
}

const isRestricted = ({ writeOnly, read }: Member): boolean => writeOnly || read !== null

/** The owner in a path; null if the path has none. */
export function ownerOf(
  { resource, resources }: EndpointContext,
  id: string | null,
): { collection: string; id: string } | null {
  if (id === null || !resource.parent) return null
  const owner = resources.get(resource.parent.resource) as Resource
  if (!owner.isId(id)) throw missingItem(owner, id)
  return { collection: owner.collection.name, id }
}

/** The canonical URL of an item, with the version as the request named it. R4, R49. */
export function itemPath(resource: Resource, key: ItemAddress, { prefix, query }: CarriedVersion): string {
  const { name, parent, settings } = resource
  const isPlain = resource.key === null && settings.resource.id === 'typeid' // such ids need no encoding
  const own = `/${name}/${isPlain ? key.id : encodeURIComponent(key.id)}`
  const path = key.parent === null ? own : `/${parent?.resource}/${encodeURIComponent(key.parent)}${own}`
  return prefix + path + (query === '' ? '' : `?${query}`)
}

interface ItemRow extends Pick<FoundRow, 'doc' | 'revision'> {
  readonly joined?: readonly (JoinedRow | null)[]
  readonly document?: Readonly<Record<string, unknown>>
}

/** An answer with an item: the stored text, or its conversion to the version. */
export function itemReply(
  context: EndpointContext,
  { caller, world, carried }: Pick<RequestContext, 'caller' | 'world' | 'carried'>,
  status: number,
  row: ItemRow,
): Reply {
  const { linker } = context
  const view = viewNow(context, caller, world)
  const { doc, joined = [] } = row
  const changed = lastChange(doc, joined)
  const headers: Record<string, string> = {}
  const date = httpDate(changed, world.now())
  if (date !== null) headers['Last-Modified'] = date
  if (view.mode !== 'off') headers.ETag = etag(view, row, tagKeyOf(world))
  const seen = shownDocument(context, carried, view, row)
  return { status, headers, body: linker ? linker(view, carried, doc, seen) : seen, changed }
}

/** A document as a version shows it to a caller, without links between items. */
export function shownDocument(
  { representation: { answer }, fileLinker }: Pick<EndpointContext, 'representation' | 'fileLinker'>,
  carried: CarriedVersion,
  view: View,
  { doc, joined = [], document }: Omit<ItemRow, 'revision'>,
): string {
  const read = view.masked.size === 0 ? document : undefined
  const own = answer === null ? doc : answer(maskDocuments(view, doc), maskJoined(view, joined), view.masked, read)
  return seenIn(view, fileLinker?.(carried, own) ?? own)
}

/** Throws before the write if the version cannot show the new document, so that nothing is stored after a 500. */
export function admitConvertible(
  context: EndpointContext,
  caller: Caller,
  document: Document,
  joined: ItemRow['joined'] = [],
): void {
  const { representation } = context
  if (representation.answer === null) return
  const view = context.view(caller)
  representation.answer(
    maskDocuments(view, encodeDocument(representation.today.collection, document).doc),
    maskJoined(view, joined),
    view.masked,
  )
}

/** Pure: days by their text in documents. Few days occur, and formatting a date is slow. */
const httpDays = new Memo<string, { readonly begins: number; readonly text: string }>(1000)

function httpDayOf(text: string): { readonly begins: number; readonly text: string } {
  const day = httpDays.get(text)
  if (day) return day
  const date = new Date(text)
  return httpDays.set(text, { begins: date.getTime(), text: date.toUTCString().slice(0, -12) })
}

const dayLength = 86_400_000

/** A document's timestamp as an HTTP date; null while another change could still get the same date. R130. */
function httpDate(text: string, now: number): string | null {
  const { begins, text: date } = httpDayOf(text.slice(0, 10))
  return begins + 2 * dayLength <= now || isSettled(text, now) ? `${date}${text.slice(11, 19)} GMT` : null
}

/** The refusal of an item that does not exist or was deleted. R132, R135. */
export function absentItem(context: EndpointContext, { is, collection, id }: AbsentRow): Problem {
  const resource = resourceByCollection(context, collection) as Resource
  if (is === 'missing' || resource.settings.deleted.status === 404) return missingItem(resource, id)
  return new Problem('resource-deleted', `${resource.title} ${shortId(id)} was deleted.`)
}

export function missingItem({ title, settings }: Resource, id: string): Problem {
  const message = `${title} ${shortId(id)} was not found.`
  return settings.missing.status === 410 ? new Problem('gone', message) : new Problem('resource-not-found', message)
}

const shortId = (id: string): string => (id.length > 100 ? `${id.slice(0, 100)}…` : id)

export const isAbsent = (outcome: Outcome): outcome is AbsentRow => outcome.is === 'missing' || outcome.is === 'gone'

/** The store's refusal of a write as a Problem. */
export function writeRefusal(context: EndpointContext, outcome: Outcome, { id }: ItemAddress): Problem {
  if (isAbsent(outcome)) return absentItem(context, outcome)
  // R110: an id that another account uses does not exist for the caller.
  if (outcome.is === 'duplicate' && outcome.fields.length === 0) return missingItem(context.resource, id)
  if (outcome.is === 'duplicate') return duplicateProblem(context, outcome)
  if (outcome.is === 'unmet') return missingReferencesProblem(context, outcome)
  if (outcome.is === 'used') {
    return new Problem(
      'has-dependents',
      `${context.resource.title} cannot be deleted while ${resourceByCollection(context, outcome.collection)?.name ?? outcome.collection} depend on it or on items that would be deleted with it. Delete those first.`,
    )
  }
  throw new Error(`The store answered ${outcome.is} to a write.`)
}

function duplicateProblem({ resource, representation }: EndpointContext, duplicate: Duplicate): Problem {
  const fields = duplicate.fields.flatMap((name) =>
    name === 'id' && resource.key !== null ? [resource.key] : representation.names(name, duplicate.collection),
  )
  const violations = fields.map(
    (name): Violation => ({
      message: `${name} is in use already.`,
      type: 'already-exists',
      in: 'body',
      pointer: `/${name}`,
    }),
  )
  const message = `Another resource has this ${fields.join(' and ')} already; ${fields.length === 1 ? 'it has' : 'together they have'} to be unique.`
  return new Problem('already-exists', message, { violations })
}

function missingReferencesProblem(
  context: EndpointContext,
  { references, collection: own }: MissingReferences,
): Problem {
  return invalidBody(
    references.flatMap(({ field, collection, id }) => {
      const message = `${resourceByCollection(context, collection)?.title ?? 'What'} ${shortId(id)} does not exist.`
      const violation: Violation = { message, type: 'invalid-value', in: 'body', pointer: field }
      return renameViolation(violation, (name) => context.representation.names(name, own))
    }),
  )
}

/** The refusal of a reused idempotency key, with the URL of the item that was created. R96 */
export function repeatProblem(
  context: Pick<EndpointContext, 'resource' | 'resources'>,
  own: Claim,
  prior: PriorClaim,
  carried: CarriedVersion,
): Problem {
  const resource = prior.id === '' ? undefined : resourceByCollection(context, prior.collection) // a key of an operation has no item
  return keyReuseProblem(prior, own, resource ? itemPath(resource, prior, carried) : null, context.resource.settings)
}

/** Replays the first answer if it is kept, otherwise refuses the repeat. R98 */
export function replayReply(
  context: EndpointContext,
  { claim, carried }: Intent,
  prior: PriorClaim,
  render: (key: ItemAddress, row: ItemRow) => Reply,
): Reply {
  const answer = keptAnswer(prior, claim as Claim)
  if (answer === null) throw repeatProblem(context, claim as Claim, prior, carried)
  const reply = render(prior, answer)
  reply.headers['Idempotency-Replayed'] = 'true'
  delete reply.headers['Last-Modified'] // the first answer did not have it, as it was made in the second of the change
  return reply
}

/** Refuses the request if its item, or the owner in its path, does not exist. */
export function admitPresent(context: EndpointContext, target: ReadResult | null): void {
  if (target && isAbsent(target)) throw absentItem(context, target)
}
