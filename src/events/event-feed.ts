/** Event feed: passes events to the streams of a process when they get their positions. Part 6. R213. */

import type { Authenticate } from '../auth/authenticate.ts'
import type { Caller } from '../flow/caller.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { Store } from '../flow/store.ts'
import type { Cancel, Log } from '../flow/world.ts'
import type { EventScope } from './event-scope.ts'

/** Events that follow a position. */
export interface NewEvents {
  readonly from: number
  readonly to: number
  readonly events: readonly StoredEvent[]
}

export interface Subscriber {
  readonly take: (events: NewEvents) => void
  /** Called every few seconds. */
  readonly beat: () => void
  /** Called when the process stops. */
  readonly end: () => void
}

/** What streams need besides their requests. */
export interface FeedSources {
  readonly store: Store
  readonly authenticate: Authenticate
  readonly log: Log
}

/** How many streams a process has at most. */
const mostStreams = 5000

export class EventFeed {
  readonly #subscribers = new Set<Subscriber>()
  readonly #texts = new WeakMap<
    StoredEvent,
    { readonly scope: EventScope; readonly caller: Caller; readonly text: string }
  >()
  /** The last position that was read; null before the first one. */
  position: number | null = null
  /** Null until the process follows events. */
  sources: FeedSources | null = null

  get isFull(): boolean {
    return this.#subscribers.size >= mostStreams
  }

  get streams(): number {
    return this.#subscribers.size
  }

  get isWatched(): boolean {
    return this.#subscribers.size > 0
  }

  subscribe(subscriber: Subscriber): Cancel {
    this.#subscribers.add(subscriber)
    return () => void this.#subscribers.delete(subscriber)
  }

  publish(events: NewEvents): void {
    this.position = events.to
    for (const one of this.#subscribers) one.take(events)
  }

  /** The text of an event. Streams of one caller in one version share it, as those of all anonymous readers do. */
  textFor(event: StoredEvent, scope: EventScope, caller: Caller, make: () => string): string {
    const existing = this.#texts.get(event)
    if (existing?.scope === scope && existing.caller === caller) return existing.text
    const text = make()
    this.#texts.set(event, { scope, caller, text })
    return text
  }

  beat(): void {
    for (const one of this.#subscribers) one.beat()
  }

  /** Ends all streams; their clients come back to another process. */
  close(): void {
    this.sources = null
    for (const one of [...this.#subscribers]) one.end()
  }
}

export const makeEventFeed = (): EventFeed => new EventFeed()
