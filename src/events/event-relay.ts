/** Event relay: gives committed events their positions, passes them to the streams, and deletes old events. Part 6. R230. */
import type { EventPage, Outcome } from '../flow/outcome.ts'
import type { Plan } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { type Cancel, type IsEnding, type Log, notEnding, oneAtATime, type ServiceWorld } from '../flow/world.ts'
import type { Resource } from '../resources/resource.ts'
import { type EventFeed, makeEventFeed } from './event-feed.ts'

export interface RelayContext {
  readonly resources: ReadonlyMap<string, Resource>
  readonly store: Store
  readonly world: ServiceWorld
  readonly log: Log
  /** How long events are kept, in milliseconds; null for ever. */
  readonly retention: number | null
}

/** Whether a service records events. */
export const hasEvents = (resources: ReadonlyMap<string, Resource>): boolean =>
  [...resources.values()].some(({ collection }) => collection.eventPrefix !== undefined)

const pageSize = 500

/** Numbers the events that have been committed, and publishes them to the streams of the process. */
export async function relayEvents(
  context: Pick<RelayContext, 'resources' | 'store' | 'world'>,
  isEnding = notEnding,
): Promise<void> {
  const { store, world } = context
  const feed = world.state.of(makeEventFeed, null)
  let head = numbered(await store.execute({ do: 'head' }))
  // Streams that are open already read from their own positions: other processes may have numbered events meanwhile.
  if (feed.position === null) feed.publish({ from: head.position, to: head.position, events: [] })
  while (head.more && !isEnding()) head = numbered(await store.execute({ do: 'number' }))
  if (!feed.isWatched) feed.position = head.position
  await publishUpTo(head.position, feed, context, isEnding)
}

/** The last position that an event has got. */
export const lastPosition = async (store: Store): Promise<number> =>
  numbered(await store.execute({ do: 'head' })).position

async function publishUpTo(
  head: number,
  feed: EventFeed,
  { resources, store }: Pick<RelayContext, 'resources' | 'store'>,
  isEnding: IsEnding,
): Promise<void> {
  const open = [...resources.keys()]
  for (let from = feed.position ?? head; from < head && !isEnding(); from = feed.position ?? head) {
    const plan: Plan = { do: 'events', after: from, limit: pageSize, open, owned: [], account: null }
    const { events, position } = (await store.execute(plan)) as EventPage
    if (position === from) return // in a rolling upgrade, this node cannot show what follows
    feed.publish({ from, to: position, events })
  }
}

function numbered(outcome: Outcome): Extract<Outcome, { is: 'numbered' }> {
  if (outcome.is !== 'numbered') throw new Error(`The store answered ${outcome.is} to a plan for events.`)
  return outcome
}

/** Deletes the events that are kept no longer. */
export async function sweepOldEvents({ store, world, retention }: RelayContext, isEnding = notEnding): Promise<void> {
  if (retention === null) return
  const before = world.due() - retention
  for (let more = true; more && !isEnding(); ) {
    const outcome = await store.execute({ do: 'expire', before })
    more = outcome.is === 'swept' && outcome.more
  }
}

/** How often events are looked for, streams are kept alive and old events are deleted, in milliseconds. */
const [relayInterval, beatInterval, sweepInterval] = [100, 5000, 60_000]

interface RunningRelay {
  /** Ends all streams, at once. */
  readonly endStreams: () => void
  /** Ends the relay. */
  readonly stop: () => Promise<void>
}

/** Relays events at an interval, until it is stopped. */
export function relayEventsEvery(context: RelayContext): RunningRelay {
  const { world, log } = context
  const feed = world.state.of(makeEventFeed, null)
  const relay = oneAtATime(
    (isEnding) => relayEvents(context, isEnding),
    log,
    'Events could not be read; the next try is soon.',
  )
  const sweep = oneAtATime(
    (isEnding) => sweepOldEvents(context, isEnding),
    log,
    'Old events could not be deleted; the next try is soon.',
  )
  const cancels: readonly Cancel[] = [
    world.every(relayInterval, relay.run),
    world.every(sweepInterval, sweep.run),
    world.every(beatInterval, () => feed.beat()),
  ]
  const endStreams = (): void => {
    for (const cancel of cancels) cancel()
    feed.close()
  }
  const stop = async (): Promise<void> => {
    endStreams()
    await Promise.all([relay.end(), sweep.end()])
  }
  return { endStreams, stop }
}
