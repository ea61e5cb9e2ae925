/** Plan: an operation of the store, as data. Part 1. */
// long because: a plan is one union, whose parts refer to each other

import type { EncodedRow } from '../resources/document.ts'
import type { Cell, DocumentTexts, Reference, Waiting } from '../rows/collection.ts'
import type { FoundRow, ReadResult, RowKey, StoredEvent, StoredRows } from './found-row.ts'
import type { Prepared } from './prepared.ts'
import type { SeveralWrites, TablePlan, TableRows } from './table.ts'

/** A plan for a request. */
interface PlanOfCaller {
  /** The rights of the caller, if they depend on rows; missing if they do not, or if the service itself makes the request. */
  readonly rights?: RowRights
}

/** Requests a joined row: the field with its id, and its collection. */
export interface RowJoin {
  readonly by: string
  readonly collection: string
  /** Includes write-only fields. */
  readonly withWriteOnly?: true
}

/** Rows that are read in the snapshot of others, to be embedded in them: one statement, however many rows there are. R232. */
export interface RowEmbed {
  readonly collection: string
  readonly account: string | null
  readonly joined: readonly RowJoin[]
  /** For each of the other rows, the id of the embedded row or of the owner of `list`; null if it embeds nothing. */
  readonly ids: (rows: StoredRows) => readonly (string | null)[]
  /** The list whose first page is read for each owner. */
  readonly list?: ListRows
  /** Set if the rows are the pairs of an owner with each of the other rows, which are those of its list: the column with its id. */
  readonly pairsOf?: string
  readonly embeds: readonly RowEmbed[]
}

export interface Read extends PlanOfCaller {
  readonly do: 'read'
  readonly joined?: readonly RowJoin[]
  readonly embeds?: readonly RowEmbed[]
  readonly collection: string
  readonly key: RowKey
  /** The time of the request: tombstones that are too old for it are ignored. R134. */
  readonly time: number
  /** Locks the row until the transaction ends: others cannot change it; the lock of `share` can be shared. */
  readonly lock?: 'share' | 'update'
}

/** Reads no row, as the plan does not depend on one. An idempotency key of the plan is stored for this collection. */
export interface NoRead extends Pick<Read, 'collection' | 'key'> {
  readonly do: 'none'
}

/** One term of an order: column, direction, and the place of rows without a value (`none` if all rows have one). */
export interface Term {
  readonly column: string
  readonly descending: boolean
  readonly nulls: 'first' | 'last' | 'none'
  /** Set if the column belongs to a joined row. */
  readonly reach?: JoinedColumn
}

/** A column of the row that an own column refers to; the term that sorts by it has a separate name for it. */
export interface JoinedColumn {
  readonly by: string
  readonly collection: string
  /** Whether its rows belong to accounts; set by the store. */
  readonly owned?: boolean
  readonly column: string
  readonly type: 'text' | 'integer'
  /** The own column to use if there is no joined row; null if there is no such column. */
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
      /** Whether its rows belong to accounts; set by the store. */
      readonly owned?: boolean
      readonly where: readonly Condition[]
    }
  /** At least one of several lists of conditions is met completely. */
  | { readonly column: string; readonly is: 'any'; readonly of: readonly (readonly Condition[])[] }
  /** The words of a row begin with all of these. The column of the condition has no meaning. */
  | { readonly column: string; readonly is: 'search'; readonly words: readonly string[] }

/** The rows of a collection that a caller may use: those that meet all conditions of one of the lists. */
export interface RowTest {
  readonly any: readonly (readonly Condition[])[]
  /** Whether a stored document meets them. */
  readonly matches: (doc: string) => boolean
}

/** The rows that exist for a caller. */
export interface VisibleRows {
  /** Equal for callers that see the same rows. */
  readonly key: string
  /** The test of a collection; undefined if all of its rows exist for the caller. */
  of(collection: string): RowTest | undefined
  /** The conditions that a list of a collection has besides its own. */
  conditionsFor(collection: string): readonly Condition[]
  /** The compiled forms of a list of these rows, given those of the list of all rows. */
  preparedFor(list: Prepared): Prepared
  /**
   * A row as the caller sees it: a row outside of the rule does not exist. Deleted rows do not exist either, as their values
   * are not kept.
   */
  seenAs(collection: string, current: ReadResult): ReadResult
}

/** The rights of a caller in a request, if they depend on rows. */
export interface RowRights {
  readonly visible: VisibleRows
  /** Refuses a row that the caller sees and may not use for this. */
  readonly admit: (current: ReadResult) => void
  /** Refuses a write that would leave a row outside of the caller's rules. */
  readonly admitWritten: (write: Create | Update) => void
}

/** The term of an order by how well rows match a search. R235. */
export const byRelevance: Term = { column: 'relevance', descending: false, nulls: 'none' }
export const isRelevance = ({ column }: Pick<Term, 'column'>): boolean => column === byRelevance.column

/** A condition, and those of its alternatives. */
const conditionsIn = (one: Condition): readonly Condition[] =>
  one.is === 'any' ? [one, ...one.of.flat().flatMap(conditionsIn)] : [one]

/** The columns of a condition, those of its alternatives included. */
export const columnsOfCondition = (one: Condition): readonly string[] => conditionsIn(one).map(({ column }) => column)

/** The columns that decide which rows a list has, and in which order; null if other rows or search words decide too. */
export function columnsOfList({ where, order }: Pick<ListRows, 'where' | 'order'>): ReadonlySet<string> | null {
  const conditions = where.flatMap(conditionsIn)
  const isAlone = !conditions.some(({ is }) => is === 'among' || is === 'search') && !order.some(({ reach }) => reach)
  return isAlone ? new Set([...conditions, ...order].map(({ column }) => column)) : null
}

/** A part of the ordered rows: from an offset, or after (or before) the position of a row. */
export type Window =
  | { readonly from: 'offset'; readonly offset: number; readonly limit: number }
  | {
      readonly from: 'place'
      readonly position: readonly Cell[]
      readonly back: boolean
      /** Whether the row at the position is included. */
      readonly including: boolean
      readonly limit: number
    }

/** The collection with the pairs of an owner: the column with its id, and that with the ids of the other rows. */
export interface PairedRows {
  readonly collection: string
  readonly from: string
  readonly to: string
  /** Whether pairs belong to accounts; set by the store. */
  readonly owned?: boolean
}

export interface ListRows extends PlanOfCaller {
  readonly do: 'list'
  readonly joined?: readonly RowJoin[]
  readonly embeds?: readonly RowEmbed[]
  readonly collection: string
  /** The owner whose children, or paired rows, are listed; it must exist. */
  readonly parent: { readonly collection: string; readonly id: string; readonly pairs?: PairedRows } | null
  /** The account whose rows are listed, if rows belong to accounts. R54. */
  readonly account: string | null
  readonly time: number
  readonly where: readonly Condition[]
  readonly order: readonly Term[]
  /** Compiled forms of `where` and `order`. */
  readonly prepared: Prepared
  /** Compiled forms that all lists of the collection share; set by the store. */
  readonly shared?: Prepared
  readonly window: Window
  /** Counts matching rows up to this number; null if they are not counted. */
  readonly countTo: number | null
  /** Whether to return the positions of the first and the last row, for cursors. */
  readonly withPositions: boolean
  /** Set if all rows are read, page by page, from one state; its outcome is then a `PageStream`. R238. */
  readonly whole?: true
  /** Set if the rows are summarized instead of answered; the order then only names the columns of its groups and values. */
  readonly summary?: RowSummary
}

/** How the rows of a list are summarized: the columns of the groups are first in its order, and then those of the values. */
export interface RowSummary {
  /** By group: how many characters of its column make a group, as of times; null for the whole value. */
  readonly groups: readonly (number | null)[]
  readonly values: readonly {
    /** What is read: the sum, how many rows have a value, the least and the greatest value. */
    readonly reads: ReadonlySet<'sum' | 'filled' | 'least' | 'greatest'>
    /** The number of digits, if its column has sortable texts of decimals. */
    readonly digits: number | null
  }[]
  /** How many groups are answered; one more shows that there are others. */
  readonly most: number
  /** Whether numbers are added by halves, as their sum does not fit 64 bits; set by the store. */
  readonly halves?: true
}

/** The cache key of a total: lists with the same key have the same total. */
export const countKey = ({ collection, parent, account, where, countTo, rights }: ListRows): string =>
  JSON.stringify(
    [collection, parent?.id, account, where, countTo, parent?.pairs?.collection, rights?.visible.key],
    (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
  )

/** An idempotency key: the first request uses it, later requests get the item of the first one. */
export interface Claim {
  readonly hash: string
  /** A digest of the payload, to detect another payload under the same key. */
  readonly fingerprint: string
  readonly time: number
  /** Claims up to this time have expired; null if they never expire. */
  readonly expired: number | null
  /** Whether the first answer is kept to be replayed. */
  readonly keeps: boolean
}

/** Looks up an idempotency key. */
export interface Recall {
  readonly do: 'recall'
  readonly claim: Claim
}

/** A change or a check of another row, committed together with a write; if that is retried, both are decided again. */
export interface RowChange extends Pick<Read, 'collection' | 'key' | 'time'> {
  /** Set if the row is only checked, so that others may check it too. */
  readonly lock?: 'share'
  /** The revision that it was decided from; missing if any will do. */
  readonly expectedRevision?: number
  /** Throws if the row is not as it was decided from; called when it is locked, before anything is written. */
  readonly admit?: (locked: ReadResult) => void
  /** `before` is the row as it was before the transaction wrote anything. */
  readonly change: (current: ReadResult, before: ReadResult) => RowWrite
  /** Set if all changes of the same row are combined into one, which is made after all other effects. */
  readonly joins?: { readonly acts: readonly unknown[]; readonly change: (acts: readonly unknown[]) => RowChange }
}

/** Checks that a list has not changed, and locks it until the commit. */
export interface ListCheck {
  readonly do: 'check'
  readonly list: ListRows
  /** Throws if the list has changed; it gets the documents, joined by commas. */
  readonly admit: (documents: string) => void
}

/** A change of another row, a check, or an operation on a table of the service, committed together with a write. */
export type Effect = RowChange | ListCheck | TablePlan

/**
 * Reads all rows with a value in a column, such as those that belong or refer to one row. That row has to be locked, or the
 * rows could change meanwhile.
 */
export interface FamilyRead {
  readonly do: 'family'
  readonly collection: string
  /** Null if the value is in lists, for which there is no column. */
  readonly column: string | null
  /** The values in the lists of a document. */
  readonly ids?: (document: Readonly<Record<string, unknown>>) => readonly string[]
  readonly value: string
  /** The account whose rows are read; undefined for those of all accounts. */
  readonly account: string | null | undefined
  /** The time of the write that is decided from them; missing if there is no such write. */
  readonly time?: number
  readonly page?: RowsPage | undefined
}

/** Reads at most `limit` rows, those after a key. */
interface RowsPage {
  readonly after: RowKey | null
  readonly limit: number
}

/** Reads the rows of a collection by their keys. */
export interface ReadRows extends Pick<FamilyRead, 'collection' | 'account'> {
  readonly do: 'rows'
  readonly page: RowsPage
}

/** The rows of a family. */
export interface FamilyRows {
  readonly is: 'family'
  readonly rows: readonly { readonly key: RowKey; readonly document: Readonly<Record<string, unknown>> }[]
}

/** Reads which behaviour of a collection waits for the second phase of a change; without a change it runs no statement. */
interface WaitingRead {
  readonly do: 'waiting'
  readonly collection: string
}

export interface WaitingParts {
  readonly is: 'waiting'
  /** Null if no behaviour waits. */
  readonly parts: Waiting | null
}

/** A check of other rows, which are locked until the write is committed. */
export interface RowGuard {
  readonly reads: readonly EffectRead[]
  /** Throws to refuse the write. */
  readonly admit: (results: readonly EffectReadResult[]) => void
}

/** A read for a decision. Rows must not change before the commit; a table operation that writes locks its rows. */
export type EffectRead = Read | TablePlan | FamilyRead | WaitingRead
export type EffectReadResult = ReadResult | TableRows | FamilyRows | WaitingParts

/** Effects of a write that depend on other rows; decided again if one of those rows changes before the commit. */
export interface Consequences {
  readonly reads: readonly EffectRead[]
  /** Pure. Returns the final write, with its effects. */
  readonly decide: (results: readonly EffectReadResult[]) => RowWrite
}

/** Effects are committed in the transaction of their write. */
interface WithEffects {
  /** The answer of the request, in place of the row: a JSON text that is kept with its idempotency key. */
  readonly answer?: string
  readonly effects?: readonly Effect[]
  readonly consequences?: Consequences
}

/** The parts of a write that its request determines. */
interface RequestedWrite extends PlanOfCaller {
  /** Whether it is rolled back in any case, so that its outcome is known and nothing is changed. R239. */
  readonly dry?: true
  /** The id of the caller, for the history; missing if the service itself writes, or a caller without credentials. */
  readonly by?: string
  /** Throws before the commit if the outcome cannot be answered, so that nothing is stored after a 500. */
  readonly admitOutcome?: (outcome: { readonly is: string }) => void
}

/** A new row. */
export interface Create extends WithEffects, RequestedWrite {
  readonly do: 'create'
  readonly joined?: readonly RowJoin[]
  readonly collection: string
  readonly key: RowKey
  /** The owner, which must exist. */
  readonly parent: { readonly collection: string; readonly id: string } | null
  readonly row: EncodedRow
  readonly time: number
  /** `chosen` by the caller, so it may be in use or deleted; `revived` creates a deleted row again. */
  readonly id: 'fresh' | 'chosen' | 'revived'
  readonly references: readonly Reference[]
  readonly claim: Claim | null
}

/** New content for a row, if it still has the revision that was read. */
export interface Update extends WithEffects {
  readonly do: 'update'
  readonly collection: string
  readonly key: RowKey
  readonly revision: number
  readonly time: number
  readonly row: EncodedRow
  /** The cells that differ from the row that was read; other columns and their indexes are not written. */
  readonly changedCells: readonly number[]
  readonly references: readonly Reference[]
  /** The state that a transition enters; its event is named after it. R205. */
  readonly entered?: string
}

/** A row that is removed, as it is stored. */
export type RemovedRow = Pick<Read, 'key' | 'time'> & Pick<FoundRow, 'revision'> & DocumentTexts

/** Deletes a row, if it still has the revision that was read, and leaves a tombstone. */
export interface Remove extends WithEffects {
  readonly do: 'remove'
  readonly collection: string
  readonly key: RowKey
  readonly revision: number
  readonly time: number
  /** The collections that the cascade may delete from; if it needs another one, nothing is deleted. */
  readonly takes: ReadonlySet<string>
  /** By collection: whether the state of a row forbids its removal. It applies to rows that refer here, not to owned rows. */
  readonly held?: ReadonlyMap<string, (doc: string) => boolean>
  /** The consequences of each row that the cascade deletes, by collection. */
  readonly onRemove?: ReadonlyMap<string, (row: RemovedRow) => Consequences>
}

/** Does not write the row. */
interface KeepRow extends WithEffects {
  readonly do: 'keep'
}

/** A read and the write that is decided from it, without another write to the row in between. */
export interface Decide extends RequestedWrite {
  readonly do: 'decide'
  /** Rows that are read after the write, to be embedded in the written row. */
  readonly embeds?: readonly RowEmbed[]
  readonly read: Read | NoRead
  /** Throws a refusal for the row that was read, before the idempotency key is used. R1 */
  readonly admit?: (current: ReadResult) => void
  /** The idempotency key under which it runs once. */
  readonly claim?: Claim | null
  /** Pure: it is called again if the row has changed meanwhile. Throws a Problem to refuse. */
  readonly decide: (current: ReadResult) => RowWrite
}

/** Several plans in one transaction, all or none; each may depend on the outcomes of those before. R229. */
export interface Sequence extends RequestedWrite, Pick<Read, 'collection' | 'key'> {
  readonly do: 'sequence'
  /** The idempotency key under which it runs once, stored for `collection` and `key`. */
  readonly claim: Claim | null
  /** The version whose form the answer has; missing if it has the same form in all versions. */
  readonly version?: string
  /** Set for a batch: its operations lock rows and keys in the order of the client, so that parallel ones can wait for each other. */
  readonly batch?: true
  /** Starts a run of the plans; called again after a conflict. */
  readonly begin: () => SequenceRun
}

/**
 * New rows of a sequence that do not depend on each other's outcomes. One that is refused before it has written anything leaves the
 * others alone; otherwise its refusal is the outcome of all, unless they are kept `apart`, which takes longer.
 */
interface Creations {
  readonly do: 'creations'
  readonly plans: readonly Create[]
  readonly apart: boolean
}

export interface SequenceRun {
  /** The next plan, given the outcome of the one before; null after the last. Throws a Problem to refuse all of them. */
  next(before: { readonly is: string } | null): Plan | null
  /** The answer, a JSON text that is kept with the key; null if the outcome is that of the last plan. */
  readonly answer: () => string | null
}

/**
 * Numbers the committed events that have no position yet. Readers follow the positions, so no event becomes visible behind
 * one that a reader has passed. R230.
 */
interface NumberEvents {
  readonly do: 'number'
}

/** Reads the last position, and whether events wait for theirs. */
interface ReadHead {
  readonly do: 'head'
}

/** Reads events after a position, in order; it looks through a limited number of them. */
export interface ReadEvents {
  readonly do: 'events'
  readonly after: number
  readonly limit: number
  /** The collections whose events are read: of all accounts, or of one. */
  readonly open: readonly string[]
  readonly owned: readonly string[]
  readonly account: string | null
  /** The rows whose events are read; missing for all. */
  readonly visible?: VisibleRows
  /** The collections and the actions; all if it is missing. */
  readonly types?: readonly (readonly [collection: string, action: string])[]
  readonly item?: string
  /** The earliest time of a change. */
  readonly since?: number
  /** Reads the last events up to this position, the newest first, in place of those after `after`. */
  readonly upTo?: number
}

/** Finds one event. */
export interface FindEvent {
  readonly do: 'event'
  readonly id: string
}

/** Deletes events of changes before a time, in small batches. The newest one stays. */
export interface SweepEvents {
  readonly do: 'expire'
  readonly before: number
}

/** Reads revisions of a row, the newest first; the outcome is the absent row if it has none and does not exist. R237. */
export interface ReadRevisions extends Pick<Read, 'collection' | 'key' | 'time' | 'rights'> {
  readonly do: 'revisions'
  /** Only those before this number; null for all. */
  readonly before: number | null
  readonly limit: number
  /** Reads the revisions with these numbers instead, without those that are not kept. */
  readonly numbers?: readonly number[]
  /** Whether a revision is shown, given the one before. Pure. */
  readonly isShown: (revision: StoredEvent, before: StoredEvent | null) => boolean
}

/** Deletes revisions of changes before a time, in small batches. */
export interface SweepRevisions {
  readonly do: 'forget'
  readonly collection: string
  readonly before: number
  /** The time from which on contents of files are unused that only these revisions name; null if the service has no files. */
  readonly unused: number | null
}

/** Empties the personal fields of a row in events, revisions and kept answers. An update empties the row itself. */
interface EraseRecords extends Pick<Read, 'collection' | 'key'> {
  readonly do: 'erase'
}

/** Converts the rows that old nodes have written. */
interface CatchUp {
  readonly do: 'catchUp'
}

/** Finds the accounts that have a row with this key; for operators only, never shown to callers. */
export interface FindAccounts {
  readonly do: 'whose'
  readonly collection: string
  readonly key: Pick<RowKey, 'id' | 'parent'>
}

/** Finds the rows that a removal would delete, or why it would be refused; for operators only. */
export interface FindRemoved {
  readonly do: 'removed'
  readonly collection: string
  readonly key: RowKey
  readonly remove: Remove
}

export type RowWrite = Create | Update | Remove | KeepRow
/** A plan that writes. */
export type WritePlan =
  | Create
  | Decide
  | Sequence
  | Creations
  | CatchUp
  | TablePlan
  | SeveralWrites
  | NumberEvents
  | SweepEvents
  | SweepRevisions
  | EraseRecords
export type Plan =
  | Read
  | ListRows
  | Recall
  | FindAccounts
  | FindRemoved
  | FamilyRead
  | ReadRows
  | WaitingRead
  | ReadHead
  | ReadEvents
  | FindEvent
  | ReadRevisions
  | WritePlan

/** A plan that names its caller, for the history; callers without credentials have no id. */
export const withCaller = (plan: Plan, { id }: { readonly id: string }): Plan =>
  id !== '' && (plan.do === 'create' || plan.do === 'decide' || plan.do === 'sequence') ? { ...plan, by: id } : plan

/** A plan with the rights of its caller, if they depend on rows. */
export const withRights = <P extends Plan>(plan: P, rights: RowRights | undefined): P =>
  rights ? { ...plan, rights } : plan

export const isDry = (plan: Plan): boolean => 'dry' in plan && plan.dry === true

const readKinds: ReadonlySet<Plan['do']> = new Set<Plan['do']>([
  ...(['read', 'list', 'recall', 'whose', 'removed', 'family', 'rows', 'waiting'] as const),
  ...(['head', 'events', 'event', 'revisions'] as const),
])
export const isWritePlan = (plan: Plan): plan is WritePlan =>
  plan.do === 'table' ? plan.run.do !== 'find' : !readKinds.has(plan.do)
