/** Follows the events of a service in a test, as a process that serves it does. */
import type { ServerContext } from '../../src/corridor/server-context.ts'
import { makeEventFeed } from '../../src/events/event-feed.ts'
import { hasEvents, relayEvents, relayEventsEvery } from '../../src/events/event-relay.ts'
import type { Service } from '../../src/service.ts'

/** Gives events their positions, at an interval and before each request; undefined for a service without events. */
export function followEvents({ resources, settings }: Service, { store, world, authenticate, log }: ServerContext) {
  if (!hasEvents(resources)) return undefined
  const context = { resources, store, world, log, retention: settings.events.retention }
  world.state.of(makeEventFeed, null).sources = { store, authenticate, log }
  const relay = relayEventsEvery(context)
  const awake = setInterval(() => {}, 1000) // a test that waits for a stream has nothing else that keeps its process
  const stop = (): Promise<void> => {
    clearInterval(awake)
    return relay.stop()
  }
  return { stop, run: () => relayEvents(context) }
}
