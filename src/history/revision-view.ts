/** Revision view: a revision as a version shows it to a caller. R237. */
import { ConversionError } from '../changes/conversion-error.ts'
import { contextIn, type EndpointContext } from '../endpoints/item.ts'
import { actionsOf } from '../events/event-scope.ts'
import { recordedDocument } from '../events/event-text.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { StoredRevision } from '../flow/outcome.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { emptiedAction } from '../ledgers/outbox.ts'
import { hasPersonal } from '../rows/collection.ts'
import { viewNow } from '../views/shown-rows.ts'
import { maskDocuments, type View } from '../views/view.ts'
import { type JsonObject, mergePatchBetween } from './merge-patch-between.ts'

/** A revision as an entry of the list. */
interface RevisionEntry {
  readonly id: string
  readonly at: string
  readonly by: string | null
  readonly type: string
  readonly changes: JsonObject
}

export interface RevisionView {
  /** The item as it was, as JSON. */
  readonly text: (event: StoredEvent) => string
  readonly between: (from: StoredEvent, to: StoredEvent) => JsonObject
  readonly entry: (revision: StoredRevision) => RevisionEntry
  /** Whether the caller sees any difference, or saw one before it was erased: a change of hidden fields alone must not be noticed. */
  readonly isShown: (event: StoredEvent, before: StoredEvent | null) => boolean
}

/** `actions` are the stored actions with their names in the version. */
export function revisionView(
  context: EndpointContext,
  actions: ReadonlyMap<string, string>,
  { caller, world }: Pick<RequestContext, 'caller' | 'world'>,
): RevisionView {
  const { resource, representation } = context
  const view = viewNow(context, caller, world)
  const { today } = representation
  const hidesStates = view.unreadable.has(resource.machine?.field ?? '') || view.masked.has(today.machine?.field ?? '')
  const seesPersonal = !today.collection.fields.some((one) => hasPersonal([one]) && view.masked.has(one.name))
  const text = (event: StoredEvent): string => recordedDocument(context, event, view)
  const document = (event: StoredEvent) => JSON.parse(text(event)) as JsonObject
  const typeOf = ({ action }: StoredEvent): string => {
    const name = actions.get(action) ?? 'updated'
    return hidesStates && !plainActions.includes(action) ? 'updated' : name
  }
  const between = (from: StoredEvent, to: StoredEvent) => mergePatchBetween(document(from), document(to))
  const showsChange = (from: StoredEvent, to: StoredEvent): boolean => {
    try {
      return changesMore(between(from, to), resource.updated)
    } catch (failure) {
      if (!(failure instanceof ConversionError)) throw failure
      return representation.joined.length > 0 || changesStored(view, [from, to], today.updated)
    }
  }
  return {
    text,
    between,
    entry: ({ event, before, by }) => {
      const type = typeOf(event)
      const changes = before === null || type === 'created' ? document(event) : between(before, event)
      return { id: String(event.sequence), at: timestampOf(event.time), by, type, changes }
    },
    isShown: (event, before) =>
      before === null ||
      typeOf(event) !== 'updated' ||
      (event.action === emptiedAction && seesPersonal) ||
      showsChange(before, event),
  }
}

/** Whether a revision that the version cannot show has changed a stored value that the caller may see. Then the page with it is refused. */
function changesStored(view: View, revisions: readonly [from: StoredEvent, to: StoredEvent], updated: string): boolean {
  const [from, to] = revisions.map(({ doc }) => JSON.parse(maskDocuments(view, doc))) as [JsonObject, JsonObject]
  return changesMore(mergePatchBetween(from, to), updated)
}

/** Whether a patch changes more than the time of the change. */
const changesMore = (patch: JsonObject, updated: string): boolean => Object.keys(patch).some((name) => name !== updated)

const plainActions: readonly string[] = ['created', 'updated', 'deleted']

/** The stored actions of a resource with their names in a version, also those that states had in other versions. */
export function revisionActions(context: EndpointContext): ReadonlyMap<string, string> {
  const own = actionsOf(context)
  const names = new Map(own)
  for (const version of context.versions.keys()) {
    const other = contextIn(context, version)
    for (const [stored, name] of other ? actionsOf(other) : [])
      if (!names.has(name)) names.set(name, own.get(stored) ?? 'updated')
  }
  return names
}
