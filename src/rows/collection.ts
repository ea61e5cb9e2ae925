/** Collection: a resource as the cellar knows it, a table of documents with index columns. Part 2, resources. */

export { type Cell, type Column, cellIn, cellsIn, columnOf, folded, rememberedColumn } from './column.ts'
export type { FieldRules } from './field-rules.ts'
export {
  type DocumentTexts,
  type FormerShape,
  hasKeptForOthers,
  keptForOthers,
  olderViews,
  type RowView,
  type ShapeConversions,
  type StoredDocument,
  viewRow,
  withKeptForOthers,
} from './kept-for-others.ts'
export { completeDocument, keptForOthersKey, type Members, type MovedValue } from './shape.ts'

import type { Column } from './column.ts'
import type { FieldRules } from './field-rules.ts'
import type { DocumentTexts } from './kept-for-others.ts'
import type { DocumentJoin, Members, MovedValue, ShapedField } from './shape.ts'

export interface Unique {
  readonly name: string
  readonly fields: readonly string[]
  readonly columns: readonly string[]
}

/** A collection whose rows refer to this one, and what becomes of them when a row of this one is deleted. R138. */
export interface Dependent {
  readonly collection: string
  /** The column that holds the id; null where lists hold ids, which are then looked for in the documents. */
  readonly column: string | null
  /** The ids of this collection that a document refers to. */
  readonly ids: (document: Record<string, unknown>) => readonly string[]
  readonly onDelete: 'restrict' | 'cascade'
}

export interface Collection {
  readonly name: string
  readonly table: string
  /** How its rows are told apart, in words; it cannot change while there are rows. */
  readonly identity: string
  /** The owning collection, whose row has to exist; `column` holds its id, and documents show it as `field`. */
  readonly parent: { readonly collection: string; readonly column: string; readonly field: string } | null
  /** Rows are identified below their parent: the primary key is the parent's id and the own one. */
  readonly composite: boolean
  /** What the account that a row belongs to is called; null where rows belong to nobody. The primary key begins with it. R170. */
  readonly account: string | null
  readonly columns: readonly Column[]
  readonly uniques: readonly Unique[]
  /** Columns of composite indexes, descending ones with a minus sign. */
  readonly indexes: readonly (readonly string[])[]
  /** Columns by which rows are found from what they refer to, where no other index begins with them. */
  readonly referring: readonly (readonly string[])[]
  readonly dependents: readonly Dependent[]
  /** The fields of a document in their order, for the view and for completing texts of an older shape. */
  readonly fields: readonly ShapedField[]
  /** Names the structure of the documents; it begins with the version that made it, where that was not the first. */
  readonly shape: string
  /** How documents of former versions are brought up and shown to nodes that serve no later one; missing where no version changed any. */
  readonly conversions?: VersionConversions
  /** The versions that are declared, the oldest first; missing where none are. */
  readonly versions?: readonly string[]
  /** The names that it had in former versions. */
  readonly formerNames?: readonly string[]
  /** What deletions and keys are remembered under in a new table, where that is not its name. */
  readonly origin?: string
  /** All columns that older versions may have, of which nodes of the declaration before may ask some that are asked no more. */
  readonly olderColumns?: readonly Column[]
  /** What deletions and keys are remembered under in a database that knows it by another name. */
  readonly called?: string
  /** What values of its fields have to be, by the names of the fields. */
  readonly rules: FieldRules
  /** For how many milliseconds deletions are remembered; null for ever. R134. */
  readonly retention: number | null
}

/** Documents by the version that made their structure; that of the first one has no name. R196. */
export interface VersionConversions {
  readonly toToday: (epoch: string, document: Members) => Members
  readonly toOlder: (epoch: string, document: Members, rows: readonly (Members | null)[]) => Members
  /** The other rows that a document of that time is completed from: the field that leads there, and the collection. */
  readonly joined: (epoch: string) => readonly DocumentJoin[]
  /** The field of that time whose value a field of today has as it was; null where it is made in another way. */
  readonly sourceField: (epoch: string, field: string) => string | null
  readonly movedValues: (epoch: string, document: Members) => readonly MovedValue[]
  /** Whether documents of the first version have another structure than those of today. */
  readonly reshapes: boolean
  /** The collections that something is given to. */
  readonly receivers: readonly string[]
}

/** The version that made a structure. */
export const storedVersionOf = (shape: string): string => /^(v\d+) /.exec(shape)?.[1] ?? ''

/** An index: the columns that it is made for, and all it has, descending ones with a minus sign, the primary key last. */
export interface Index {
  readonly of: readonly string[]
  readonly columns: readonly string[]
}

/** The columns of the primary key: what all rows of a list have in common comes first. */
export const keyColumns = ({ account, composite }: Pick<Collection, 'account' | 'composite'>): readonly string[] => [
  ...(account === null ? [] : ['account']),
  ...(composite ? ['parent'] : []),
  'id',
]

/** Every index of a collection besides those of what is unique; lists are always those of one account, or below one owner. */
export function indexesOf(collection: Collection): readonly Index[] {
  const { columns, indexes, parent, referring } = collection
  const key = keyColumns(collection)
  const head = key.slice(0, -1)
  const single = columns.map(({ name }) => [name])
  const several = indexes.filter((names) => names.length > 1)
  const listed = [...single, ...several].map((names) => [
    ...head,
    ...names.filter((name) => !head.includes(withoutSign(name))),
  ])
  const fixed = [...head, parent?.column as string]
  return [...listed, ...referring].map((of) => completeIndex(of, key, fixed))
}

const withoutSign = (name: string): string => name.replace(/^-/, '')

/** It ends in the primary key, in the direction of the first column that is not fixed, so that it serves a whole order. R59. */
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

/** A row that has to exist, and the place that names it. */
export interface Reference {
  readonly field: string
  readonly collection: string
  readonly id: string
}
