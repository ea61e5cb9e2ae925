/** House: what the corridor needs besides the call. Part 1. */
import type { World } from '../flow/call.ts'
import type { Store } from '../flow/store.ts'
import type { Service } from '../service.ts'

/** Where what is not sent is written down. */
export interface Log {
  readonly error: (about: object, message: string) => void
  readonly warn: (about: object, message: string) => void
  readonly info: (about: object, message: string) => void
}

export interface House {
  readonly service: Service
  readonly store: Store
  readonly world: World
  readonly log: Log
  /** Whether the house takes guests; false while it closes. */
  readonly open: () => boolean
  /** The hosts that it answers for; all where there are none. R17. */
  readonly hosts?: readonly string[]
  /** Whether callers are shown what a failure was caused by: for development alone. R157. */
  readonly exposed?: boolean
}
