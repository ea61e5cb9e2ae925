/** Form: how a version sends and takes what is stored, both ways. Part 9, versions. */
import type { RowJoin } from '../flow/plan.ts'
import type { Comparison } from '../resources/change.ts'
import {
  changeDocument,
  createDocument,
  type ItemAddress,
  type Permissions,
  replaceDocument,
} from '../resources/document.ts'
import type { Resource } from '../resources/resource.ts'
import { type AnswerRenderer, answerRenderer, type JoinedTexts } from './answer.ts'
import {
  type ChangeStep,
  compileConversion,
  type FindMovedField,
  identityMapping,
  joinedSource,
  mapDown,
  mapUp,
  type VersionDocument,
  type VersionMapping,
} from './conversion.ts'
import { type JoinedWrite, joinedWrites, keepUnlinkedValues } from './joined-writes.ts'
import { type JoinedQuery, olderNames, translateFilter, translateSort } from './queries.ts'
import { convertCreate, convertPatch, convertReplace } from './writes.ts'

export type { JoinedTexts } from './answer.ts'

/** A field of a version that rows of another resource have today, and the fields that it is made of there. */
interface MovedFieldOrigin {
  readonly name: string
  readonly today: Resource
  readonly fields: readonly string[]
}

export interface Representation extends AnswerRenderer {
  /** The resource as it is stored. */
  readonly today: Resource
  /** The other rows that an answer is completed from. */
  readonly joined: readonly RowJoin[]
  /** The fields of a new item, of one in place of another, and of a changed one, as they are stored. */
  readonly create: (body: VersionDocument, hand: Permissions) => VersionDocument
  readonly replace: (
    body: VersionDocument,
    seen: VersionDocument | null,
    address: ItemAddress,
    hand: Permissions,
    rows?: JoinedTexts,
  ) => VersionDocument
  readonly change: (
    body: VersionDocument,
    seen: VersionDocument,
    address: ItemAddress,
    hand: Permissions,
    rows?: JoinedTexts,
  ) => VersionDocument
  /** The names that a field of today has, of the own row or of another one that has fields of it. */
  readonly names: (field: string, collection?: string) => readonly string[]
  /** What a comparison and an order ask of today's fields; null where they cannot be asked. */
  readonly ask: ((comparison: Comparison) => readonly (Comparison | ResolvedQuery<Comparison>)[] | null) | null
  readonly order: (term: string) => readonly (string | ResolvedQuery<string>)[] | null
  /** The fields that other rows have today. */
  readonly moved: readonly MovedFieldOrigin[]
  /** What a body writes to other rows, which have fields of it today; a patch is merged with what they have. */
  readonly joinedWrites: (
    body: VersionDocument,
    document: VersionDocument,
    rows?: JoinedTexts,
  ) => readonly JoinedWrite[]
}

/** What is asked of a row that a field of the own one leads to, or of what stands in its place where it leads to none. */
interface ResolvedQuery<T> extends Pick<JoinedQuery<T>, 'by' | 'asks' | 'own'> {
  readonly today: Resource
  /** The own field that keeps what no other row has; null where each row leads to one. */
  readonly kept: string | null
}

/** The form of the newest version: everything is as it is stored. */
export const storedRepresentation = (today: Resource): Representation => ({
  today,
  joined: [],
  create: (body, hand) => createDocument(today, body, hand),
  replace: (body, seen, address, hand) => replaceDocument(today, body, seen, address, hand),
  change: (body, seen, address, hand) => changeDocument(today, body, seen, address, hand),
  answer: null,
  answers: null,
  names: (field) => [field],
  ask: null,
  order: (term) => [term],
  moved: [],
  joinedWrites: () => [],
})

/** The form of an older version, from the changes since then, the newest first. */
export function olderRepresentation(
  resource: Resource,
  today: Resource,
  steps: readonly ChangeStep[],
  { elsewhere, resources }: { elsewhere: FindMovedField; resources: ReadonlyMap<string, Resource> },
): Representation {
  const down = steps.reduce(
    (program, step) => mapDown(program, step, elsewhere),
    identityMapping(today.name, memberNames(today)),
  )
  const up = steps.toReversed().reduce(mapUp, identityMapping(today.name, memberNames(resource)))
  const names = (field: string, among = today.name) =>
    among === today.name ? olderNames(steps, field) : movedFieldNames(down, among, field)
  const own = {
    resource,
    today,
    down,
    up,
    convertDown: compileConversion(down, memberNames(resource)),
    convertUp: compileConversion(up, memberNames(today)),
    names,
    made: (field: string) => up.sources.get(field)?.from === 'made',
  }
  return {
    today,
    joined: down.joined,
    create: (body, hand) => keepUnlinkedValues(own, body, convertCreate(own, body, hand)),
    replace: (body, seen, address, hand, rows = []) =>
      keepUnlinkedValues(own, body, convertReplace(own, body, seen, { address, hand, rows })),
    change: (body, seen, address, hand, rows = []) =>
      keepUnlinkedValues(own, body, convertPatch(own, body, seen, { address, hand, rows }), rows),
    ...answerRenderer(resource, today, down),
    names,
    ask: (comparison) =>
      resolveQueries(translateFilter(steps, comparison, elsewhere), down, resources, comparison.field),
    order: (term) => resolveQueries(translateSort(steps, term, elsewhere), down, resources, term.replace(/^-/, '')),
    moved: movedFieldOrigins(resource, down, resources),
    joinedWrites: (body, document, rows = []) => joinedWrites(own, body, document, { rows, resources }),
  }
}

/** The fields of a version that other rows have, each with what it is made of there. */
function movedFieldOrigins(
  resource: Resource,
  { sources, joined }: VersionMapping,
  resources: ReadonlyMap<string, Resource>,
): MovedFieldOrigin[] {
  return memberNames(resource).flatMap((name) => {
    const source = joinedSource(sources.get(name))
    const there = source?.there && joined[source.at]
    if (!there) return []
    return [{ name, today: resources.get(there.collection) as Resource, fields: source?.there?.fields ?? [] }]
  })
}

const memberNames = ({ members }: Resource): string[] => members.map(({ name }) => name)

/** With the resources that are led to, as they are today. */
const resolveQueries = <T extends object | string>(
  found: readonly (T | JoinedQuery<T>)[] | null,
  { sources }: VersionMapping,
  resources: ReadonlyMap<string, Resource>,
  field: string,
): readonly (T | ResolvedQuery<T>)[] | null =>
  found?.map((one) => {
    if (typeof one !== 'object' || !('asks' in one)) return one as T
    const kept = joinedSource(sources.get(field))?.otherwise?.name ?? null
    return { by: one.by, asks: one.asks, own: one.own, today: resources.get(one.resource) as Resource, kept }
  }) ?? null

/** The names of the fields that another row has today: of the one, else of all that it has. */
function movedFieldNames({ sources, joined }: VersionMapping, collection: string, field: string): readonly string[] {
  const all = [...sources].flatMap(([name, source]) => {
    const row = joinedSource(source)
    return row && joined[row.at]?.collection === collection ? [{ name, of: row.there?.fields ?? [] }] : []
  })
  const own = all.filter(({ of }) => of.includes(field))
  return (own.length > 0 ? own : all).map(({ name }) => name)
}
