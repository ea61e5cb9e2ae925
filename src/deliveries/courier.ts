/** Courier: sends the deliveries that are due, a few for each endpoint at a time, and records the attempts. Part 6. R210. */
import { tablePlan } from '../flow/table.ts'
import { newHolder } from '../flow/world.ts'
import { mostConnections } from '../webhooks/send.ts'
import { attemptDelivery } from './delivery-attempt.ts'
import { type DeliveryContext, enabledEndpoint, rowsOf } from './delivery-context.ts'
import {
  type CursorRow,
  findCursor,
  findCursors,
  findDue,
  findNext,
  findPending,
  type SendRow,
  takeSend,
  takeSends,
} from './delivery-tables.ts'

/** How long a process has a delivery: longer than an attempt takes. Others send it if the process dies. */
const sendLease = 60_000
/** Takes as many as the index says. */
const takings = Array.from({ length: mostConnections + 1 }, (_, limit) => takeSends(limit))

interface EndpointWork {
  readonly account: string
  /** When to look for its deliveries; null while nothing is known to wait. */
  next: number | null
  looking: boolean
  readonly running: Set<Promise<void>>
}

export class Courier {
  readonly #context: DeliveryContext
  readonly #holder: string
  /** Each endpoint has its own connections and its own work, so that one that hangs delays no other. */
  readonly #work = new Map<string, EndpointWork>()
  #stopped = false
  /** How many attempts it has made. */
  attempts = 0

  constructor(context: DeliveryContext) {
    this.#context = context
    this.#holder = newHolder(context.world)
  }

  /** Looks for the deliveries of an endpoint soon. */
  wake(endpoint: string, account: string): void {
    const known = this.#work.get(endpoint)
    const now = this.#context.world.due()
    if (known) known.next = now
    else this.#work.set(endpoint, { account, next: now, looking: false, running: new Set() })
  }

  /** Wakes endpoints whose deliveries are due and that no process has: after a retry by hand, or the death of a process. */
  async findDue(): Promise<void> {
    const now = this.#context.world.due()
    const due = await rowsOf<SendRow>(this.#context, tablePlan(findDue, { state: 'pending', now }))
    for (const { endpoint, account } of due) this.wake(endpoint, account)
  }

  /** Wakes all endpoints, also those that deliveries of others have kept out of `findDue`. */
  async wakeAll(): Promise<void> {
    for (const { endpoint, account } of await rowsOf<CursorRow>(this.#context, tablePlan(findCursors)))
      this.wake(endpoint, account)
  }

  /** Starts what is due. */
  start(): void {
    const now = this.#context.world.due()
    for (const [endpoint, work] of this.#work) {
      if (this.#stopped || work.looking || work.next === null || work.next > now) continue
      if (work.running.size >= mostConnections) continue
      work.looking = true
      const looked = this.#look(endpoint, work)
        .catch((err: unknown) => {
          work.next = this.#context.world.due() + 1000
          this.#context.log.warn({ err, endpoint }, 'Deliveries could not be read; the next try is soon.')
        })
        .finally(() => {
          work.looking = false
          work.running.delete(looked)
          if (work.running.size === 0 && work.next === null) this.#work.delete(endpoint)
        })
      work.running.add(looked)
    }
  }

  /** Settles when nothing is being sent. */
  async idle(): Promise<void> {
    for (;;) {
      const all = [...this.#work.values()].flatMap(({ running }) => [...running])
      if (all.length === 0) return
      await Promise.all(all)
    }
  }

  /** Takes no more deliveries, and breaks off those that are being sent: other processes send them again. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#context.sender.close()
    await this.idle()
  }

  async #look(endpoint: string, work: EndpointWork): Promise<void> {
    const { world } = this.#context
    work.next = null
    const own = await enabledEndpoint(this.#context, endpoint, work.account)
    const free = mostConnections - (work.running.size - 1) // this look is one of them
    const sends = own?.ordered ? await this.#takeFirsts(endpoint, free) : await this.#take(endpoint, free)
    const [cursor] = await rowsOf<CursorRow>(this.#context, tablePlan(findCursor, { id: endpoint }))
    this.attempts += sends.length
    for (const send of sends) {
      const sent = attemptDelivery(this.#context, send, {
        ...{ own, holder: this.#holder, failing: cursor?.failing ?? 0, isStopped: () => this.#stopped },
      })
        .catch((err: unknown) => this.#context.log.warn({ err, endpoint }, 'An attempt could not be recorded.'))
        .finally(() => {
          work.running.delete(sent)
          work.next = world.due()
        })
      work.running.add(sent)
    }
    if (sends.length > 0) return
    const [next] = await rowsOf<SendRow>(this.#context, tablePlan(findNext, { endpoint, state: 'pending' }))
    if (next) work.next ??= Math.max(next.due, next.taken, world.due() + 1000)
  }

  #take(endpoint: string, free: number): Promise<readonly SendRow[]> {
    const now = this.#context.world.due()
    const values = { endpoint, state: 'pending', now, until: now + sendLease, holder: this.#holder }
    return rowsOf<SendRow>(this.#context, tablePlan(takings[free] as (typeof takings)[number], values))
  }

  /** Takes the first delivery of each item: a failing one stops only later ones of its item. */
  async #takeFirsts(endpoint: string, free: number): Promise<readonly SendRow[]> {
    const pending = await rowsOf<SendRow>(this.#context, tablePlan(findPending, { endpoint, state: 'pending' }))
    const firsts = new Map(pending.toReversed().map((one) => [one.item || one.id, one]))
    const now = this.#context.world.due()
    const due = [...firsts.values()].filter((one) => one.due <= now && one.taken <= now).reverse()
    const taken = due.slice(0, free).map(({ id }) => {
      const values = { id, state: 'pending', now, until: now + sendLease, holder: this.#holder }
      return rowsOf<SendRow>(this.#context, tablePlan(takeSend, values))
    })
    return (await Promise.all(taken)).flat()
  }
}
