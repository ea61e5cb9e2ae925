/** Run deliveries: dispatches events, sends what is due and forgets old deliveries, at intervals. Part 6. R212. */

import { tablePlan } from '../flow/table.ts'
import { oneAtATime } from '../flow/world.ts'
import { Courier } from './courier.ts'
import { deliveriesIn, rowKey } from './delivery.ts'
import { type DeliveryContext, readOf, rowsOf } from './delivery-context.ts'
import { findDue, limitKept, mostLimited, removeSend, type SendRow } from './delivery-tables.ts'
import { dispatchUpTo } from './dispatch.ts'

/** How many deliveries are removed at once: enough to keep up with new ones. */
const mostForgotten = 20
/** How much longer than the retention a delivery may be kept: clocks of nodes differ, and some end while others are limited. */
const clockMargin = 300_000

export class DeliveryRun {
  readonly #context: DeliveryContext
  readonly #courier: Courier
  #isStopped = false

  constructor(context: DeliveryContext) {
    this.#context = context
    this.#courier = new Courier(context)
  }

  /** Turns the events that have a position into deliveries and begins to send them, until no endpoint is behind. */
  async dispatch(): Promise<void> {
    for (let more = true; more && !this.#isStopped; ) {
      const head = await this.#context.store.execute({ do: 'head' })
      if (head.is !== 'numbered') return
      more = await dispatchUpTo(this.#context, head.position, (endpoint, account) => {
        this.#courier.wake(endpoint, account)
        this.#courier.start()
      })
    }
  }

  send(): void {
    this.#courier.start()
  }

  async look(): Promise<void> {
    await this.#courier.findDue()
    this.#courier.start()
  }

  async lookEverywhere(): Promise<void> {
    await this.#courier.wakeAll()
    this.#courier.start()
  }

  /** Sends everything that is due now, and waits for it; for services under test. */
  async finish(): Promise<void> {
    await this.dispatch()
    // Deliveries that wait behind another one of their item stay due, so only new attempts count.
    for (let before = -1; this.#courier.attempts > before; ) {
      before = this.#courier.attempts
      await this.#courier.findDue()
      this.#courier.start()
      await this.#courier.idle()
    }
    await this.forget()
  }

  /** Removes the deliveries whose retention is over, some at a time. */
  async forget(): Promise<void> {
    const { world } = this.#context
    await this.#limitKept()
    for (let more = true; more && !this.#isStopped; ) {
      const old = await rowsOf<SendRow>(this.#context, tablePlan(findDue, { state: 'ended', now: world.due() }))
      for (let at = 0; at < old.length; at += mostForgotten)
        await Promise.all(old.slice(at, at + mostForgotten).map((one) => this.#forget(one)))
      more = old.length > 0
    }
  }

  /** Deliveries that ended under a longer retention, or one without an end, are kept for the present one from now on. */
  async #limitKept(): Promise<void> {
    const { world, resources } = this.#context
    const { retention } = deliveriesIn(resources).settings.events
    if (retention === null) return
    const due = world.due() + retention
    const limits = { state: 'ended', due, most: due + clockMargin }
    for (let more = true; more && !this.#isStopped; )
      more = (await rowsOf(this.#context, tablePlan(limitKept, limits))).length === mostLimited
  }

  async #forget({ id, account }: SendRow): Promise<void> {
    const { store, writer, resources } = this.#context
    const deliveries = deliveriesIn(resources)
    const key = rowKey(id, account)
    const read = readOf(this.#context, deliveries, key)
    const removed = { key, time: read.time, takes: new Set<string>() }
    const outcome = await store.execute({
      ...{ do: 'decide', read },
      decide: (current) => (current.is === 'found' ? writer.remove(deliveries, removed, current) : { do: 'keep' }),
    })
    if (outcome.is === 'kept') await rowsOf(this.#context, tablePlan(removeSend, { id }))
  }

  stop(): Promise<void> {
    this.#isStopped = true
    return this.#courier.stop()
  }
}

/** How often events are dispatched, due deliveries of other processes looked for, and all endpoints, in milliseconds. */
const [dispatchInterval, lookInterval, everywhereInterval, forgetInterval] = [100, 1000, 30_000, 60_000]

/** Runs deliveries at intervals, until the returned function stops them. */
export function runDeliveriesEvery(context: DeliveryContext): () => Promise<void> {
  const { world, log } = context
  const run = new DeliveryRun(context)
  const repeat = (name: string, interval: number, task: () => Promise<void>) => {
    const { run: start, end } = oneAtATime(task, log, `Webhooks: ${name} failed; the next try is soon.`)
    return { cancel: world.every(interval, start), end }
  }
  const tasks = [
    repeat('dispatch', dispatchInterval, () => run.dispatch()),
    repeat('look', lookInterval, () => run.look()),
    repeat('look everywhere', everywhereInterval, () => run.lookEverywhere()),
    repeat('forget', forgetInterval, () => run.forget()),
  ]
  const cancelSends = world.every(dispatchInterval, () => run.send())
  return async () => {
    cancelSends()
    for (const { cancel } of tasks) cancel()
    await run.stop()
    await Promise.all(tasks.map(({ end }) => end()))
  }
}
