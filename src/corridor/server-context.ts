/** House: what the corridor needs besides the call. Part 1. */
import { type Authenticate, makeAuthenticate } from '../auth/authenticate.ts'
import type { AuthVerdict } from '../auth/verdict.ts'
import type { Caller } from '../flow/caller.ts'
import type { Network } from '../flow/network.ts'
import type { Store } from '../flow/store.ts'
import type { ServiceWorld } from '../flow/world.ts'
import type { Ledger } from '../limits/quota-table.ts'
import type { Service } from '../service.ts'
import type { TokenSettings } from '../settings.ts'
import type { Corridor } from './corridor-phase.ts'

/** Where what is not sent is written down. */
export interface Log {
  readonly error: (about: object, message: string) => void
  readonly warn: (about: object, message: string) => void
  readonly info: (about: object, message: string) => void
}

export interface ServerContext {
  readonly service: Service
  readonly store: Store
  /** Counts what is spent of quotas, where the store does not. R184. */
  readonly ledger?: Ledger
  /** The proxies that are believed when they say where a call comes from. R184. */
  readonly proxies?: readonly Network[]
  readonly world: ServiceWorld
  /** Finds out who calls. */
  readonly authenticate: Authenticate
  readonly log: Log
  /** Whether the house takes guests; false while it closes. */
  readonly open: () => boolean
  /** The hosts that it answers for; all where there are none. R17. */
  readonly hosts?: readonly string[]
  /** The full numbers of versions, where contracts were locked. R187. */
  readonly numbers?: () => Promise<ReadonlyMap<string, string>>
  /** The phases of a request; the standard ones unless given. */
  readonly corridor?: Corridor
  /** Whether callers are shown what a failure was caused by: for development alone. R157. */
  readonly exposed?: boolean
}

/** What callers can be known by, besides the tokens that the declaration names. */
export interface CallerSources {
  /** What API keys are sealed with, the first one seals new ones; none where no keys are taken. */
  readonly peppers?: readonly string[]
  /** Callers that are known from the start, by their API key. */
  readonly known?: ReadonlyMap<string, Caller>
}

/** Finds out who calls a service. */
export function callerGate(
  { settings, challenge }: Service,
  store: Store,
  world: ServiceWorld,
  { peppers = [store.secret], known }: CallerSources = {},
): Authenticate {
  const { auth } = settings
  const tokens = auth.tokens && lazyTokenJudge(auth.tokens, world)
  return makeAuthenticate({ auth, challenge, store, peppers, tokens, world, ...(known && { known }) })
}

/** What judges tokens is brought in only where they are taken: it holds 10 MB. */
function lazyTokenJudge(tokens: TokenSettings, world: ServiceWorld): (token: string) => Promise<AuthVerdict> {
  const { issued } = world
  const judged = Promise.all([import('../auth/token.ts'), import('../auth/jwks.ts')]).then(
    ([{ makeTokenJudge: judge }, { textFetcher, keySet }]) =>
      judge(tokens, keySet(tokens.jwks, textFetcher(world), issued), issued),
  )
  return async (token) => (await judged)(token)
}
