/** Event scope: the events of a version, and those of them that a caller may read. Part 6. */

import type { EndpointContext } from '../endpoints/item.ts'
import { type Caller, permits } from '../flow/caller.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { ReadEvents, VisibleRows } from '../flow/plan.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { ruleFor } from '../resources/declaration.ts'
import { eventPrefixOf } from '../resources/resource-collection.ts'
import { hasRowRules, visibleRows } from '../rules/row-rules.ts'

/** The events of a resource, by the names of a version. */
export interface EventSource {
  readonly context: EndpointContext
  /** The name of the resource in the version. */
  readonly name: string
  /** The name of the stored collection. */
  readonly collection: string
  /** The first part of event types, as `order`. */
  readonly prefix: string
  /** The actions as they are stored, also under former names, each with its name in the version. */
  readonly actions: Map<string, string>
  /** The stored actions that new events can have; no event has the initial state, for example, as no transition enters it. */
  readonly current: ReadonlySet<string>
}

export interface EventScope {
  /** The version. */
  readonly label: string
  readonly service: string
  readonly sources: readonly EventSource[]
}

/** The resources of a version whose changes are events. */
export function eventScope(service: string, label: string, contexts: Iterable<EndpointContext>): EventScope {
  const sources = [...contexts].flatMap((context): EventSource[] => {
    const { resource, representation } = context
    if (representation.today.collection.eventPrefix === undefined) return []
    const { name, declaration, settings } = resource
    const collection = representation.today.name
    const { transitions = [], timed = [] } = representation.today.machine ?? {}
    const current = new Set([...plainActions, ...[...transitions, ...timed].map(({ to }) => to)])
    const prefix = eventPrefixOf(name, declaration, settings)
    return [{ context, name, collection, prefix, actions: actionsOf(context), current }]
  })
  return { label, service, sources }
}

/** The actions of rows without states. */
const plainActions: readonly string[] = ['created', 'updated', 'deleted']

/** A transition to a state that the version does not have is an update there. */
export function actionsOf({ resource, representation, transitions, timed }: EndpointContext): Map<string, string> {
  const [own, today] = [resource.machine, representation.today.machine]
  const named = new Map([...timed, ...transitions].map(({ own: { to }, today: stored }) => [stored.to, to] as const))
  const entered = (today?.states ?? []).map((state) => {
    const name = named.get(state) ?? (own?.states.includes(state) ? state : 'updated')
    return [state, name] as const
  })
  return new Map([...plainActions.map((one) => [one, one] as const), ...entered])
}

/** How many types an error names. */
const mostNamed = 20

/** Suggests the nearest type, and names the allowed ones. */
export function typeHint(type: string, allowed: readonly string[]): string {
  if (allowed.length === 0) return 'It has no events.'
  const guess = nearestName(type, allowed)
  const rest = allowed.length - mostNamed
  const named = rest > 0 ? [...allowed.slice(0, mostNamed), `${rest} more`] : allowed
  return `${guess === undefined ? '' : `Did you mean ${guess}? `}Allowed: ${listInWords(named, 'and')}.`
}

/** Adds the names that states had in other versions: events keep the name of the time of their change. */
export function addFormerActions<S extends ReadonlyMap<string, EventScope>>(scopes: S): S {
  const sources = [...scopes.values()].flatMap((one) => one.sources)
  for (const own of Map.groupBy(sources, ({ collection }) => collection).values()) {
    const today = new Set(own.flatMap(({ actions }) => [...actions.keys()]))
    const former = own.flatMap(({ actions }) => [...actions].filter(([, name]) => !today.has(name)))
    for (const { actions } of own)
      for (const [stored, name] of former) actions.set(name, actions.get(stored) ?? 'updated')
  }
  return scopes
}

/** Whether a caller may read the events of a resource: those whose items it may read. */
export const maySee = ({ context: { resource } }: EventSource, caller: Caller): boolean =>
  permits(caller, ruleFor(resource.access, 'read')) && (resource.collection.account === null || caller.account !== null)

/** The events of resources that a caller may read. */
export function visibleEvents(
  sources: readonly EventSource[],
  caller: Caller,
): Pick<ReadEvents, 'open' | 'owned' | 'account' | 'visible'> {
  const seen = sources.filter((one) => maySee(one, caller))
  const namesOf = (own: boolean) =>
    seen
      .filter(({ context }) => (context.resource.collection.account !== null) === own)
      .map(({ collection }) => collection)
  const visible = rowsOfEvents(sources, caller)
  return { open: namesOf(false), owned: namesOf(true), account: caller.account, ...(visible && { visible }) }
}

/** The rows whose events a caller may read; undefined for those of all rows. An event is that of the row as the change left it. */
function rowsOfEvents(sources: readonly EventSource[], caller: Caller): VisibleRows | undefined {
  const stored = sources[0]?.context.stored
  return stored && sources.some(({ context }) => hasRowRules(context.representation.today))
    ? visibleRows(stored, caller)
    : undefined
}

/** Whether a caller may read an event that was found by its id. */
export function maySeeEvent(source: EventSource, { key, doc, collection }: StoredEvent, caller: Caller): boolean {
  const { account } = source.context.resource.collection
  const isOwn = account === null || key.account === caller.account
  return maySee(source, caller) && isOwn && (rowsOfEvents([source], caller)?.of(collection)?.matches(doc) ?? true)
}

/** The type of an event in a version. R205. */
export const eventTypeOf = ({ prefix, actions }: EventSource, { action }: Pick<StoredEvent, 'action'>): string =>
  `${prefix}.${actions.get(action) ?? 'updated'}`

/** All types of events of a resource in a version. */
export const eventTypesOf = ({ prefix, actions, current }: EventSource): readonly string[] => [
  ...new Set([...actions].flatMap(([stored, name]) => (current.has(stored) ? [`${prefix}.${name}`] : []))),
]
