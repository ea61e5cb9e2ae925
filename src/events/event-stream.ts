/** Event stream: sends events as they happen (`text/event-stream`), from where a client left off. Part 6. R213. */
import { Problem } from '../errors/problem.ts'
import type { Caller } from '../flow/caller.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { EventQuery, Intent } from '../flow/intent.ts'
import type { EventPage } from '../flow/outcome.ts'
import type { AnswerStream, StreamTarget } from '../flow/reply.ts'
import { pause } from '../flow/world.ts'
import type { AccessRule } from '../resources/declaration.ts'
import { type EventFeed, type FeedSources, makeEventFeed, type NewEvents } from './event-feed.ts'
import { type EventScope, eventTypeOf } from './event-scope.ts'
import { eventText } from './event-text.ts'

/** What a stream shows, and how it checks that its caller may still see it. */
export interface StreamRules {
  /** The last position when the stream was asked for. */
  readonly now: number
  readonly scope: EventScope
  readonly rule: AccessRule
  /** Reads the parameters again for a caller whose rights may have changed; throws if it may see nothing. */
  readonly queryFor: (caller: Caller) => EventQuery
}

/** The stream of a request. Throws if this process cannot send another one. */
export function eventStream(rules: StreamRules, intent: Intent): AnswerStream {
  const feed = intent.world.state.of(makeEventFeed, null)
  const { sources } = feed
  if (sources === null || feed.isFull)
    throw new Problem('overloaded', 'This process cannot send another stream of events. Try again later.')
  return {
    endless: true,
    open: (target) => {
      const stream = new OpenStream(rules, intent, { feed, sources, target })
      return stream.end
    },
  }
}

interface StreamParts {
  readonly feed: EventFeed
  readonly sources: FeedSources
  readonly target: StreamTarget
}

/** A client with more unread bytes is disconnected; it reconnects and continues after its last event. */
const mostUnread = 1024 * 1024
/** Stored events are sent while the client has fewer unread bytes than this. */
const enoughUnread = 64 * 1024
/** How often the unread bytes are checked, and after what time a client that reads nothing is disconnected, in milliseconds. */
const [drainInterval, mostIdle] = [20, 30_000]
const pageSize = 100
/** A comment is sent after this time without an event, and the caller is checked again, in milliseconds. */
const commentInterval = 15_000

class OpenStream {
  readonly #rules: StreamRules
  readonly #intent: Intent
  readonly #parts: StreamParts
  readonly #unsubscribe: () => void
  #query: EventQuery
  #caller: Caller
  /** The position up to which events were sent; null until the beginning is known. */
  #position: number | null = null
  #catchingUp = true
  #ended = false
  #lastSent: number

  constructor(rules: StreamRules, intent: Intent, parts: StreamParts) {
    this.#rules = rules
    this.#intent = intent
    this.#parts = parts
    this.#query = intent.events as EventQuery
    this.#caller = intent.caller
    this.#lastSent = intent.world.monotonic()
    this.#unsubscribe = parts.feed.subscribe({ take: this.#take, beat: this.#beat, end: this.#leave })
    parts.target.write(': events\n\n')
    void this.#catchUp()
  }

  /** Ends the stream of a client that has disconnected; sends nothing. */
  end = (): void => {
    this.#ended = true
    this.#unsubscribe()
  }

  /** Closes the stream; the client reconnects after a second, and continues after its last event. */
  #leave = (): void => {
    if (this.#ended) return
    this.#send('retry: 1000\n\n')
    this.end()
    this.#parts.target.end()
  }

  /** Breaks the stream off, so that its client does not take it for complete. R162. */
  #cut(): void {
    this.end()
    this.#parts.target.cut()
  }

  #send(text: string): void {
    this.#write(text)
    if (!this.#ended && this.#parts.target.unread() > mostUnread) this.#cut()
  }

  #write(text: string): void {
    if (this.#ended || text === '') return
    this.#lastSent = this.#intent.world.monotonic()
    this.#parts.target.write(text)
  }

  /** Waits for a slow client: if it were disconnected, it would request the same events again and make no progress. */
  async #drained(): Promise<void> {
    const { world } = this.#intent
    const { target } = this.#parts
    let [unread, read] = [target.unread(), world.monotonic()]
    while (!this.#ended && target.unread() > enoughUnread) {
      await pause(world, drainInterval)
      if (target.unread() < unread) read = world.monotonic()
      else if (world.monotonic() - read > mostIdle) this.#cut()
      unread = target.unread()
    }
  }

  #take = ({ from, to, events }: NewEvents): void => {
    if (this.#catchingUp || this.#ended) return
    if (from !== this.#position) {
      void this.#catchUp()
      return
    }
    this.#send(this.#textOf(events.filter((event) => this.#matches(event))))
    this.#position = to
  }

  /** Sends the stored events, then those that were recorded while it sent them. */
  async #catchUp(): Promise<void> {
    this.#catchingUp = true
    const { feed, sources } = this.#parts
    try {
      this.#position ??= await this.#begin()
      while (!this.#ended && this.#position < (feed.position ?? 0)) {
        const plan = { do: 'events', after: this.#position, limit: pageSize, ...this.#query.where } as const
        const { events, position, base, stops } = (await sources.store.execute(plan)) as EventPage
        if (base > this.#position && this.#position > 0) this.#send(gap)
        for (const event of events) {
          this.#write(this.#textOf([event]))
          await this.#drained()
        }
        this.#position = position
        if (stops) break // the stream goes on at another node
      }
      this.#catchingUp = false
    } catch (err) {
      sources.log.warn(
        { err, requestId: this.#intent.call.id },
        'A stream of events ended, as events could not be read.',
      )
      this.#cut()
    }
  }

  /** The position after which the stream begins. */
  async #begin(): Promise<number> {
    const { sources } = this.#parts
    const { lastId, after, where } = this.#query
    if (lastId !== null) {
      const { events, position } = (await sources.store.execute({ do: 'event', id: lastId })) as EventPage
      if (events.length > 0) return position
      this.#send(gap)
      return 0
    }
    if (after !== null || where.since !== undefined) return after ?? 0
    await this.#sendPlace(this.#rules.now)
    return this.#rules.now
  }

  /** Sends the id of the last event that the stream would have sent, so that a client that is cut before the next one resumes after it. */
  async #sendPlace(position: number): Promise<void> {
    const plan = { do: 'events', after: 0, limit: 1, upTo: position, ...this.#query.where } as const
    const { events } = (await this.#parts.sources.store.execute(plan)) as EventPage
    for (const { id } of events) this.#write(`id: ${id}\n\n`)
  }

  #matches({ collection, key, action, time, doc }: StoredEvent): boolean {
    const { open, owned, account, visible, types, item, since } = this.#query.where
    const isOwn = open.includes(collection) || (owned.includes(collection) && key.account === account)
    const isVisible = isOwn && (visible?.of(collection)?.matches(doc) ?? true)
    const isNamed = types?.some(([own, stored]) => own === collection && stored === action) ?? true
    return isVisible && isNamed && (item === undefined || item === key.id) && (since === undefined || time >= since)
  }

  #textOf(events: readonly StoredEvent[]): string {
    const { scope } = this.#rules
    const { feed } = this.#parts
    return events.map((event) => feed.textFor(event, scope, this.#caller, () => this.#textOfOne(event))).join('')
  }

  #textOfOne(event: StoredEvent): string {
    const { scope } = this.#rules
    const source = scope.sources.find(({ collection }) => collection === event.collection)
    if (!source) return ''
    const text = eventText(scope, source, event, this.#caller, this.#intent.world)
    return `id: ${event.id}\nevent: ${eventTypeOf(source, event)}\ndata: ${text}\n\n`
  }

  /** Keeps the connection alive, and ends the stream of a caller whose credentials have ended. */
  #beat = (): void => {
    if (this.#intent.world.monotonic() - this.#lastSent >= commentInterval) this.#send(': alive\n\n')
    void this.#checkCaller()
  }

  async #checkCaller(): Promise<void> {
    const { call } = this.#intent
    try {
      this.#caller = await this.#parts.sources.authenticate(call, this.#rules.rule)
      this.#query = { ...this.#query, where: this.#rules.queryFor(this.#caller).where }
    } catch (error) {
      // While the database is unavailable the caller cannot be checked, and there are no events to send.
      if (error instanceof Problem && error.type !== 'dependency-unavailable') this.#leave()
    }
  }
}

const gap = 'event: gap\ndata: {}\n\n'
