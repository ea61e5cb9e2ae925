/** Erasure context: the data that the parts of an erasure share. Part 8. */
import type { RowKey } from '../flow/found-row.ts'
import type { ErasedKind } from '../flow/outcome.ts'
import type { Store } from '../flow/store.ts'
import type { ServiceWorld } from '../flow/world.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'

export interface ErasureContext {
  readonly service: Pick<Service, 'resources' | 'writer' | 'events'>
  readonly store: Store
  readonly world: ServiceWorld
  /** Whether everything is rolled back. */
  readonly isDry: boolean
}

/** An item whose personal fields are emptied. */
export interface ErasedItem {
  readonly resource: Resource
  readonly key: RowKey
}

/** The kinds of items, records and contents that an erasure counts, as its report names them. */
export type ErasureKind = ErasedKind | 'items' | 'files' | 'reasons' | 'operations' | 'deliveries'

/** What was emptied, by its kind. */
export type Counts = Map<ErasureKind, number>

export const addTo = (counts: Counts, kind: ErasureKind, count = 1): unknown =>
  count > 0 && counts.set(kind, (counts.get(kind) ?? 0) + count)

/** What replaces a text that may quote a value. */
export const erasedText = 'Erased.'
