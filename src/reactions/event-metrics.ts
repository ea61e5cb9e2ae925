/** Event metrics: the position of the last event, how far reactions are behind it, and the streams of this process. Part 6. */
import type { ServerContext } from '../corridor/server-context.ts'
import { makeEventFeed } from '../events/event-feed.ts'
import { hasEvents, lastPosition } from '../events/event-relay.ts'
import { eventsBetween } from '../events/reaction-steps.ts'
import { findReactions, type ReactionRow } from '../events/reaction-tables.ts'
import { rowsIn } from '../flow/outcome.ts'
import { tablePlan } from '../flow/table.ts'
import { within } from '../flow/world.ts'
import { type MetricFamily, type Sample, singleValue } from '../telemetry/metrics.ts'

/** How long the database may take; the other metrics do not wait for it longer. */
const patience = 1000

/** Empty if the service has no events, or the database does not answer in time. */
export function eventFamilies(context: ServerContext): Promise<readonly MetricFamily[]> {
  if (!hasEvents(context.service.resources)) return Promise.resolve([])
  return within(context.world, patience, readFamilies(context).catch(nothing), nothing)
}

const nothing = (): readonly MetricFamily[] => []

async function readFamilies({ store, world }: ServerContext): Promise<readonly MetricFamily[]> {
  const last = await lastPosition(store)
  const reactions = rowsIn(await store.execute(tablePlan(findReactions))) as unknown as readonly ReactionRow[]
  const samples: Sample[] = []
  for (const { name, position } of reactions) {
    const steps = eventsBetween(position, last, world)
    let step = steps.next()
    while (!step.done) step = steps.next(await store.execute(step.value))
    samples.push({ suffix: '', labels: { reaction: name }, value: step.value })
  }
  const behind = 'Events that a reaction or a publisher has not read yet.'
  const streams = 'Streams of events that this process sends.'
  return [
    singleValue({ name: 'bylaw_event_position', type: 'gauge', help: 'The position of the last event.' }, last),
    { name: 'bylaw_reaction_events_behind', type: 'gauge', help: behind, samples },
    singleValue(
      { name: 'bylaw_event_streams', type: 'gauge', help: streams },
      world.state.of(makeEventFeed, null).streams,
    ),
  ]
}
