/** Plan: what the store must do, as frozen data. Part 1. */

import type { EncodedRow } from '../resources/document.ts'
import type { Cell, DocumentTexts, Reference } from '../rows/collection.ts'
import type { ReadResult, RowKey } from './found-row.ts'
import type { Prepared } from './prepared.ts'
import type { SeveralWrites, TablePlan, TableRows } from './table.ts'

/** Another row that is wanted beside a row: the field that holds its id, and its collection. */
export interface RowJoin {
  readonly by: string
  readonly collection: string
  /** With what is never answered. */
  readonly withWriteOnly?: true
}

export interface Read {
  readonly do: 'read'
  readonly joined?: readonly RowJoin[]
  readonly collection: string
  readonly key: RowKey
  /** When it is asked; what was deleted long before may be forgotten. R134. */
  readonly time: number
}

/** One term of an order: a column, its direction, and where rows without a value stand (`none` where all have one). */
export interface Term {
  readonly column: string
  readonly descending: boolean
  readonly nulls: 'first' | 'last' | 'none'
  /** Where the column is one of another row. */
  readonly reach?: JoinedColumn
}

/** A column of the row that one of the own columns leads to; the term that orders by it has a name of its own for it. */
export interface JoinedColumn {
  readonly by: string
  readonly collection: string
  /** Whether its rows belong to accounts; told by the cellar. */
  readonly owned?: boolean
  readonly column: string
  readonly type: 'text' | 'integer'
  /** The own column that stands in its place where no row is led to; null where there is none. */
  readonly kept: string | null
}

/** A condition that rows must meet. */
export type Condition =
  | { readonly column: string; readonly is: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'; readonly value: Cell }
  | { readonly column: string; readonly is: 'in'; readonly values: readonly Cell[] }
  | { readonly column: string; readonly is: 'null' | 'present' }
  | { readonly column: string; readonly is: 'like'; readonly parts: readonly string[] }
  /** The id of a row of another collection that meets conditions. */
  | {
      readonly column: string
      readonly is: 'among'
      readonly collection: string
      /** Whether its rows belong to accounts; told by the cellar. */
      readonly owned?: boolean
      readonly where: readonly Condition[]
    }
  /** Any of several, each of which is met as a whole. */
  | { readonly column: string; readonly is: 'any'; readonly of: readonly (readonly Condition[])[] }

/** Which part of the ordered rows: from an offset, or behind (or before) a row's place in the order. */
export type Window =
  | { readonly from: 'offset'; readonly offset: number; readonly limit: number }
  | {
      readonly from: 'place'
      readonly position: readonly Cell[]
      readonly back: boolean
      /** Whether the row at the place itself is a part of it. */
      readonly including: boolean
      readonly limit: number
    }

export interface ListRows {
  readonly do: 'list'
  readonly joined?: readonly RowJoin[]
  readonly collection: string
  /** The owner whose children are listed; it has to exist. */
  readonly parent: { readonly collection: string; readonly id: string } | null
  /** The account whose rows are listed, where rows belong to accounts. R54. */
  readonly account: string | null
  readonly time: number
  readonly where: readonly Condition[]
  readonly order: readonly Term[]
  /** What was compiled from them. */
  readonly prepared: Prepared
  readonly window: Window
  /** Up to how many matching rows are counted; null where none are. */
  readonly countTo: number | null
  /** Whether the places of the first and the last row are wanted, for cursors. */
  readonly withPositions: boolean
}

/** Names the rows that a list counts: lists of one name have one total. */
export const countKey = ({ collection, parent, account, where, countTo }: ListRows): string =>
  JSON.stringify([collection, parent?.id, account, where, countTo], (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )

/** A key that is used once: whoever comes second is told what the first one made. */
export interface Claim {
  readonly hash: string
  /** Names the payload, so that another one under the same key shows. */
  readonly fingerprint: string
  readonly time: number
  /** Claims up to this time are forgotten; null where none are. */
  readonly expired: number | null
  /** Whether the first answer is kept, so that it can be given again. */
  readonly keeps: boolean
}

/** Asks what was made with a key. */
export interface Recall {
  readonly do: 'recall'
  readonly claim: Claim
}

/** A change of another row, which is committed together with the write that it belongs to, and decided again with it. */
export interface RowChange extends Pick<Read, 'collection' | 'key' | 'time'> {
  /** The revision that it was made from; missing where it holds for any. */
  readonly expectedRevision?: number
  readonly change: (seen: ReadResult) => RowWrite
}

/** What is committed together with a write: changes of other rows, and operations on the service's own tables. */
export type Effect = RowChange | TablePlan

/** What a write is decided from: rows, which must not change before the commit, or rows of a table. An operation that writes locks them. */
export type EffectRead = Read | TablePlan
export type EffectReadResult = ReadResult | TableRows

/** What follows from a write: decided from other rows, and again if one of them has changed meanwhile. */
export interface Consequences {
  readonly reads: readonly EffectRead[]
  /** Pure. The write as it is completed, with its effects. */
  readonly decide: (seen: readonly EffectReadResult[]) => RowWrite
}

/** What is committed together with a write, or not at all. */
interface WithEffects {
  readonly effects?: readonly Effect[]
  readonly consequences?: Consequences
}

/** A new row. */
export interface Create extends WithEffects {
  readonly do: 'create'
  readonly joined?: readonly RowJoin[]
  readonly collection: string
  readonly key: RowKey
  /** The owner, which has to exist. */
  readonly parent: { readonly collection: string; readonly id: string } | null
  readonly row: EncodedRow
  readonly time: number
  /** Whether the id was chosen by the caller, so that it may be in use or have been deleted; or a deleted row is to be made again. */
  readonly id: 'fresh' | 'chosen' | 'revived'
  readonly references: readonly Reference[]
  readonly claim: Claim | null
}

/** New content for a row that is still at the revision that was seen. */
export interface Update extends WithEffects {
  readonly do: 'update'
  readonly collection: string
  readonly key: RowKey
  readonly revision: number
  readonly time: number
  readonly row: EncodedRow
  /** Which cells differ from those of the row that was seen; the others, and their indexes, stay untouched. */
  readonly changedCells: readonly number[]
  readonly references: readonly Reference[]
}

/** A row that is removed, as it is stored. */
export type RemovedRow = Pick<Read, 'key' | 'time'> & DocumentTexts

/** The end of a row that is still at the revision that was seen; a tombstone stays. */
export interface Remove extends WithEffects {
  readonly do: 'remove'
  readonly collection: string
  readonly key: RowKey
  readonly revision: number
  readonly time: number
  /** The collections whose rows may be removed with it: rows of others stay, and so does the row itself. */
  readonly takes: ReadonlySet<string>
  /** What follows if rows of a collection are removed with it. */
  readonly onRemove?: ReadonlyMap<string, (row: RemovedRow) => Consequences>
}

/** Nothing to do: the row is as it should be. */
interface KeepRow extends WithEffects {
  readonly do: 'keep'
}

/** A read, and the write that follows from what was read: decided and written with nothing in between. */
export interface Decide {
  readonly do: 'decide'
  readonly read: Read
  /** Refuses by what is there, before the key is taken. R1 */
  readonly admit?: (seen: ReadResult) => void
  /** The key under which it is carried out once. */
  readonly claim?: Claim | null
  /** Pure: it may be asked again when the row moved meanwhile. It throws a Problem to refuse. */
  readonly decide: (seen: ReadResult) => RowWrite
}

/** Brings up what nodes of the declaration before have written. */
interface CatchUp {
  readonly do: 'raise'
}

/** Asks which accounts have a row of a key, for those who run the service: no caller is told. */
export interface FindAccounts {
  readonly do: 'whose'
  readonly collection: string
  readonly key: Pick<RowKey, 'id' | 'parent'>
}

export type RowWrite = Create | Update | Remove | KeepRow
/** A plan that changes what is stored. */
export type WritePlan = Create | Decide | CatchUp | TablePlan | SeveralWrites
export type Plan = Read | ListRows | Recall | FindAccounts | WritePlan

const readKinds: ReadonlySet<Plan['do']> = new Set(['read', 'list', 'recall', 'whose'])
export const isWritePlan = (plan: Plan): plan is WritePlan =>
  plan.do === 'table' ? plan.run.do !== 'find' : !readKinds.has(plan.do)
