/** Dispatch: turns new events into deliveries, for each endpoint by one process at a time. Part 6. R212. */

import { type EventScope, eventTypeOf, visibleEvents } from '../events/event-scope.ts'
import { eventText } from '../events/event-text.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import type { EventPage } from '../flow/outcome.ts'
import type { EffectReadResult, ReadEvents, WritePlan } from '../flow/plan.ts'
import { despiteConflicts } from '../flow/store.ts'
import { tablePlan } from '../flow/table.ts'
import { newHolder } from '../flow/world.ts'
import { deliveriesIn, readerOf, rowKey, storedDelivery, type WebhookEndpoint, wantedActions } from './delivery.ts'
import { type DeliveryContext, disableEndpoint, enabledEndpoint, rowsOf } from './delivery-context.ts'
import { type CursorRow, findBehind, isHeld, moveCursor, removeCursor, takeCursor } from './delivery-tables.ts'

/** How long the lease of an endpoint lasts; the process renews it with each page. */
const dispatchLease = 30_000
/** How many events become deliveries in one transaction, and how many such pages an endpoint gets before others get theirs. */
const [pageSize, mostPages] = [100, 5]
/** How many endpoints are served at once. */
const mostAtOnce = 8

/** Thrown to stop the work for an endpoint that another process holds now, or that was disabled. */
class CursorLost extends Error {}

/** The terms of a replay. */
interface ReplayTerms {
  readonly since?: string
  readonly until?: string | null
  readonly eventTypes?: readonly string[] | null
}

/** Called for each endpoint that has new deliveries. */
type WakeEndpoint = (endpoint: string, account: string) => void

/** Dispatches events up to a position, some pages for each endpoint; returns whether an endpoint has more. */
export async function dispatchUpTo(context: DeliveryContext, head: number, wake: WakeEndpoint): Promise<boolean> {
  const behind = await rowsOf<CursorRow>(context, tablePlan(findBehind, { none: 0, position: head - 1 }))
  const waiting = [...behind]
  let more = false
  const serve = async (): Promise<void> => {
    for (let row = waiting.shift(); row; row = waiting.shift())
      try {
        if (await new Dispatch(context, row, wake).run()) more = true
      } catch (err) {
        if (!(err instanceof CursorLost))
          context.log.warn({ err, endpoint: row.endpoint }, 'Events could not be dispatched; the next try is soon.')
      }
  }
  await Promise.all(Array.from({ length: mostAtOnce }, serve))
  return more
}

class Dispatch {
  readonly #context: DeliveryContext
  readonly #row: CursorRow
  readonly #holder: string
  readonly #account: string | null
  readonly #wake: WakeEndpoint

  constructor(context: DeliveryContext, row: CursorRow, wake: WakeEndpoint) {
    this.#context = context
    this.#row = row
    this.#wake = wake
    this.#holder = newHolder(context.world)
    this.#account = deliveriesIn(context.resources).collection.account === null ? null : row.account
  }

  /** Dispatches some pages of events; returns whether there are more. */
  async run(): Promise<boolean> {
    const { world, events } = this.#context
    const { id, endpoint, account } = this.#row
    const now = world.due()
    const values = { id, none: 0, now, until: now + dispatchLease, holder: this.#holder }
    const [taken] = await rowsOf<CursorRow>(this.#context, tablePlan(takeCursor, values))
    if (!taken) return false
    const own = await enabledEndpoint(this.#context, endpoint, account)
    if (own === null) return false
    return this.#follow(taken, own, events.get(own.version) as EventScope)
  }

  async #follow({ position: from, last, terms }: CursorRow, own: WebhookEndpoint, scope: EventScope): Promise<boolean> {
    const replay: ReplayTerms = terms === null ? {} : JSON.parse(terms)
    const where = whereOf(scope, own, this.#account, replay)
    let [position, more] = [from, true]
    for (let page = 1; more && page <= mostPages; page++) {
      const { store } = this.#context
      const read = (await store.execute({ do: 'events', after: position, limit: pageSize, ...where })) as EventPage
      if (last === 0 && read.base > position) {
        await this.#disableBehind()
        return false
      }
      const events = read.events.filter((one) => isAsked(one, last, replay))
      position = read.position
      more = position < read.head && (last === 0 || position < last)
      await this.#store(events, position, { own, scope, keeps: more && page < mostPages })
      if (events.length > 0) this.#wake(this.#row.endpoint, this.#row.account)
    }
    if (last > 0 && position >= last) await rowsOf(this.#context, tablePlan(removeCursor, { id: this.#row.id }))
    return more
  }

  #disableBehind(): Promise<void> {
    const { endpoint: id, account } = this.#row
    return disableEndpoint(this.#context, { id, account }, 'Events that it has not got are kept no longer.')
  }

  /** Stores the deliveries and the position in one transaction, if this process still has the endpoint. */
  async #store(
    events: readonly StoredEvent[],
    position: number,
    { own, scope, keeps }: { readonly own: WebhookEndpoint; readonly scope: EventScope; readonly keeps: boolean },
  ): Promise<void> {
    const { world, store, resources } = this.#context
    const until = keeps ? world.due() + dispatchLease : 0
    const move = tablePlan(moveCursor, { id: this.#row.id, none: 0, holder: this.#holder, position, until })
    const writes = events.flatMap((event) => this.#writesOf(event, own, scope))
    const key = rowKey('', this.#row.account)
    const begin = () => {
      const left = writes.values()
      let isFirst = true
      const next = (before: unknown): WritePlan | null => {
        if (before === null) return move
        if (isFirst && !isHeld(before as EffectReadResult)) throw new CursorLost()
        isFirst = false
        return left.next().value ?? null
      }
      return { next, answer: () => null }
    }
    const plan = { do: 'sequence', collection: deliveriesIn(resources).name, key, claim: null, begin } as const
    await despiteConflicts(world, () => store.execute(plan)) // again with the same ids, so that each is stored once
  }

  #writesOf(event: StoredEvent, own: WebhookEndpoint, scope: EventScope): readonly WritePlan[] {
    const { world, writer, resources } = this.#context
    const source = scope.sources.find(({ collection }) => collection === event.collection)
    if (!source) return []
    const { id, position, item } = event
    const { create, send } = storedDelivery(
      { deliveries: deliveriesIn(resources), writer, time: world.now(), due: world.due(), newId: world.newId },
      {
        endpoint: { id: this.#row.endpoint, url: own.url, account: this.#account },
        event: { id, type: eventTypeOf(source, event), position },
        item: own.ordered ? item : '',
        body: eventText(scope, source, event, readerOf(own, this.#account), world),
      },
    )
    return [create, send]
  }
}

/** The events that an endpoint may see and asks for. */
function whereOf(
  scope: EventScope,
  own: WebhookEndpoint,
  account: string | null,
  { since, eventTypes }: ReplayTerms,
): Omit<ReadEvents, 'do' | 'after' | 'limit'> {
  const { sources } = scope
  const wanted = sources.flatMap((one) => wantedActions(one, own.eventTypes))
  const actions = eventTypes ? sources.flatMap((one) => wantedActions(one, eventTypes)) : wanted
  const types = wanted.filter((one) => actions.some((other) => other.join() === one.join()))
  return {
    ...{ ...visibleEvents(sources, readerOf(own, account)), types },
    ...(since !== undefined && { since: Date.parse(since) }),
  }
}

const isAsked = ({ position, time }: StoredEvent, last: number, { until }: ReplayTerms): boolean =>
  (last === 0 || position <= last) && (!until || time < Date.parse(until))
