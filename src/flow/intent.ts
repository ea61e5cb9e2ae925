/** Intent: what is wanted of a resource, checked as far as it can be without the store. Part 1. */
import type { Call, Carried, World } from './call.ts'
import type { Caller } from './caller.ts'
import type { Claim, Condition, Key, Term, Window } from './plan.ts'

export type Style = 'page' | 'offset' | 'cursor'

/** Checked list parameters. */
export interface Query {
  readonly where: readonly Condition[]
  readonly order: readonly Term[]
  readonly window: Window
  readonly countTo: number | null
  readonly style: Style
  /** Names the list itself, owner included, and what else a cursor is bound to: filters and sort. R82, R83. */
  readonly list: string
  readonly bound: string
  /** The parameters as they were given, for links. */
  readonly given: readonly (readonly [name: string, value: string])[]
}

/** A list of entity tags, `*`, or what is neither. */
export type Tags = '*' | 'malformed' | readonly { readonly tag: string; readonly weak: boolean }[]

/** The conditions of a request. Part 7, conditional read; part 4, methods. */
export interface Conditions {
  readonly match: Tags | null
  readonly noneMatch: Tags | null
  readonly unmodifiedSince: number | null
  readonly modifiedSince: number | null
  /** The time that dates are compared with, in milliseconds. */
  readonly now: number
  /** What tags are sealed with. */
  readonly secret: string
}

export type Document = Record<string, unknown>

/** What a story is given to read: the call, and what the corridor has taken from it so far. */
export interface Asked {
  readonly call: Call
  readonly caller: Caller
  readonly carried: Carried
  /** The identifiers in the path, decoded. */
  readonly params: readonly string[]
  readonly query: Query | null
  readonly body: Document | null
  readonly world: World
}

export interface Intent extends Asked {
  readonly key: Key
  readonly time: number
  readonly conditions: Conditions | null
  /** The fields of the document to be written, where they can be known before the store is asked. */
  readonly document: Document | null
  /** What its idempotency key claims; null where it has none. */
  readonly claim: Claim | null
}
