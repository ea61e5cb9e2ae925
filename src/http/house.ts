/** House: what the corridor needs besides the call. Part 1. */

import type { Network } from '../flow/address.ts'
import type { World } from '../flow/call.ts'
import type { Ledger, Store } from '../flow/store.ts'
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
  /** Counts what is spent of quotas, where the store does not. R184. */
  readonly ledger?: Ledger
  /** The proxies that are believed when they say where a call comes from. R184. */
  readonly proxies?: readonly Network[]
  readonly world: World
  readonly log: Log
  /** Whether the house takes guests; false while it closes. */
  readonly open: () => boolean
  /** The hosts that it answers for; all where there are none. R17. */
  readonly hosts?: readonly string[]
  /** Whether callers are shown what a failure was caused by: for development alone. R157. */
  readonly exposed?: boolean
}
