/** Event metrics: the position of the last event, how far reactions are behind it, and the streams of this process. Part 6. */
import type { ServerContext } from '../corridor/server-context.ts'
import { makeEventFeed } from '../events/event-feed.ts'
import { hasEvents, lastPosition } from '../events/event-relay.ts'
import { eventsBetween } from '../events/reaction-steps.ts'
import { findReactions, type ReactionRow } from '../events/reaction-tables.ts'
import { rowsIn } from '../flow/outcome.ts'
import { tablePlan } from '../flow/table.ts'
import { within } from '../flow/world.ts'
import type { MetricFamily, Sample } from '../telemetry/metrics.ts'

/** How long the database may take; the other metrics do not wait for it longer. */
const patience = 1000

interface EventNumbers {
  readonly last: number
  /** How many events each reaction is behind. */
  readonly behind: ReadonlyMap<string, number>
}

/** Empty if the service has no events; without values of the database if it does not answer in time. */
export async function eventFamilies(context: ServerContext): Promise<readonly MetricFamily[]> {
  if (!hasEvents(context.service.resources)) return []
  const { world } = context
  const numbers = await within(world, patience, readNumbers(context).catch(nothing), nothing)
  const behind = [...(numbers?.behind ?? [])].map(([reaction, value]) => ({ labels: { reaction }, value }))
  return [
    gauge(
      'bylaw_event_position',
      'The position of the last event.',
      numbers ? [{ labels: {}, value: numbers.last }] : [],
    ),
    gauge('bylaw_reaction_events_behind', 'Events that a reaction or a publisher has not read yet.', behind),
    gauge('bylaw_event_streams', 'Streams of events that this process sends.', [
      { labels: {}, value: world.state.of(makeEventFeed, null).streams },
    ]),
  ]
}

const nothing = (): null => null

const gauge = (name: string, help: string, values: readonly Omit<Sample, 'suffix'>[]): MetricFamily => ({
  ...{ name, type: 'gauge', help },
  samples: values.map((one) => ({ suffix: '', ...one })),
})

async function readNumbers({ store, world }: ServerContext): Promise<EventNumbers> {
  const last = await lastPosition(store)
  const reactions = rowsIn(await store.execute(tablePlan(findReactions))) as unknown as readonly ReactionRow[]
  const behind = new Map<string, number>()
  for (const { name, position } of reactions) {
    const steps = eventsBetween(position, last, world)
    let step = steps.next()
    while (!step.done) step = steps.next(await store.execute(step.value))
    behind.set(name, step.value)
  }
  return { last, behind }
}
