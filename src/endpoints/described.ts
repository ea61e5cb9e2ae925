/** Described: the answers, headers and refusals that the descriptions of several operations share. Part 13; part 4. */
import type { RefusalType } from '../errors/catalogue.ts'
import type { DescribedAnswer, Endpoint, RequestHeader, Route } from '../flow/route.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { EndpointContext } from './item.ts'

/** The tag of an answer, if the resource has tags. */
export const tagHeaders = ({ settings }: Resource): readonly string[] => (settings.etag.mode === 'off' ? [] : ['ETag'])
/** The validators of an item. */
const describedTags = (resource: Resource): readonly string[] => [...tagHeaders(resource), 'Last-Modified']

export const describedPage = (resource: Resource): DescribedAnswer => ({
  status: 200,
  says: 'A page of the list.',
  body: 'page',
  headers: [...tagHeaders(resource), 'Link'],
})

/** An answer with the item. */
export const describedItem = (
  status: number,
  says: string,
  resource: Resource,
  headers: readonly string[] = [],
): DescribedAnswer => ({ status, says, body: 'item', headers: [...describedTags(resource), ...headers] })

export const describedCreation = (resource: Resource, headers: readonly string[] = []): DescribedAnswer =>
  describedItem(201, `${resource.title} was created.`, resource, ['Location', 'Content-Location', ...headers])

export const describedUnchanged = (resource: Resource): DescribedAnswer => ({
  status: 304,
  says: 'It is as the client has it.',
  body: null,
  headers: [...describedTags(resource), 'Content-Location', 'Link'],
  name: 'NotModified',
})

/** The answer to `Prefer: return=minimal`. */
export const describedMinimal = (resource: Resource, headers: readonly string[]): DescribedAnswer => ({
  status: 204,
  says: 'It was done, and is answered without content as Prefer asked.',
  body: null,
  headers: [...describedTags(resource), 'Preference-Applied', ...headers],
  name: 'DoneInShort',
})

export const itemConditions: readonly RequestHeader[] = ['match', 'noneMatch', 'unmodifiedSince']

/** The header of a replayed answer, if the operation replays answers. R98. */
export const replayHeaders = ({ settings }: Resource, claims: Route['claims']): readonly string[] =>
  claims !== null && settings.idempotency.mode === 'replay' ? ['Idempotency-Replayed'] : []

/** The refusals of an item that is not there. */
export const absenceTypes = ({ settings }: Resource): readonly RefusalType[] => [
  settings.missing.status === 410 ? 'gone' : 'resource-not-found',
  ...(settings.deleted.status === 410 ? ['resource-deleted'] : []),
]

/** Whether a method needs a condition with `concurrency.required`: POST of a transition or an operation does not. R129. */
export const needsCondition = (method: string): boolean => method !== 'POST'

/** The refusals of an item by its preconditions. */
export const conditionTypes = ({ settings }: Resource, isNeeded = true): readonly RefusalType[] => [
  ...['precondition-failed', 'invalid-precondition'],
  ...(settings.concurrency.required && isNeeded ? ['precondition-required'] : []),
]

/** The refusals of a caller without the scopes of fields. */
export const scopeTypes = ({ members }: Resource, takesScope: (member: Member) => boolean): readonly RefusalType[] =>
  members.some(takesScope) ? ['credentials-missing', 'insufficient-scope'] : []

export const writesRestricted = ({ write }: Member): boolean => write.length > 0

/** The refusal of values that must be unique, in the own row and in rows that are written with it. */
export const uniqueTypes = (
  { resource, representation, stored }: EndpointContext,
  ...more: readonly boolean[]
): readonly RefusalType[] => {
  const others = representation.joined.flatMap(({ collection }) => stored.get(collection)?.collection ?? [])
  const kept = [resource.collection, ...others].some(({ uniques }) => uniques.some(({ fields }) => fields.length > 0))
  return kept || more.includes(true) ? ['already-exists'] : []
}

/** The refusal of a write by the state of the item, of its owner, or of rows that are written with it; of derived values too. */
export function stateTypes(
  { representation: { today, moved, writesDerived }, byValue }: EndpointContext,
  operation: 'create' | 'change' | 'remove',
): readonly RefusalType[] {
  const derived = operation !== 'remove' && writesDerived ? ['conflict'] : []
  if (byValue !== null && operation !== 'remove') return ['invalid-state', ...derived]
  const others = operation === 'remove' ? [] : moved.map((one) => one.today)
  const own = operation !== 'create' && (today.machine?.writable[operation] ?? null) !== null
  const ofOthers = others.some(({ machine, parent }) => (machine?.writable.change ?? parent?.while ?? null) !== null)
  return own || ofOthers || (today.parent?.while ?? null) !== null ? ['invalid-state', ...derived] : derived
}

/** The refusal of a write from which a value of another row would follow that does not fit its field; `more` are further collections that it writes. */
export function totalTypes(
  { stored, representation: { today, moved } }: EndpointContext,
  more: Iterable<string> = moved.map((one) => one.today.name),
): readonly RefusalType[] {
  const written = new Set([today.name, ...more])
  for (const { collection } of stored.values())
    if (collection.aggregates.some((one) => written.has(one.collection))) return ['conflict']
  return []
}

/** The refusals of writes of handlers to other rows. */
export const handledTypes = ['already-exists', 'invalid-state', 'has-dependents', 'conflict'] as const

export const isBelowOwner = ({ template }: Endpoint, { parent }: Resource): boolean =>
  parent !== null && template.startsWith(`/${parent.resource}/{`)
