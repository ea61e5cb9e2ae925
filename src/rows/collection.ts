/** Collection: a resource as the store sees it: a table of documents with index columns. Part 2, resources. */

export type { Cell } from '../fields/kind.ts'
export { aggregateOf, type StoredAggregate } from './aggregates.ts'
export {
  type Behaviour,
  isSameBehaviour,
  renamedStates,
  type Waiting,
  waitingParts,
  withUnknownTotals,
} from './behaviour.ts'
export {
  type Column,
  cellIn,
  cellsAfter,
  cellsIn,
  columnOf,
  compareCells,
  folded,
  rememberedColumn,
  wordColumnOf,
  wordColumns,
} from './column.ts'
export type { FieldRules } from './field-rules.ts'
export {
  type DocumentTexts,
  type FormerShape,
  hasKeptForOthers,
  keptForOthers,
  keptWithoutWriteOnly,
  olderViews,
  type RowView,
  type ShapeConversions,
  type StoredDocument,
  viewRow,
  withKeptForOthers,
} from './kept-for-others.ts'
export { hasPersonal, personalNames, personalValues, withoutPersonal } from './personal.ts'
export { changeTime, eventIdOf, updatedAtIn, withUpdatedAt } from './recorded-change.ts'
export { kindsIn, omitMembers, type Renaming, renameMembers, renamePath } from './renamed-members.ts'
export {
  completeDocument,
  type DocumentJoin,
  isSameJson,
  keptForOthersKey,
  type Members,
  type MovedValue,
  withDerivedValues,
} from './shape.ts'

import type { FieldKinds } from '../fields/kind.ts'
import type { StoredAggregate } from './aggregates.ts'
import type { Behaviour, FormerStateNames } from './behaviour.ts'
import type { Column } from './column.ts'
import type { FieldRules } from './field-rules.ts'
import type { DocumentTexts } from './kept-for-others.ts'
import type { DocumentJoin, Members, MovedValue, ShapedField } from './shape.ts'

export interface Unique {
  readonly name: string
  readonly fields: readonly string[]
  readonly columns: readonly string[]
}

/** A collection whose rows refer to this one, and whether they prevent a deletion here or are deleted too. R138. */
export interface Dependent {
  readonly collection: string
  /** The column with the id; null for ids in lists, which are searched for in the documents. */
  readonly column: string | null
  /** The ids of this collection that a document refers to. */
  readonly ids: (document: Record<string, unknown>) => readonly string[]
  readonly onDelete: 'restrict' | 'cascade'
  /** Set if its rows are pairs: they are deleted with either row, whatever their account. */
  readonly pairs?: true
}

export interface Collection {
  readonly name: string
  readonly table: string
  /** How rows are identified, in words. It cannot change while there are rows. */
  readonly identity: string
  /** The parent collection: its row must exist, its id is in `column`, and in documents as `field`. */
  readonly parent: { readonly collection: string; readonly column: string; readonly field: string } | null
  /** Whether rows are identified below their parent: the primary key is the id of the parent and their own. */
  readonly composite: boolean
  /** The name of the account that a row belongs to; null without one. The primary key begins with the account. R170. */
  readonly account: string | null
  readonly columns: readonly Column[]
  /** The kinds of fields, to restore columns of a former declaration. */
  readonly kinds: FieldKinds
  readonly uniques: readonly Unique[]
  /** Columns of composite indexes, descending ones with a minus sign. */
  readonly indexes: readonly (readonly string[])[]
  /** Further indexes that find the rows which refer to a row. */
  readonly referring: readonly (readonly string[])[]
  readonly dependents: readonly Dependent[]
  /** The fields of a document in order, for the SQL view and for completing documents of an older shape. */
  readonly fields: readonly ShapedField[]
  /** The name of the structure of documents; it begins with the version that introduced it, if that is not the first. */
  readonly shape: string
  /** Converts documents between former versions and the newest one; absent if no version changed documents. */
  readonly conversions?: VersionConversions
  /** The declared versions, the oldest first; absent if none are declared. */
  readonly versions?: readonly string[]
  /** The names of the resource in former versions. */
  readonly formerNames?: readonly string[]
  /** In a new table: the name in tombstones and idempotency keys, if it is not that of the collection. */
  readonly origin?: string
  /** The columns of all older versions, as old nodes may still query some that this declaration does not. */
  readonly olderColumns?: readonly Column[]
  /** In an existing table: the name in tombstones and idempotency keys, if it is not that of the collection. */
  readonly called?: string
  /** The fields whose values follow from rows that belong or refer to a row. */
  readonly aggregates: readonly StoredAggregate[]
  /** The behaviour that nodes of other declarations may leave out; absent if it only stores rows. */
  readonly behaviour?: Behaviour
  /** The names of its states in former versions; absent if no version renamed one. */
  readonly formerStates?: FormerStateNames
  /** The rules for stored values, by field. */
  readonly rules: FieldRules
  /** The first part of the types of its events, as `order`; absent if its writes are no events. R205. */
  readonly eventPrefix?: string
  /** Whether the revisions of its rows are kept. R237. */
  readonly history?: true
  /** How many milliseconds a tombstone is kept; null for ever. R134. */
  readonly retention: number | null
  /** Whether deleted rows leave tombstones: also if no answer shows them, where an id may be used again. */
  readonly leavesTombstones: boolean
}

/** Whether changes of rows are recorded, as events or in their history. */
export const isRecorded = ({ eventPrefix, history }: Pick<Collection, 'eventPrefix' | 'history'>): boolean =>
  eventPrefix !== undefined || history === true

/** Converts documents by the version that introduced their structure (`''` for the first one). R196. */
export interface VersionConversions {
  /** A recorded document lacks write-only values; fields that cannot be computed without them are null. */
  readonly toToday: (storedVersion: string, document: Members, recorded?: boolean) => Members
  readonly toOlder: (storedVersion: string, document: Members, rows: readonly (Members | null)[]) => Members
  /** The other rows that a document of that version needs: the field that links to each, and its collection. */
  readonly joined: (storedVersion: string) => readonly DocumentJoin[]
  /** The field of that version whose value a current field has unchanged; null if it is computed. */
  readonly sourceField: (storedVersion: string, field: string) => string | null
  readonly movedValues: (storedVersion: string, document: Members, recorded?: boolean) => readonly MovedValue[]
  /** The fields of documents of that version; missing if they are those of the newest one. */
  readonly fieldsOf?: (storedVersion: string) => readonly ShapedField[]
  /** Whether documents of the first version have another structure than the current ones. */
  readonly reshapes: boolean
  /** The collections that values move to. */
  readonly receivers: readonly string[]
}

/** The name that deletions, keys and copies of dropped values are stored under. */
export const storedNameOf = ({ called, name }: Collection): string => called ?? name

/** The version that introduced a structure; `''` for the first one. */
export const storedVersionOf = (shape: string): string => /^(v\d+) /.exec(shape)?.[1] ?? ''

/** An index: the columns it is declared for, and all its columns with the primary key last; a minus sign is descending. */
export interface Index {
  readonly of: readonly string[]
  readonly columns: readonly string[]
}

/** The columns of the primary key. The account and the parent come first, as a list has one of each. */
export const keyColumns = ({ account, composite }: Pick<Collection, 'account' | 'composite'>): readonly string[] => [
  ...(account === null ? [] : ['account']),
  ...(composite ? ['parent'] : []),
  'id',
]

/** All indexes of a collection except the unique ones. They begin with the account and the parent, as every list does. */
export function indexesOf(collection: Collection): readonly Index[] {
  const { columns, indexes, parent, referring } = collection
  const key = keyColumns(collection)
  const head = key.slice(0, -1)
  const single = columns.filter(({ unindexed, isWords }) => !unindexed && !isWords).map(({ name }) => [name])
  const several = indexes.filter((names) => names.length > 1)
  const listed = [...single, ...several].map((names) => [
    ...head,
    ...names.filter((name) => !head.includes(withoutSign(name))),
  ])
  const fixed = [...head, parent?.column as string]
  return [...listed, ...referring].map((of) => completeIndex(of, key, fixed))
}

const withoutSign = (name: string): string => name.replace(/^-/, '')

/** Ends an index in the primary key, in the direction of its first sorted column, so that it serves a total order. R59. */
function completeIndex(of: readonly string[], key: readonly string[], fixed: readonly string[]): Index {
  const has = of.map(withoutSign)
  const sign = of.find((name) => !fixed.includes(withoutSign(name)))?.startsWith('-') ? '-' : ''
  return { of, columns: [...of, ...key.filter((name) => !has.includes(name)).map((name) => sign + name)] }
}

export function encodeDocument(
  { fields }: Pick<Collection, 'fields'>,
  document: Record<string, unknown>,
): DocumentTexts {
  if (!fields.some(({ writeOnly }) => writeOnly)) return { doc: JSON.stringify(document), hidden: null }
  const part = (isHidden: boolean) =>
    JSON.stringify(
      Object.fromEntries(
        fields.filter(({ writeOnly }) => writeOnly === isHidden).map(({ name }) => [name, document[name]]),
      ),
    )
  return { doc: part(false), hidden: part(true) }
}

/** A row that must exist, and the field that refers to it. */
export interface Reference {
  readonly field: string
  readonly collection: string
  readonly id: string
}
