/** Representation: how a version answers stored rows, and converts request bodies and queries. Part 9, versions. */
import type { RowJoin } from '../flow/plan.ts'
import type { Comparison } from '../resources/change.ts'
import {
  changeDocument,
  createDocument,
  type ItemAddress,
  type MergeValue,
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
import { convertCreate, convertPatch, convertReplace } from './convert-body.ts'
import { type JoinedWrite, joinedWrites, keepUnlinkedValues } from './joined-writes.ts'
import { type JoinedQuery, olderNames, translateFilter, translateSort } from './queries.ts'
import { writtenDerived } from './written-values.ts'

export type { JoinedTexts } from './answer.ts'

/** A field of a version that now belongs to another resource, and the fields there that it is computed from. */
interface MovedFieldOrigin {
  readonly name: string
  readonly today: Resource
  readonly fields: readonly string[]
  /** Whether the link to the other row is optional: without one the field is null, or has its default. */
  readonly isOptional: boolean
}

export interface Representation extends AnswerRenderer {
  /** The resource in its newest version, as it is stored. */
  readonly today: Resource
  /** The other rows that an answer needs. */
  readonly joined: readonly RowJoin[]
  /** Convert the body of a create, replace or patch to the document to store. */
  readonly create: (body: VersionDocument, permissions: Permissions) => VersionDocument
  readonly replace: (
    body: VersionDocument,
    prior: VersionDocument | null,
    address: ItemAddress,
    permissions: Permissions,
    rows?: JoinedTexts,
  ) => VersionDocument
  readonly change: (
    body: VersionDocument,
    prior: VersionDocument,
    address: ItemAddress,
    permissions: Permissions,
    rows?: JoinedTexts,
    merge?: MergeValue,
  ) => VersionDocument
  /** The names in this version of a current field, of this row or of a joined one. */
  readonly names: (field: string, collection?: string) => readonly string[]
  /** Translate a filter and a sort term to current fields; null if impossible. A null `ask` needs no translation. */
  readonly ask: ((comparison: Comparison) => readonly (Comparison | ResolvedQuery<Comparison>)[] | null) | null
  readonly order: (term: string) => readonly (string | ResolvedQuery<string>)[] | null
  /** Whether callers of this version write fields that are derived now. */
  readonly writesDerived: boolean
  /** The fields of this version that now belong to other resources. */
  readonly moved: readonly MovedFieldOrigin[]
  /** The writes of a body to the rows that have some of its fields now; a patch is merged with the values of these rows. */
  readonly joinedWrites: (
    body: VersionDocument,
    document: VersionDocument,
    rows?: JoinedTexts,
    merge?: MergeValue,
  ) => readonly JoinedWrite[]
}

/** A filter or sort on a linked row, or on the value that this row keeps while it has no link. */
interface ResolvedQuery<T> extends Pick<JoinedQuery<T>, 'by' | 'asks' | 'own'> {
  readonly today: Resource
  /** The field that keeps the value while the link is null; null if the link is required. */
  readonly kept: string | null
}

/** The representation of the newest version: everything is as it is stored. */
export const storedRepresentation = (today: Resource): Representation => ({
  today,
  joined: [],
  create: (body, permissions) => createDocument(today, body, permissions),
  replace: (body, prior, address, permissions) => replaceDocument(today, body, prior, address, permissions),
  change: (body, prior, address, permissions, _, merge) =>
    changeDocument(today, body, prior, address, permissions, merge),
  answer: null,
  answers: null,
  names: (field) => [field],
  ask: null,
  order: (term) => [term],
  mayFail: false,
  writesDerived: false,
  moved: [],
  joinedWrites: () => [],
})

/** The representation of an older version, from the changes since then, newest first. */
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
  const names = namesBefore(today, steps, down)
  const own = {
    resource,
    today,
    down,
    up,
    convertDown: compileConversion(down, memberNames(resource)),
    convertUp: compileConversion(up, memberNames(today)),
    names,
    isComputed: (field: string) => up.sources.get(field)?.from === 'made',
  }
  return {
    today,
    joined: down.joined,
    create: (body, permissions) => keepUnlinkedValues(own, body, convertCreate(own, body, permissions)),
    replace: (body, prior, address, permissions, rows = []) =>
      keepUnlinkedValues(own, body, convertReplace(own, body, prior, { address, permissions, rows })),
    change: (body, prior, address, permissions, rows = [], merge) =>
      keepUnlinkedValues(own, body, convertPatch(own, body, prior, { address, permissions, rows, merge }), rows, merge),
    ...answerRenderer(resource, today, down),
    names,
    ask: (comparison) =>
      resolveQueries(translateFilter(steps, comparison, elsewhere), down, resources, comparison.field),
    order: (term) => resolveQueries(translateSort(steps, term, elsewhere), down, resources, term.replace(/^-/, '')),
    writesDerived: writtenDerived(own).length > 0,
    moved: movedFieldOrigins(resource, down, resources),
    joinedWrites: (body, document, rows = [], merge) => joinedWrites(own, body, document, { rows, resources, merge }),
  }
}

/** Returns a version's names of a current field, of its own row or of a joined one. */
const namesBefore =
  ({ name }: Resource, steps: readonly ChangeStep[], down: VersionMapping): Representation['names'] =>
  (field, among = name) =>
    among === name ? olderNames(steps, field) : movedFieldNames(down, among, field)

/** The fields of a version that now belong to other resources, each with the fields it is computed from. */
function movedFieldOrigins(
  resource: Resource,
  { sources, joined }: VersionMapping,
  resources: ReadonlyMap<string, Resource>,
): MovedFieldOrigin[] {
  return memberNames(resource).flatMap((name) => {
    const source = joinedSource(sources.get(name))
    const there = source?.there && joined[source.at]
    if (!there) return []
    const today = resources.get(there.collection) as Resource
    return [{ name, today, fields: source?.there?.fields ?? [], isOptional: source?.otherwise != null }]
  })
}

const memberNames = ({ members }: Resource): string[] => members.map(({ name }) => name)

/** Adds the linked resources in their newest version. */
const resolveQueries = <T extends object | string>(
  queries: readonly (T | JoinedQuery<T>)[] | null,
  { sources }: VersionMapping,
  resources: ReadonlyMap<string, Resource>,
  field: string,
): readonly (T | ResolvedQuery<T>)[] | null =>
  queries?.map((one) => {
    if (typeof one !== 'object' || !('asks' in one)) return one as T
    const kept = joinedSource(sources.get(field))?.otherwise?.name ?? null
    return { by: one.by, asks: one.asks, own: one.own, today: resources.get(one.resource) as Resource, kept }
  }) ?? null

/** This version's names for a field of a joined collection; for any other field, all names that come from there. */
function movedFieldNames({ sources, joined }: VersionMapping, collection: string, field: string): readonly string[] {
  const all = [...sources].flatMap(([name, source]) => {
    const row = joinedSource(source)
    return row && joined[row.at]?.collection === collection ? [{ name, of: row.there?.fields ?? [] }] : []
  })
  const own = all.filter(({ of }) => of.includes(field))
  return (own.length > 0 ? own : all).map(({ name }) => name)
}
