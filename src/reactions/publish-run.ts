/** Publish run: sends all events to a broker, at least once and for each item in order. Part 6. */
import type { ServerContext } from '../corridor/server-context.ts'
import type { EventScope } from '../events/event-scope.ts'
import { eventTypeOf } from '../events/event-scope.ts'
import { eventMediaType, eventText } from '../events/event-text.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { EventPage } from '../flow/outcome.ts'
import { runAll, within } from '../flow/world.ts'
import type { EventPublisher, PublishedEvent, RefusedEvent } from '../settings.ts'
import { EventFailures, type EventFault } from './event-failures.ts'
import { HeldPosition } from './held-position.ts'

/** The name of its position and its failures; names of reactions cannot have a dot. */
const publisherName = 'events.publish'
/** How many events are read at once. */
const pageSize = 100
/** The pause after a failure, which doubles with each further one up to the longest, in milliseconds. */
const [firstPause, longestPause] = [1000, 30_000]
/** How long the publisher may take to close before another process may publish, in milliseconds: less than a stop. */
const longestClose = 5000

export class PublishRun {
  readonly #publisher: EventPublisher
  readonly #server: ServerContext
  /** The events in the newest version. */
  readonly #scope: EventScope
  readonly #held: HeldPosition
  readonly #refused: EventFailures
  #failures = 0
  #pausedUntil = 0

  constructor(publisher: EventPublisher, server: ServerContext, scope: EventScope) {
    this.#publisher = publisher
    this.#server = server
    this.#scope = scope
    this.#held = new HeldPosition(publisherName, server, async () => (await this.#read(0)).base)
    this.#refused = new EventFailures(publisherName, 'The publisher', server)
  }

  /** Publishes new events up to the last one; does nothing if another process publishes, or during the pause after a failure. */
  async run(): Promise<void> {
    const { world, log } = this.#server
    if (world.due() < this.#pausedUntil) return
    try {
      await this.#held.hold((position) => this.#publishFrom(position))
      if (this.#failures > 0) log.info({}, 'Events are published again.')
      this.#failures = 0
    } catch (err) {
      const pause = Math.min(firstPause * 2 ** this.#failures, longestPause)
      this.#failures++
      this.#pausedUntil = world.due() + pause
      log.warn({ err }, `Events could not be published; the next try is in ${pause / 1000} s.`)
      await this.#held.release().catch(() => {}) // another process may reach the broker
    }
  }

  async begin(): Promise<void> {
    await this.#held.begin()
  }

  end(): void {
    this.#held.end()
  }

  async release(): Promise<void> {
    const close = async () =>
      within(this.#server.world, longestClose, Promise.resolve(this.#publisher.close()), () => {})
    await runAll([close, () => this.#held.release()])
  }

  async #publishFrom(from: number): Promise<void> {
    for (let [position, more] = [from, true]; more; ) {
      const { items, isFull } = await this.#refused.retry((event) => this.#sendAgain(event), this.#held.isEnding)
      if (isFull) return
      const page = await this.#read(position)
      if (page.base > position) this.#warnOfMissed(position, page.base)
      const groups = splitAtRepeatedItems(page.events)
      for (const [i, group] of groups.entries()) {
        await this.#sendUnlessBehind(group, items)
        const last = i === groups.length - 1
        if (!last && !(await this.#held.move(group.at(-1)?.position ?? position))) return
      }
      position = page.position
      more = page.position < page.head
      if (!(await this.#held.move(position))) return
      if (page.stops) await this.#held.release() // a node with the newer declaration continues
    }
  }

  #warnOfMissed(position: number, base: number): void {
    const { restoredAt } = this.#server.world // positions have a gap there
    const missed = position < restoredAt && restoredAt <= base ? null : base - position
    this.#server.log.error(
      { missed },
      `${missed ?? 'Some'} events were deleted before they could be published: events.retention is shorter than the publisher was behind.`,
    )
  }

  async #read(after: number): Promise<EventPage> {
    const open = this.#scope.sources.map(({ collection }) => collection)
    const plan = { do: 'events', after, limit: pageSize, open, owned: [], account: null } as const
    return (await this.#server.store.execute(plan)) as EventPage
  }

  /** Publishes the events of items without failures; the other events wait behind the failures of their items. */
  async #sendUnlessBehind(events: readonly StoredEvent[], blocked: Set<string>): Promise<void> {
    const { true: behind = [], false: free = [] } = Object.groupBy(events, ({ item }) => `${blocked.has(item)}`)
    for (const event of behind) await this.#refused.addBehind(event)
    const reasons = free.length === 0 ? null : await this.#publish(free)
    for (const event of free.filter(({ id }) => reasons?.has(id))) {
      await this.#refused.add(event, { err: reasons?.get(event.id) })
      blocked.add(event.item)
    }
  }

  async #sendAgain(event: StoredEvent): Promise<EventFault | null> {
    const reasons = await this.#publish([event])
    return reasons.has(event.id) ? { err: reasons.get(event.id) } : null
  }

  /** Returns the reasons of the refused events, by their ids. */
  async #publish(events: readonly StoredEvent[]): Promise<ReadonlyMap<string, string>> {
    const { world, service } = this.#server
    const { handlerTimeout } = service.settings.limits
    const late = () => Promise.reject(new Error(`The publisher took longer than ${handlerTimeout / 1000} s.`))
    const sent: Promise<unknown> = this.#publisher.publish(events.flatMap((event) => this.#shown(event)))
    const refused = await within(world, handlerTimeout, Promise.resolve(sent), late)
    return new Map(Array.isArray(refused) ? refused.map(({ id, reason }: RefusedEvent) => [id, reason]) : [])
  }

  /** An event as the broker gets it: with all fields that are not write-only. */
  #shown(event: StoredEvent): readonly PublishedEvent[] {
    const { world, service } = this.#server
    const source = this.#scope.sources.find(({ collection }) => collection === event.collection)
    if (!source) return []
    const { id, key } = event
    const scopes = new Set(Object.keys(service.declaration.scopes ?? {}))
    const reader: Caller = { ...nobody, id: 'publisher', account: key.account, scopes }
    return [
      {
        ...{ id, type: eventTypeOf(source, event), item: key.id, account: key.account },
        body: eventText(this.#scope, source, event, reader, world),
        contentType: eventMediaType(service.settings.events.format),
      },
    ]
  }
}

/** Groups of successive events of different items: an event is sent after the previous one of its item was acknowledged. */
function splitAtRepeatedItems(events: readonly StoredEvent[]): readonly (readonly StoredEvent[])[] {
  const groups: StoredEvent[][] = []
  let items = new Set<string>()
  for (const event of events) {
    const { item } = event
    const group = items.has(item) ? undefined : groups.at(-1)
    if (group) group.push(event)
    else {
      groups.push([event])
      items = new Set()
    }
    items.add(item)
  }
  return groups
}
