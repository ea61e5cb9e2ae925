/** Import tools: the functions and data that the corridor passes to an import. R238. */
import type { Decisions } from '../flow/decision.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Plan, RowRights } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import type { RowReader } from './row-reader.ts'

export interface ImportTools {
  /** The content as it arrives, decoded. */
  readonly content: AsyncIterable<Uint8Array>
  readonly reader: RowReader
  readonly store: Pick<Store, 'execute' | 'keepsOrder'>
  /** The rights of the caller, if they depend on rows. */
  readonly rights: RowRights | undefined
  /** Executes a plan; one with handlers is made again when they have decided. */
  readonly execute: (make: (decisions?: Decisions) => Plan) => Outcome | Promise<Outcome>
  /** Whether handlers may run: then each line has a transaction of its own. */
  readonly isHandled: boolean
  readonly keepsHistory: boolean
  /**
   * Admits a transaction, of which each further one counts as a request. Throws if the quota is exhausted, or the credentials have
   * ended since the import began, which may take long.
   */
  readonly admitTransaction: (isFurther: boolean) => Promise<void>
  /** The members of the error of a line. Throws failures of the service, except those of handlers. */
  readonly lineError: (error: unknown, line: number) => Readonly<Record<string, unknown>>
}
