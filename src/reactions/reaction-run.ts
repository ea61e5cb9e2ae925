/** Reaction run: carries out one reaction on the events that it names, for each item in order. Part 6. R231. */
import type { ServerContext } from '../corridor/server-context.ts'
import { lastPosition } from '../events/event-relay.ts'
import { type EventScope, eventTypeOf } from '../events/event-scope.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { EventPage } from '../flow/outcome.ts'
import { type Log, within } from '../flow/world.ts'
import { timestampOf } from '../formats/time-texts.ts'
import { errorOf } from '../handlers/handler-fault.ts'
import type { OwnReaction } from '../handlers/own-handlers.ts'
import { makeActivity } from '../telemetry/activity.ts'
import { EventFailures, type EventFault } from './event-failures.ts'
import { HeldPosition } from './held-position.ts'
import { serviceCalls } from './service-calls.ts'

export interface ReactionContext {
  readonly server: ServerContext
  /** The events in the newest version. */
  readonly scope: EventScope
  /** The value that handlers share. */
  readonly used: () => Promise<unknown>
}

/** How many events are read at once: up to so many are handled again if the process dies. */
const pageSize = 50

export class ReactionRun {
  readonly #name: string
  readonly #own: OwnReaction
  readonly #context: ReactionContext
  readonly #held: HeldPosition
  readonly #failures: EventFailures
  readonly #types: readonly (readonly [collection: string, action: string])[]

  constructor(name: string, own: OwnReaction, context: ReactionContext) {
    this.#name = name
    this.#own = own
    this.#context = context
    this.#held = new HeldPosition(name, context.server, () => this.#first())
    this.#failures = new EventFailures(name, `The reaction ${name}`, context.server)
    this.#types = context.scope.sources.flatMap((source) =>
      [...source.actions.keys()].flatMap((action) =>
        own.on.includes(eventTypeOf(source, { action })) ? [[source.collection, action] as const] : [],
      ),
    )
  }

  /** Handles due failures, then new events up to the last one; does nothing if another process holds the reaction. */
  run(): Promise<void> {
    return this.#held.hold((position) => this.#handleFrom(position))
  }

  async begin(): Promise<void> {
    await this.#held.begin()
  }

  end(): void {
    this.#held.end()
  }

  release(): Promise<void> {
    return this.#held.release()
  }

  async #handleFrom(from: number): Promise<void> {
    for (let [position, more] = [from, true]; more; ) {
      const { items, isFull } = await this.#failures.retry(
        (event, tries) => this.#handle(event, tries),
        this.#held.isEnding,
      )
      if (isFull) return
      const page = await this.#read(position)
      await this.#handleAll(page.events, items)
      more = page.position < page.head
      position = page.position
      if (!(await this.#held.move(position))) return
      if (page.stops) await this.release() // a node with the newer declaration continues
    }
  }

  async #first(): Promise<number> {
    return this.#own.from === 'start' ? 0 : lastPosition(this.#context.server.store)
  }

  async #read(after: number): Promise<EventPage> {
    const open = this.#context.scope.sources.map(({ collection }) => collection)
    const plan = { do: 'events', after, limit: pageSize, open, owned: [], account: null, types: this.#types } as const
    return (await this.#context.server.store.execute(plan)) as EventPage
  }

  /** Handles events: those of one item one after the other, those of different items at the same time. */
  async #handleAll(events: readonly StoredEvent[], blocked: Set<string>): Promise<void> {
    await Promise.all(
      [...Map.groupBy(events, ({ item }) => item)].map(async ([item, own]) => {
        for (const event of own) {
          const failed = blocked.has(item) ? null : await this.#handle(event, 0)
          if (blocked.has(item)) await this.#failures.addBehind(event)
          else if (failed) {
            await this.#failures.add(event, failed)
            blocked.add(item)
          }
        }
      }),
    )
  }

  async #handle(event: StoredEvent, tries: number): Promise<EventFault | null> {
    const { reactions } = this.#context.server.world.state.of(makeActivity, null)
    const count = (result: string): void => reactions.add(this.#name, result)
    try {
      await this.#call(event, tries + 1)
      count('handled')
      return null
    } catch (thrown) {
      count('failed')
      return { err: errorOf(thrown) }
    }
  }

  async #call(event: StoredEvent, attempt: number): Promise<void> {
    const { server, scope, used } = this.#context
    const { world, service, log } = server
    const { handlerTimeout } = service.settings.limits
    const source = scope.sources.find(({ collection }) => collection === event.collection)
    if (!source) throw new Error(`There is no resource ${event.collection} any more.`)
    const aborting = new AbortController()
    const { id, key, time, sequence } = event
    const about = { reaction: this.#name, eventId: id }
    const context = {
      event: {
        ...{ id, type: eventTypeOf(source, event), timestamp: timestampOf(time), version: scope.label, sequence },
        data: JSON.parse(event.doc),
      },
      ...{ attempt, now: timestampOf(world.now()), signal: aborting.signal, use: await used(), log: logOf(log, about) },
      call: serviceCalls(server, { reaction: this.#name, event: id, account: key.account, signal: aborting.signal }),
    }
    const late = () => Promise.reject(new Error(`The reaction took longer than ${handlerTimeout / 1000} s.`))
    try {
      await within(world, handlerTimeout, Promise.resolve(this.#own.run(context as never)), late)
    } finally {
      aborting.abort()
    }
  }
}

function logOf(log: Log, about: object) {
  const line =
    (level: 'info' | 'warn' | 'error') =>
    (text: string, fields: object = {}) =>
      log[level]({ ...fields, ...about }, text)
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
