/** Background: what a process does besides answering: timers, events, reactions, and counts of used versions. Part 8. */
import type { ServerContext } from '../corridor/server-context.ts'
import { hasWebhooks } from '../deliveries/endpoint-makers.ts'
import { runDeliveriesEvery } from '../deliveries/run-deliveries.ts'
import { webhookTerms } from '../deliveries/webhook-terms.ts'
import { makeEventFeed } from '../events/event-feed.ts'
import { hasEvents, relayEventsEvery } from '../events/event-relay.ts'
import { runReactionsEvery } from '../reactions/run-reactions.ts'
import { runTimersEvery } from '../timers/run-timers.ts'
import { flushUsageEvery } from '../versions/usage.ts'
import { makeSender, systemResolver } from '../webhooks/send.ts'

/** How often counts of used versions are written to the store, in milliseconds. */
const usageWriteInterval = 5000
/** How often transitions by the clock are looked for, in milliseconds. */
const timerInterval = 5000

/** Starts the work of a process. `endStreams` is called before its last answers, `stop` after them. */
export function startBackground(server: ServerContext) {
  const { service, store, world, log, handlers, authenticate } = server
  const { resources, writer, settings } = service
  const written = flushUsageEvery({ store, world }, usageWriteInterval)
  const timersStopped = runTimersEvery({ resources, writer, store, world, log, handlers }, timerInterval)
  let endStreams = async (): Promise<void> => {}
  if (hasEvents(resources)) {
    world.state.of(makeEventFeed, null).sources = { store, authenticate, log }
    endStreams = relayEventsEvery({ resources, store, world, log, retention: settings.events.retention })
  }
  const reactionsStopped = hasEvents(resources) ? runReactionsEvery(server) : async () => {}
  const deliveriesStopped = hasWebhooks(resources) ? startDeliveries(server) : async () => {}
  const stop = async (): Promise<void> => {
    await Promise.all([timersStopped(), reactionsStopped(), deliveriesStopped()])
    await written()
  }
  return { endStreams, stop }
}

function startDeliveries({ service, store, world, log }: ServerContext): () => Promise<void> {
  const { resources, events, writer } = service
  const { privateTargets } = webhookTerms(world)
  const sender = makeSender({ privateTargets, resolve: systemResolver({ privateTargets }), world })
  return runDeliveriesEvery({ resources, events, writer, store, world, log, sender })
}
