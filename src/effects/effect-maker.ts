/** Effect maker: decides the changes of other rows that follow from the writes of a resource. Part 4, methods. */
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Consequences, Effect, EffectRead, EffectReadResult, RowChange, RowWrite } from '../flow/plan.ts'

/** The write of a row. */
export interface DocumentWrite {
  readonly key: RowKey
  readonly time: number
  /** Whether a transition enters the state, even if the item was in it already. */
  readonly entered?: boolean
  /** The document as it is stored; null if the row is created. */
  readonly before: Document | null
  /** The document as it will be stored; null if the row is removed. */
  readonly after: Document | null
}

/** The inputs and tools of a decision. */
export interface EffectTools {
  /** The results of `reads`, in their order. */
  readonly results: readonly EffectReadResult[]
  /**
   * Changes the document of a row of a resource; does nothing if the row does not exist. Several changes of one row in a
   * request are one.
   */
  readonly change: (resource: string, key: RowKey, act: DocumentAct) => RowChange
}

/** A part of the change of a document. */
export interface DocumentAct {
  readonly make: (document: Document) => Document | LaterDocument
  /** Checks the values that it has made, when all acts on the row are done. */
  readonly check?: (document: Document) => Document
  /** Whether the row counts as changed even if the document stays the same. */
  readonly always?: boolean
}

/** A document that depends on further reads, which run while its row is locked. */
export class LaterDocument {
  readonly reads: readonly EffectRead[]
  readonly make: (results: readonly EffectReadResult[]) => Document

  constructor(reads: LaterDocument['reads'], make: LaterDocument['make']) {
    this.reads = reads
    this.make = make
  }
}

/** Makes the effects of the writes of a resource. */
export interface EffectMaker {
  /** The resource whose writes it follows, by its newest name. */
  readonly resource: string
  /** The rows that it decides from, and operations on tables, such as the next number of a series. */
  readonly reads?: (write: DocumentWrite) => readonly EffectRead[]
  /** May set members of `after`. Called again if a row that it decided from has changed meanwhile. */
  readonly decide: (write: DocumentWrite, tools: EffectTools) => readonly Effect[]
}

/** The decisions of all makers of a resource; `make` makes the write of the document, which they may have changed. */
export function consequencesOf(
  makers: readonly EffectMaker[],
  write: DocumentWrite,
  change: EffectTools['change'],
  make: (after: Document) => RowWrite,
): Consequences {
  const reads = makers.map((one) => one.reads?.(write) ?? [])
  return {
    reads: reads.flat(),
    decide: (all) => {
      const after = write.after && { ...write.after }
      let at = 0
      const effects = makers.flatMap(({ decide }, i) => {
        const results = all.slice(at, at + (reads[i] as readonly EffectRead[]).length)
        at += results.length
        return decide({ ...write, after }, { results, change })
      })
      return { ...make(after ?? {}), effects }
    },
  }
}
