/** Handler sources: the parts of a service that handlers use. R226. */
import type { Catalogue } from '../errors/catalogue.ts'
import type { Document } from '../flow/intent.ts'
import type { Log, ServiceWorld } from '../flow/world.ts'
import type { ListReader } from './handled-list.ts'
import type { OwnHandlers } from './own-handlers.ts'
import type { RowSources } from './request-rows.ts'
import type { SharedTurns } from './shared-turns.ts'

/** Checks the further members of an error of a declared type. Throws all mistakes. R160. */
export type ReadErrorFields = (type: string, values: Document) => ReadonlyMap<string, unknown>

/** The parts of a service that handlers use. */
export interface HandlerSources extends RowSources {
  readonly ownHandlers: OwnHandlers
  /** The value of the option `use`, made at its first use. */
  readonly used: () => Promise<unknown>
  /** Releases what `used` made. */
  readonly close: () => Promise<void>
  readonly lists: ListReader
  readonly sharedTurns: SharedTurns
  readonly types: Catalogue
  readonly readErrorFields: ReadErrorFields
  readonly world: ServiceWorld
  readonly log: Log
  /** How long all handlers of a request may take together, in milliseconds. R180. */
  readonly timeout: number
}
