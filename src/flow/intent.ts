/** Intent: what is wanted of a resource, checked as far as it can be without the store. Part 1. */

import type { Call, CarriedVersion } from './call.ts'
import type { Caller } from './caller.ts'
import type { RowKey } from './found-row.ts'
import type { Claim, Condition, Term, Window } from './plan.ts'
import type { Prepared } from './prepared.ts'
import type { ServiceWorld } from './world.ts'

export type PaginationStyle = 'page' | 'offset' | 'cursor'

/** Checked list parameters. */
export interface ListQuery {
  readonly where: readonly Condition[]
  readonly order: readonly Term[]
  readonly window: Window
  readonly countTo: number | null
  readonly style: PaginationStyle
  /** Names the list itself, owner included, and what else a cursor is bound to: filters and sort. R82, R83. */
  readonly list: string
  readonly bound: string
  /** The parameters as they were given, for links. */
  readonly parameters: readonly (readonly [name: string, value: string])[]
  /** What the store has compiled from filters and sort. */
  readonly prepared: Prepared
}

/** A list of entity tags, `*`, or what is neither. */
export type EntityTags = '*' | 'malformed' | readonly { readonly tag: string; readonly weak: boolean }[]

/** The conditions of a request. Part 7, conditional read; part 4, methods. */
export interface Preconditions {
  readonly match: EntityTags | null
  readonly noneMatch: EntityTags | null
  readonly unmodifiedSince: number | null
  readonly modifiedSince: number | null
  /** The time that dates are compared with, in milliseconds. */
  readonly now: number
  /** What tags are sealed with. */
  readonly secret: string
}

export type Document = Record<string, unknown>

/** What a story is given to read: the call, and what the corridor has taken from it so far. */
export interface RequestContext {
  readonly call: Call
  readonly caller: Caller
  readonly carried: CarriedVersion
  /** The identifiers in the path, decoded. */
  readonly params: readonly string[]
  readonly query: ListQuery | null
  readonly body: Document | null
  readonly world: ServiceWorld
}

export interface Intent extends RequestContext {
  readonly key: RowKey
  readonly time: number
  /** The fields of the document to be written, where they can be known before the store is asked. */
  readonly document: Document | null
  /** What its idempotency key claims; null where it has none. */
  readonly claim: Claim | null
}
