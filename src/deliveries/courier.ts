/** Courier: finds the endpoints with due deliveries, and starts sending them. Part 6. R210. */
import { tablePlan } from '../flow/table.ts'
import { newHolder } from '../flow/world.ts'
import { AttemptRecords } from './attempt-records.ts'
import { type DeliveryContext, rowsOf } from './delivery-context.ts'
import { type CursorRow, findCursors, findDue, type SendRow } from './delivery-tables.ts'
import { type CourierTerms, EndpointCourier } from './endpoint-courier.ts'

export class Courier {
  readonly #context: DeliveryContext
  readonly #terms: CourierTerms
  /** Each endpoint has its own connections and its own work, so that one that hangs delays no other. */
  readonly #endpoints = new Map<string, EndpointCourier>()
  #isStopped = false
  #attempts = 0

  constructor(context: DeliveryContext) {
    this.#context = context
    const holder = newHolder(context.world)
    this.#terms = {
      ...{ context, holder, records: new AttemptRecords({ ...context, holder }) },
      isStopped: () => this.#isStopped,
      noteAttempts: (count) => {
        this.#attempts += count
      },
    }
  }

  /** How many attempts it has begun. */
  get attempts(): number {
    return this.#attempts
  }

  /** Looks for the deliveries of an endpoint soon. */
  wake(endpoint: string, account: string): void {
    const courier = this.#endpoints.get(endpoint) ?? new EndpointCourier({ endpoint, account }, this.#terms)
    this.#endpoints.set(endpoint, courier)
    courier.wake()
  }

  /** Wakes endpoints with due deliveries that no process holds: after a retry by hand, or after a process died. */
  async findDue(): Promise<void> {
    const now = this.#context.world.due()
    const due = await rowsOf<SendRow>(this.#context, tablePlan(findDue, { state: 'pending', now }))
    for (const { endpoint, account } of due) this.wake(endpoint, account)
  }

  /** Wakes all endpoints, also those that the limit of `findDue` has left out. */
  async wakeAll(): Promise<void> {
    for (const { endpoint, account } of await rowsOf<CursorRow>(this.#context, tablePlan(findCursors)))
      this.wake(endpoint, account)
  }

  /** Starts what is due. */
  start(): void {
    for (const [endpoint, one] of this.#endpoints) {
      one.start()
      if (one.isIdle) this.#endpoints.delete(endpoint)
    }
  }

  /** Settles when nothing is being sent. */
  async idle(): Promise<void> {
    for (;;) {
      const all = [...this.#endpoints.values()].flatMap(({ running }) => [...running])
      if (all.length === 0) return
      await Promise.all(all)
    }
  }

  /** Takes no more deliveries, and breaks off those that are being sent: other processes send them again. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#context.sender.close()
    for (const one of this.#endpoints.values()) one.start()
    await this.idle()
  }
}
