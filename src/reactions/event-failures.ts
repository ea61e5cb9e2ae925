/** Event failures: tries events again that a consumer has failed at, and keeps later events of their items behind them. Part 6. R231. */
import type { ServerContext } from '../corridor/server-context.ts'
import {
  type FailureRow,
  findFailures,
  keepFailure,
  mostFailures,
  removePlan,
  storeFailure,
} from '../events/reaction-tables.ts'
import type { StoredEvent } from '../flow/found-row.ts'
import { type EventPage, rowsIn } from '../flow/outcome.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import type { IsEnding } from '../flow/world.ts'
import { reactionPause } from '../webhooks/retry-pauses.ts'

/** Why an event was not handled; `err` may be any value that code throws. */
export interface EventFault {
  readonly err: unknown
}

/** Handles an event; null if it succeeds. */
type Handle = (event: StoredEvent, tries: number) => Promise<EventFault | null>

type FailureState = Pick<FailureRow, 'state' | 'due' | 'tries' | 'failure'>
type KnownFailure = Pick<FailureRow, 'reaction' | 'event' | 'tries' | 'due'>

const untried: FailureState = { state: 'waiting', due: 0, tries: 0, failure: null }

interface FailuresLeft {
  /** The items whose events have to wait. */
  readonly items: Set<string>
  /** Whether there are so many that no new events are read. */
  readonly isFull: boolean
}

export class EventFailures {
  readonly #name: string
  readonly #title: string
  readonly #server: Pick<ServerContext, 'store' | 'world' | 'log'>

  /** Failures are stored under `name`; the log shows `title`. */
  constructor(name: string, title: string, server: Pick<ServerContext, 'store' | 'world' | 'log'>) {
    this.#name = name
    this.#title = title
    this.#server = server
  }

  /** Retries the first failed event of each item after its pause, then the events behind it, until there are none or it has to end. */
  async retry(handle: Handle, isEnding: IsEnding): Promise<FailuresLeft> {
    const { world } = this.#server
    for (;;) {
      const rows = await this.#rows(tablePlan(findFailures, { reaction: this.#name }))
      const firsts = new Map(rows.toReversed().map((row) => [row.item, row]))
      const now = world.due()
      const due = [...firsts.values()].filter((row) => row.state === 'waiting' && row.due <= now)
      if (due.length === 0 || isEnding()) return { items: new Set(firsts.keys()), isFull: rows.length >= mostFailures }
      await Promise.all(due.map((row) => this.#retryOne(row, handle)))
    }
  }

  /**
   * Stores that an event has failed. If an erasure has emptied the event meanwhile, the reason is not stored, and the event
   * is tried again at once.
   */
  async add(event: StoredEvent, { err }: EventFault): Promise<void> {
    await this.#store(event)
    const current = await this.#event(event.id)
    if (current?.doc === event.doc) await this.#keep({ reaction: this.#name, event: event.id, ...untried }, event, err)
  }

  /** Stores an event that waits for an earlier one of its item. */
  addBehind(event: StoredEvent): Promise<void> {
    return this.#store(event)
  }

  async #retryOne(row: FailureRow, handle: Handle): Promise<void> {
    const event = await this.#event(row.event)
    // An event that is kept no longer cannot be handled any more.
    const failed = event ? await handle(event, row.tries) : null
    if (!event || !failed) return void (await this.#rows(removePlan(row)))
    await this.#keep(row, event, failed.err)
  }

  /** Stores that an event has failed again, unless its row has changed since it was read. */
  async #keep({ reaction, event: id, tries, due }: KnownFailure, event: StoredEvent, err: unknown): Promise<void> {
    const expected = { reaction, event: id, knownTries: tries, knownDue: due }
    const kept = await this.#rows(tablePlan(keepFailure, { ...expected, ...this.#next(tries, err) }))
    if (kept.length > 0) this.#report(event, tries, err)
  }

  /** The failure after a try: when the event is tried again; after the last try it is parked. */
  #next(tries: number, err: unknown): FailureState {
    const pause = reactionPause(tries + 1)
    const failure = (err instanceof Error ? (err.stack ?? err.message) : String(err)).slice(0, 2000)
    const state = pause === null ? 'parked' : 'waiting'
    return { state, due: this.#server.world.due() + (pause ?? 0), tries: tries + 1, failure }
  }

  #report({ id: eventId }: StoredEvent, tries: number, err: unknown): void {
    const { log } = this.#server
    const pause = reactionPause(tries + 1)
    const about = { err, reaction: this.#name, eventId }
    if (pause === null)
      log.error(about, `${this.#title} failed for the last time; its event is parked. See \`bylaw events parked\`.`)
    else log.warn({ ...about, tries: tries + 1 }, `${this.#title} failed; it is tried again in ${pause / 1000} s.`)
  }

  async #store({ id, position, item }: StoredEvent): Promise<void> {
    await this.#rows(tablePlan(storeFailure, { reaction: this.#name, event: id, position, item, ...untried }))
  }

  async #event(id: string): Promise<StoredEvent | undefined> {
    return ((await this.#server.store.execute({ do: 'event', id })) as EventPage).events[0]
  }

  async #rows(plan: TablePlan): Promise<readonly FailureRow[]> {
    return rowsIn(await this.#server.store.execute(plan)) as unknown as readonly FailureRow[]
  }
}
