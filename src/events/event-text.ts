/** Event text: an event as a version shows it to a caller. Part 6. R207, R208. */
import { conversionErrorIn } from '../changes/conversion-error.ts'
import type { Representation } from '../changes/representation.ts'
import { type EndpointContext, shownDocument } from '../endpoints/item.ts'
import type { CarriedVersion } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import type { JoinedRow, RowKey, StoredEvent } from '../flow/found-row.ts'
import { eventRowName } from '../flow/outcome.ts'
import type { ServiceWorld } from '../flow/world.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { isRowLogDue } from '../limits/log-throttle.ts'
import { identifyingFields } from '../resources/references.ts'
import type { Resource } from '../resources/resource.ts'
import { viewNow } from '../views/shown-rows.ts'
import type { View } from '../views/view.ts'
import { makeEventFeed } from './event-feed.ts'
import { type EventScope, type EventSource, eventTypeOf } from './event-scope.ts'

interface Reader {
  readonly caller: Caller
  readonly world: ServiceWorld
}

/** An event as JSON: its content, in the form of the settings. */
export function eventText(
  scope: EventScope,
  source: EventSource,
  event: StoredEvent,
  caller: Caller,
  world: ServiceWorld,
): string {
  const { settings } = source.context.resource
  const type = eventTypeOf(source, event)
  const data =
    settings.events.payload === 'thin'
      ? identityText(source.context, event)
      : itemText(source.context, event, { caller, world })
  const form =
    settings.events.format === 'cloudevents' ? cloudEvent(scope, source, event, type) : plainEvent(scope, event, type)
  return `${JSON.stringify(form).slice(0, -1)},"data":${data}}`
}

/**
 * The document of the item, or only its identifying fields if the version cannot show it: readers could never pass an event
 * that fails. A request for the item itself is refused.
 */
function itemText(context: EndpointContext, event: StoredEvent, { caller, world }: Reader): string {
  try {
    return recordedDocument(context, event, viewNow(context, caller, world))
  } catch (error) {
    const failed = conversionErrorIn(error)
    if (!failed) throw error
    const about = { version: context.version, resource: failed.resource, id: failed.id, err: failed.cause }
    const { log } = world.state.of(makeEventFeed, null).sources ?? {}
    if (isRowLogDue(world, about)) log?.error(about, 'An event was sent without its item.')
    return identityText(context, event)
  }
}

/** The identifying fields of an item: its id, and the id of its owner if ids are unique only below owners. */
function identityText({ resource }: EndpointContext, { key }: StoredEvent): string {
  const partOf = (name: string) => (name === resource.parent?.field ? key.parent : key.id)
  return JSON.stringify(Object.fromEntries(identifyingFields(resource).map((name) => [name, partOf(name)])))
}

/** The media type of an event's text. */
export const eventMediaType = (format: string): string =>
  format === 'cloudevents' ? 'application/cloudevents+json' : 'application/json'

/** The document of an event as it was at the change. */
export function recordedDocument(context: EndpointContext, event: StoredEvent, view: View): string {
  const joined = joinedRows(context.representation, event)
  return shownDocument(context, versionInPath(context), view, { doc: event.doc, joined })
}

/** The version for paths in events, which no request has named. */
function versionInPath({ version: label, versions, resource }: EndpointContext): CarriedVersion {
  const { server, versions: own } = resource.settings
  const inPath = versions.size > 1 && own.carriers.includes('path') ? `/${label}` : ''
  return { label, inPath, prefix: server.basePath + inPath, query: '' }
}

/** The rows that a version shows values of, as they were at the change. */
function joinedRows({ joined }: Representation, { doc, joined: rows }: StoredEvent): readonly (JoinedRow | null)[] {
  if (joined.length === 0 || rows.size === 0) return []
  const document = JSON.parse(doc) as Readonly<Record<string, unknown>>
  return joined.map(({ by, collection }) => rows.get(eventRowName(collection, document[by])) ?? null)
}

/** R207. */
const plainEvent = ({ label }: EventScope, { id, time, sequence }: StoredEvent, type: string) => ({
  ...{ id, type, timestamp: timestampOf(time), version: label, sequence },
})

/** The id of the item, after that of its owner if it is only unique there: the subject is unique in a source. R208. */
const subjectOf = ({ collection }: Resource, { parent, id }: RowKey): string =>
  collection.composite ? [parent as string, id].map(encodeURIComponent).join('/') : id

/** R208: the sequence is that of the extension, the version is named by the schema of the data. */
const cloudEvent = (
  { label, service }: EventScope,
  { name, context: { resource } }: EventSource,
  { id, key, time, sequence }: StoredEvent,
  type: string,
) => ({
  ...{ specversion: '1.0', id, source: `/${name}`, type, subject: subjectOf(resource, key), time: timestampOf(time) },
  ...{ datacontenttype: 'application/json', dataschema: `urn:${service}:${label}`, sequence: String(sequence) },
})
