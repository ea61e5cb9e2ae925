/** Decision: the decision of a service's own code on a write, before the write is committed. Part 3, handlers. R226. */

import { Detour } from '../errors/detour.ts'
import type { OwnOperation } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import type { RowKey } from './found-row.ts'
import type { Effect } from './plan.ts'

type Document = Readonly<Record<string, unknown>>

/** A write that a handler may decide on. */
export interface ProposedWrite {
  readonly resource: Resource
  /** The operation or the transition; both if a body of an older version also writes the state. */
  readonly operations: readonly string[]
  /** The values of the input of a transition. */
  readonly input?: ReadonlyMap<string, unknown>
  readonly key: RowKey
  readonly time: number
  /** The revision that it was decided from; 0 for a new row. */
  readonly revision: number
  /** The document as it is stored; null if the row is created. */
  readonly before: Document | null
  /** The document as it would be stored; null if the row is removed. */
  readonly after: Document | null
}

/** A call of an operation whose handler returns its answer. */
export interface ProposedCall extends Pick<ProposedWrite, 'resource' | 'time'> {
  readonly operation: OwnOperation
  readonly input: ReadonlyMap<string, unknown>
  /** The item that it is called on; null for the collection. */
  readonly item: (Pick<ProposedWrite, 'key' | 'revision'> & { readonly before: Document }) | null
}

/** The output of an operation as JSON, and the effects that are committed with it. */
export interface CallDecision {
  readonly answer: string
  readonly effects: readonly Effect[]
}

export interface Decision {
  /** The document with the fields that handlers have set; null if the row is removed. */
  readonly after: Document | null
  /** The effects that are committed with the write: writes of other rows, and checks of the rows and lists that were read. */
  readonly effects: readonly Effect[]
}

/** A write of a handler that the state of an item does not allow. */
export interface RefusedState {
  readonly resource: Resource
  readonly document: Document
  /** The states that allow it. */
  readonly allowed: readonly string[]
  /** The transition that was asked for, if it is one. */
  readonly transition?: string
  /** What cannot be done, as in `cannot be changed`. */
  readonly what: (transition?: string) => string
}

/** The decisions on the writes of one request. */
export interface Decisions {
  /** Null if no handler covers the write. Throws `Undecided` if its handler has to run first. */
  readonly on: (write: ProposedWrite) => Decision | null
  /** The decision on the call of an operation; throws `Undecided` if its handler has to run first. */
  readonly call: (call: ProposedCall) => CallDecision
  /** Whether a handler covers one of the operations of a resource. */
  readonly cover: (resource: string, operations: readonly string[]) => boolean
}

/** Thrown to end a transaction that has no decision yet: handlers run outside of transactions. */
export class Undecided extends Detour {
  /** Runs the handlers that decide. */
  readonly decide: () => Promise<void>

  constructor(name: string, decide: () => Promise<void>) {
    super(`The handler of ${name} has not decided yet.`)
    this.decide = decide
  }
}
