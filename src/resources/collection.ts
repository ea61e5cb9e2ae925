/** Collection: a resource as the cellar knows it, a table of documents with index columns. Part 2, resources. */

export {
  type Brought,
  brought,
  type Former,
  hasAside,
  keptIn,
  type Ladder,
  type Stored,
  type Texts,
  viewsIn,
  withAside,
} from './aside.ts'
export { type Cell, type Column, cellIn, cells, columnIn, columnOf, folded } from './column.ts'
export type { FieldRules } from './rules.ts'
export { aside, completed, type Given, type Members } from './shape.ts'

import type { Texts } from './aside.ts'
import type { Column } from './column.ts'
import type { FieldRules } from './rules.ts'
import type { Besides, Given, Members, Shaped } from './shape.ts'

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
  readonly fields: readonly Shaped[]
  /** Names the structure of the documents; it begins with the version that made it, where that was not the first. */
  readonly shape: string
  /** How documents of former versions are brought up and shown to nodes that serve no later one; missing where no version changed any. */
  readonly epochs?: Epochs
  /** The versions that are declared, the oldest first; missing where none are. */
  readonly versions?: readonly string[]
  /** The names that it had in former versions. */
  readonly formerly?: readonly string[]
  /** What deletions and keys are remembered under in a new table, where that is not its name. */
  readonly origin?: string
  /** All columns that older versions may have, of which nodes of the declaration before may ask some that are asked no more. */
  readonly spare?: readonly Column[]
  /** What deletions and keys are remembered under in a database that knows it by another name. */
  readonly called?: string
  /** What values of its fields have to be, by the names of the fields. */
  readonly rules: FieldRules
  /** For how many milliseconds deletions are remembered; null for ever. R134. */
  readonly retention: number | null
}

/** Documents by the version that made their structure; that of the first one has no name. R196. */
export interface Epochs {
  readonly raised: (epoch: string, document: Members) => Members
  readonly lowered: (epoch: string, document: Members, rows: readonly (Members | null)[]) => Members
  /** The other rows that a document of that time is completed from: the field that leads there, and the collection. */
  readonly besides: (epoch: string) => readonly Besides[]
  /** The field of that time whose value a field of today has as it was; null where it is made in another way. */
  readonly source: (epoch: string, field: string) => string | null
  readonly gives: (epoch: string, document: Members) => readonly Given[]
  /** Whether documents of the first version have another structure than those of today. */
  readonly reshapes: boolean
  /** The collections that something is given to. */
  readonly heirs: readonly string[]
}

/** The version that made a structure. */
export const epochOf = (shape: string): string => /^(v\d+) /.exec(shape)?.[1] ?? ''

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
    ...names.filter((name) => !head.includes(bare(name))),
  ])
  const fixed = [...head, parent?.column as string]
  return [...listed, ...referring].map((of) => ended(of, key, fixed))
}

const bare = (name: string): string => name.replace(/^-/, '')

/** It ends in the primary key, in the direction of the first column that is not fixed, so that it serves a whole order. R59. */
function ended(of: readonly string[], key: readonly string[], fixed: readonly string[]): Index {
  const has = of.map(bare)
  const sign = of.find((name) => !fixed.includes(bare(name)))?.startsWith('-') ? '-' : ''
  return { of, columns: [...of, ...key.filter((name) => !has.includes(name)).map((name) => sign + name)] }
}

export function textsOf({ fields }: Pick<Collection, 'fields'>, document: Record<string, unknown>): Texts {
  if (!fields.some(({ hidden }) => hidden)) return { doc: JSON.stringify(document), hidden: null }
  const part = (isHidden: boolean) =>
    JSON.stringify(
      Object.fromEntries(fields.filter(({ hidden }) => hidden === isHidden).map(({ name }) => [name, document[name]])),
    )
  return { doc: part(false), hidden: part(true) }
}

/** A row that has to exist, and the place that names it. */
export interface Reference {
  readonly field: string
  readonly collection: string
  readonly id: string
}
