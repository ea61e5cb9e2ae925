/** House: what the corridor needs besides the call. Part 1. */
import type { World } from '../flow/call.ts'
import type { Store } from '../flow/store.ts'
import type { Service } from '../service.ts'
import type { Log } from './refuse.ts'

export interface House {
  readonly service: Service
  readonly store: Store
  readonly world: World
  readonly log: Log
  /** Whether the house takes guests; false while it closes. */
  readonly open: () => boolean
  /** The hosts that it answers for; all where there are none. R17. */
  readonly hosts?: readonly string[]
}
