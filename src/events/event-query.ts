/** Event query: the parameters of a request for events. Part 6. */
import { allow, type ChallengeContext } from '../auth/allow.ts'
import { missingCredentials } from '../auth/credentials.ts'
import { invalidQuery, Problem } from '../errors/problem.ts'
import { nobody } from '../flow/caller.ts'
import type { EventQuery, RequestContext } from '../flow/intent.ts'
import { listInWords } from '../formats/naming.ts'
import { timestampText } from '../formats/time-texts.ts'
import { namedParameters, queryViolation } from '../lists/query-string.ts'
import { setMembers } from '../lists/set.ts'
import { readPageSize } from '../lists/window.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Settings } from '../settings.ts'
import { readEventCursor } from './event-cursor.ts'
import { type EventScope, type EventSource, eventTypesOf, maySee, typeHint, visibleEvents } from './event-scope.ts'

const filterNames = ['type', 'resource', 'item', 'since'] as const
const eventParameters: readonly string[] = [...filterNames, 'cursor', 'limit']

type EventContext = Pick<RequestContext, 'call' | 'caller' | 'world'>

export function readEventQuery(
  scope: EventScope,
  { call, caller, world }: EventContext,
  settings: Settings,
  challenge: string,
): EventQuery {
  const { values, faults } = namedParameters(call.target, eventParameters, settings)
  const say = (name: string, message: string) => faults.push(queryViolation('invalid-parameter-value', name, message))
  const named = namedSources(scope, values, settings, say)
  const since = readSince(values.get('since'), say)
  const limit = readPageSize(values, 'limit', settings, faults)
  const bound = JSON.stringify(filterNames.map((name) => values.get(name) ?? null))
  const after = readEventCursor(values.get('cursor'), { bound, settings, world }, faults)
  if (faults.length > 0) throw invalidQuery(faults)
  admitBegun(scope, world)
  const sources = admitSources(scope, named?.sources, { caller, challenge, auth: settings.auth })
  const item = values.get('item')
  return {
    where: {
      ...visibleEvents(sources, caller),
      ...(named?.types && { types: named.types }),
      ...(item !== undefined && { item }),
      ...(since !== undefined && { since }),
    },
    ...{ after, lastId: call.headers['last-event-id'] ?? null, limit, bound },
  }
}

/** Refuses readers while nodes of the former declaration write without events. */
function admitBegun({ sources }: EventScope, { waiting }: EventContext['world']): void {
  const late = sources
    .filter(({ context }) => waiting(context.representation.today.name)?.events)
    .map(({ name }) => name)
  if (late.length === 0) return
  throw new Problem(
    'maintenance',
    `Events of ${listInWords(late)} begin when the change of the database is finished; nodes of the former declaration may still run. Try again later.`,
  )
}

/** A caller that may read none of the resources is refused. */
function admitSources(
  { sources }: EventScope,
  named: readonly EventSource[] | undefined,
  { caller, challenge, auth }: ChallengeContext,
): readonly EventSource[] {
  const requested = named ?? sources
  const seen = requested.filter((one) => maySee(one, caller))
  if (seen.length > 0) return seen
  if (caller.id === nobody.id) throw missingCredentials(challenge, auth)
  const rule = requested.map(({ context }) => ruleFor(context.resource.access, 'read')).find((one) => one !== undefined)
  if (rule !== undefined) allow(caller, rule, challenge)
  throw new Problem(
    'access-denied',
    `The credentials do not permit to read ${listInWords(requested.map(({ name }) => name))}, whose events these are.`,
  )
}

type Say = (name: string, message: string) => void

interface NamedSources {
  readonly sources: readonly EventSource[]
  readonly types?: NonNullable<EventQuery['where']['types']>
}

/** The resources and the types that the parameters name; undefined if they name none. */
function namedSources(
  { sources }: EventScope,
  values: ReadonlyMap<string, string>,
  { list }: Settings,
  say: Say,
): NamedSources | undefined {
  const [resources, types] = (['resource', 'type'] as const).map((name) =>
    membersOf(name, values.get(name), list.maxSetSize, say),
  )
  const names = sources.map(({ name }) => name)
  for (const name of resources ?? [])
    if (!names.includes(name))
      say('resource', `There are no events of ${JSON.stringify(name)}. Events have: ${listInWords(names)}.`)
  const known = sources.flatMap(eventTypesOf)
  for (const type of types ?? [])
    if (!known.includes(type)) say('type', `There is no event type ${JSON.stringify(type)}. ${typeHint(type, known)}`)
  if (!resources && !types) return undefined
  const requested = sources.filter(
    (one) =>
      (resources?.includes(one.name) ?? true) && (types?.some((type) => eventTypesOf(one).includes(type)) ?? true),
  )
  if (!types && requested.length > 0) return { sources: requested }
  const pairs = requested.flatMap(({ collection, prefix, actions }) =>
    [...actions].flatMap(([stored, name]) =>
      types?.includes(`${prefix}.${name}`) ? [[collection, stored] as const] : [],
    ),
  )
  // An empty set, or both filters together, may match no resource; then the list is empty.
  return { sources: requested.length > 0 ? requested : sources, types: pairs }
}

/** The value of a parameter, or the members of its set. */
function membersOf(name: string, text: string | undefined, most: number, say: Say): readonly string[] | undefined {
  if (text === undefined || !text.startsWith('in:(')) return text === undefined ? undefined : [text]
  const members = setMembers(text, most)
  if (typeof members !== 'string') return members
  say(name, members)
  return []
}

function readSince(text: string | undefined, say: Say): number | undefined {
  if (text === undefined) return undefined
  const moment = timestampText(text)
  if (moment === undefined) say('since', 'since must be a timestamp in UTC, as 2026-11-20T09:04:00Z.')
  return moment === undefined ? undefined : Date.parse(moment)
}
