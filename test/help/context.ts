/** What the server of a service in a test needs. */
import { callerGate } from '../../src/corridor/server-context.ts'
import type { Store } from '../../src/flow/store.ts'
import type { Log, ServiceWorld } from '../../src/flow/world.ts'
import type { Service } from '../../src/service.ts'

/** As in `src/settings.ts`, in milliseconds. */
const defaultLoopDelay = 200

/** Without refusals for a late event loop, as the machine of the tests may be busy, unless the service sets its own delay. */
export function unhurried(service: Service): Service {
  const { limits } = service.settings
  if (limits.loopDelay !== defaultLoopDelay) return service
  return { ...service, settings: { ...service.settings, limits: { ...limits, loopDelay: null } } }
}

/** The context of a service that is open. */
export const openContext = (service: Service, store: Store, world: ServiceWorld, log: Log) => ({
  ...{ service: unhurried(service), store, world, log },
  ...{ authenticate: callerGate(service, store, world), open: () => true },
})
