/** Intent: a parsed request, checked as far as possible without the store. Part 1. */

import type { FileMember } from '../fields/field.ts'
import type { PatchOperation } from '../resources/json-patch.ts'
import type { Call, CarriedVersion } from './call.ts'
import type { Caller } from './caller.ts'
import type { Decisions } from './decision.ts'
import type { RowKey } from './found-row.ts'
import type { Claim, Condition, ReadEvents, ReadRevisions, Term, Window } from './plan.ts'
import type { Prepared } from './prepared.ts'
import type { ServiceWorld } from './world.ts'

export type PaginationStyle = 'page' | 'offset' | 'cursor'

/** The selected members of an object, each with the selected members of its value; null if the whole value is selected. */
export type FieldTree = ReadonlyMap<string, FieldTree | null>

/** The fields that an answer is limited to. R233. */
export interface FieldSelection {
  /** Their dotted names in order, each once. */
  readonly names: readonly string[]
  readonly tree: FieldTree
}

/** The embedded names, each with the names that are embedded in its rows. R232. */
export interface EmbedTree extends ReadonlyMap<string, EmbedTree> {}

/** Checked parameters of a request for an item. */
export interface ItemQuery {
  readonly fields: FieldSelection | null
  readonly embed: EmbedTree | null
}

/** Checked list parameters. */
export interface ListQuery extends ItemQuery {
  readonly where: readonly Condition[]
  readonly order: readonly Term[]
  readonly window: Window
  readonly countTo: number | null
  readonly style: PaginationStyle
  /** A cursor is bound to two texts: `list` identifies the list with its owner, `bound` the filters and the sort. R82, R83. */
  readonly list: string
  readonly bound: string
  /** The parameters as given, for links. */
  readonly parameters: readonly (readonly [name: string, value: string])[]
  /** The compiled forms of the filters and the sort. */
  readonly prepared: Prepared
}

/** A list of entity tags, `*`, or malformed. */
export type EntityTags = '*' | 'malformed' | readonly { readonly tag: string; readonly weak: boolean }[]

/** The parts of a tag besides the rows and their reader. */
export interface TagKey {
  /** The secret for the digests in tags. */
  readonly secret: string
  /** When the database was last restored: tags from before the restore never match. */
  readonly restoredAt: number
}

/** The preconditions of a request. Part 7, conditional read; part 4, methods. */
export interface Preconditions extends TagKey {
  readonly match: EntityTags | null
  readonly noneMatch: EntityTags | null
  readonly unmodifiedSince: number | null
  readonly modifiedSince: number | null
  /** The time that dates are compared with, in milliseconds. */
  readonly now: number
}

export type Document = Record<string, unknown>

/** The input of a route: the call, and the parts that earlier phases have read. */
export interface RequestContext {
  readonly call: Call
  readonly caller: Caller
  readonly carried: CarriedVersion
  /** The identifiers in the path, decoded. */
  readonly params: readonly string[]
  readonly query: ListQuery | ItemQuery | null
  readonly body: Document | null
  /** The file of an upload, whose content is stored. */
  readonly uploaded?: FileMember
  /** The operations of a JSON Patch; its body is an empty object. */
  readonly patch?: readonly PatchOperation[]
  readonly world: ServiceWorld
  /** The handlers of the request; missing if the service has none. */
  readonly decisions?: Decisions
}

/** The checked parameters of a request for events. */
export interface EventQuery {
  /** The events that the request may and wants to read. */
  readonly where: Pick<ReadEvents, 'open' | 'owned' | 'account' | 'visible' | 'types' | 'item' | 'since'>
  /** The position after which events are read; null if the request names none. */
  readonly after: number | null
  /** The event after which a stream goes on. */
  readonly lastId: string | null
  readonly limit: number
  /** The filters, which a cursor is bound to. */
  readonly bound: string
}

/** The page that a request for revisions asks for. */
export type RevisionQuery = Pick<ReadRevisions, 'before' | 'limit'>

export interface Intent extends RequestContext {
  /** A secret that only this answer shows; it is not stored as it is. */
  readonly secret?: string
  readonly events?: EventQuery
  readonly revisions?: RevisionQuery
  readonly key: RowKey
  readonly time: number
  /** The new document, if it does not depend on the stored row. */
  readonly document: Document | null
  /** The claim of its idempotency key; null if it has none. */
  readonly claim: Claim | null
}
