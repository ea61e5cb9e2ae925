/** Plan: what the store must do, as frozen data. Part 1. */
import type { Cell, Reference } from '../resources/collection.ts'
import type { Row } from '../resources/row.ts'
import type { Credential } from './credential.ts'

/** Another row that was asked for: its text, and its revision, which names the state that the text is of. */
export interface Other {
  readonly doc: string
  readonly revision: number
}

/** A row as it is stored. */
export interface Found {
  readonly is: 'found'
  readonly doc: string
  readonly hidden: string | null
  readonly revision: number
  /** The other rows that were asked for; null for one that is not there. */
  readonly beside?: readonly (Other | null)[]
  /** The text, read, where they were looked for by it. */
  readonly document?: Readonly<Record<string, unknown>>
}

/** Nothing there, or no longer. `collection` says which of the rows on the way is not there. */
export interface Absent {
  readonly is: 'missing' | 'gone'
  readonly collection: string
  readonly id: string
  /** The last revision of a row that is gone, as far as it is known. */
  readonly revision: number
}

/** What a decision is made from. */
export type Seen = Found | Absent

/** One row of a collection; `parent` where it is identified below its parent. */
export interface Key {
  readonly id: string
  readonly parent: string | null
  /** The account that asks; where rows belong to accounts, only its own ones are there. R170. */
  readonly account: string | null
}

/** Another row that is wanted beside a row: the field that holds its id, and its collection. */
export interface Beside {
  readonly by: string
  readonly collection: string
  /** With what is never answered. */
  readonly whole?: true
}

export interface Read {
  readonly do: 'read'
  readonly beside?: readonly Beside[]
  readonly collection: string
  readonly key: Key
  /** When it is asked; what was deleted long before may be forgotten. R134. */
  readonly time: number
}

/** One term of an order: a column, its direction, and where rows without a value stand (`none` where all have one). */
export interface Term {
  readonly column: string
  readonly descending: boolean
  readonly nulls: 'first' | 'last' | 'none'
  /** Where the column is one of another row. */
  readonly reach?: Reach
}

/** A column of the row that one of the own columns leads to; the term that orders by it has a name of its own for it. */
export interface Reach {
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
      readonly place: readonly Cell[]
      readonly back: boolean
      /** Whether the row at the place itself is a part of it. */
      readonly including: boolean
      readonly limit: number
    }

export interface List {
  readonly do: 'list'
  readonly beside?: readonly Beside[]
  readonly collection: string
  /** The owner whose children are listed; it has to exist. */
  readonly parent: { readonly collection: string; readonly id: string } | null
  /** The account whose rows are listed, where rows belong to accounts. R54. */
  readonly account: string | null
  readonly time: number
  readonly where: readonly Condition[]
  readonly order: readonly Term[]
  readonly window: Window
  /** Up to how many matching rows are counted; null where none are. */
  readonly countTo: number | null
  /** Whether the places of the first and the last row are wanted, for cursors. */
  readonly places: boolean
}

/** Names the rows that a list counts: lists of one name have one total. */
export const countedBy = ({ collection, parent, account, where, countTo }: List): string =>
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

/** A new row. */
export interface Create {
  readonly do: 'create'
  readonly beside?: readonly Beside[]
  readonly along?: readonly Decide[]
  readonly collection: string
  readonly key: Key
  /** The owner, which has to exist. */
  readonly parent: { readonly collection: string; readonly id: string } | null
  readonly row: Row
  readonly time: number
  /** Whether the id was chosen by the caller, so that it may be in use or have been deleted; or a deleted row is to be made again. */
  readonly id: 'fresh' | 'chosen' | 'revived'
  readonly references: readonly Reference[]
  readonly claim: Claim | null
}

/** New content for a row that is still at the revision that was seen. */
export interface Update {
  readonly do: 'update'
  /** What is written along with it, in the same transaction. */
  readonly along?: readonly Decide[]
  readonly collection: string
  readonly key: Key
  readonly revision: number
  readonly time: number
  readonly row: Row
  /** Which cells differ from those of the row that was seen; the others, and their indexes, stay untouched. */
  readonly moved: readonly number[]
  readonly references: readonly Reference[]
}

/** The end of a row that is still at the revision that was seen; a tombstone stays. */
export interface Remove {
  readonly do: 'remove'
  readonly collection: string
  readonly key: Key
  readonly revision: number
  readonly time: number
  /** The collections whose rows may be removed with it: rows of others stay, and so does the row itself. */
  readonly takes: ReadonlySet<string>
}

/** Nothing to do: the row is as it should be. */
interface Keep {
  readonly do: 'keep'
  readonly along?: readonly Decide[]
}

/** A read, and the write that follows from what was read: decided and written with nothing in between. */
export interface Decide {
  readonly do: 'decide'
  readonly read: Read
  /** Pure: it may be asked again when the row moved meanwhile. It throws a Problem to refuse. */
  readonly decide: (seen: Seen) => Write
}

/** A decision that is carried out once, under a key. */
export interface Once {
  readonly do: 'once'
  readonly claim: Claim
  /** Refuses by what is there, which comes before the key. R1 */
  readonly admit: (seen: Seen) => void
  readonly decide: Decide
}

/** Brings up what nodes of the declaration before have written. */
interface Raise {
  readonly do: 'raise'
}

/** Counts what was spent in a window, for all nodes together. A window begins with the first one that spends in it. */
export interface Spend {
  readonly do: 'spend'
  /** Whose quota it is. */
  readonly name: string
  readonly amount: number
  readonly time: number
  /** When a window that begins now ends. */
  readonly until: number
}

/** How often a version was used by a caller, and when last. */
export interface Use {
  readonly version: string
  readonly caller: string
  readonly requests: number
  readonly last: number
}

/** Adds to what is known of the use of versions. */
export interface Tally {
  readonly do: 'tally'
  readonly uses: readonly Use[]
}

/** Asks for what is known of the use of versions. */
interface Usage {
  readonly do: 'usage'
}

/** Asks for the API key that was sealed as one of these. */
export interface Identify {
  readonly do: 'identify'
  readonly hashes: readonly string[]
}

/** Asks for all API keys, or those of a name. */
export interface Keys {
  readonly do: 'keys'
  readonly name: string | null
}

/** Asks which accounts have a row of a key, for those who run the service: no caller is told. */
export interface Whose {
  readonly do: 'whose'
  readonly collection: string
  readonly key: Pick<Key, 'id' | 'parent'>
}

/** A new API key; `most` keys of one name may be in force at a time. */
export interface Issue {
  readonly do: 'issue'
  readonly credential: Credential
  readonly most: number
}

/** Ends API keys for good. */
export interface Revoke {
  readonly do: 'revoke'
  readonly ids: readonly string[]
  readonly time: number
}

export type Write = Create | Update | Remove | Keep
/** A plan that changes what is stored. */
export type Deed = Create | Decide | Once | Raise | Spend | Tally | Issue | Revoke
export type Plan = Read | List | Recall | Identify | Keys | Whose | Usage | Deed

const looks: ReadonlySet<Plan['do']> = new Set(['read', 'list', 'recall', 'identify', 'keys', 'whose', 'usage'])

export const isDeed = (plan: Plan): plan is Deed => !looks.has(plan.do)
