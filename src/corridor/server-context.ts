/** Server context: everything that the corridor needs besides the call. Part 1. */
import { type Authenticate, makeAuthenticate } from '../auth/authenticate.ts'
import type { AuthVerdict } from '../auth/verdict.ts'
import type { Caller } from '../flow/caller.ts'
import type { Network } from '../flow/network.ts'
import type { Store } from '../flow/store.ts'
import type { Log, ServiceWorld } from '../flow/world.ts'
import { ListReader } from '../handlers/handled-list.ts'
import type { HandlerSources, ReadErrorFields } from '../handlers/handler-sources.ts'
import { requireHandlers, usedByHandlers } from '../handlers/own-handlers.ts'
import { SharedTurns } from '../handlers/shared-turns.ts'
import type { Ledger } from '../limits/quota-table.ts'
import { readInput } from '../resources/machine.ts'
import type { Service } from '../service.ts'
import type { TokenSettings } from '../settings.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Corridor } from './corridor-phase.ts'

export interface ServerContext {
  readonly service: Service
  readonly store: Store
  /** Counts the use of quotas, unless the store does. R184. */
  readonly ledger?: Ledger
  /** The proxies whose forwarded client addresses are trusted. R184. */
  readonly proxies?: readonly Network[]
  readonly world: ServiceWorld
  /** Identifies the caller. */
  readonly authenticate: Authenticate
  readonly log: Log
  /** Measures requests; missing if neither metrics nor traces are turned on. */
  readonly telemetry?: Telemetry | undefined
  /** Whether the server takes requests; false while it stops. */
  readonly open: () => boolean
  /** The hosts that it answers for; all hosts if it is missing. R17. */
  readonly hosts?: readonly string[]
  /** The full numbers of versions, if contracts were locked. R187. */
  readonly numbers?: () => Promise<ReadonlyMap<string, string>>
  /** The handlers of the service; missing if it has none. */
  readonly handlers?: HandlerSources
  /** Starts the asynchronous operations that are due; missing if others run them. */
  readonly wakeWorker?: () => void
  /** The phases of a request; the standard ones unless given. */
  readonly corridor?: Corridor
  /** Whether clients see the causes of failures: only in development. R157. */
  readonly exposed?: boolean
}

/** The ways to identify callers, besides the tokens that the declaration names. */
export interface CallerSources {
  /** The secrets that API keys are hashed with; the first one hashes new keys. Empty if keys are not accepted. */
  readonly peppers?: readonly string[]
  /** Fixed callers by their API key. */
  readonly fixedCallers?: ReadonlyMap<string, Caller>
}

/** Makes the function that identifies the callers of a service. */
export function callerGate(
  { settings, challenge }: Service,
  store: Store,
  world: ServiceWorld,
  { peppers = [store.secret], fixedCallers }: CallerSources = {},
): Authenticate {
  const { auth } = settings
  const tokens = auth.tokens && lazyTokenJudge(auth.tokens, world)
  return makeAuthenticate({ auth, challenge, store, peppers, tokens, world, ...(fixedCallers && { fixedCallers }) })
}

/** The context of handlers; undefined if the service has none. Throws if an operation has no handler. */
export function handlerSources(
  { name, declaration, ownHandlers, resources, writer, errors: types, errorFields, settings }: Service,
  store: Store,
  world: ServiceWorld,
  log: Log,
): HandlerSources | undefined {
  requireHandlers(name, declaration.resources, ownHandlers)
  if (!ownHandlers) return undefined
  const lists = new ListReader(resources)
  const timeout = settings.limits.handlerTimeout
  const sharedTurns = new SharedTurns({ store, world })
  const readErrorFields: ReadErrorFields = (type, values) => readInput(errorFields.get(type) ?? [], values, settings)
  const own = { ownHandlers, resources, lists, sharedTurns, writer, types, readErrorFields, store, world, log, timeout }
  return { ...usedByHandlers(ownHandlers), ...own }
}

/** Loads the token verifier only if tokens are accepted: it takes 10 MB. */
function lazyTokenJudge(tokens: TokenSettings, world: ServiceWorld): (token: string) => Promise<AuthVerdict> {
  const { issued } = world
  const judged = Promise.all([import('../auth/token.ts'), import('../auth/key-set.ts')]).then(
    ([{ makeTokenJudge: judge }, { textFetcher, keySet }]) =>
      judge(tokens, keySet(tokens.jwks, textFetcher(world), issued), issued),
  )
  return async (token) => (await judged)(token)
}
