/** Endpoint courier: takes the deliveries of one endpoint that are due, sends a few at a time, and records the attempts. Part 6. R210. */
import { tablePlan } from '../flow/table.ts'
import { mostConnections } from '../webhooks/send.ts'
import type { AttemptRecords } from './attempt-records.ts'
import { type Delivery, deliveriesIn, readMembers, rowKey } from './delivery.ts'
import { type AttemptTerms, attemptDelivery, signerOf, type TakenSend } from './delivery-attempt.ts'
import { type DeliveryContext, enabledEndpoint, findStored, releaseHeld, rowsOf } from './delivery-context.ts'
import {
  type CursorRow,
  findCursor,
  findNext,
  findPending,
  mostPending,
  removeSend,
  type SendRow,
  takeNamed,
  takeSends,
} from './delivery-tables.ts'

export interface CourierTerms {
  readonly context: DeliveryContext
  /** Names the process as the holder of the deliveries that it has taken. */
  readonly holder: string
  readonly records: AttemptRecords
  readonly isStopped: () => boolean
  readonly noteAttempts: (count: number) => void
}

/** How long the lease of a delivery lasts: longer than an attempt takes. Other processes send it if this one dies. */
const sendLease = 60_000
/** How many deliveries are taken at once from an endpoint that answers fast, and how many attempts wait for their record. */
const mostTaken = 100
/** An endpoint that answers within this time is fast. In milliseconds, as the next one. */
const fastAnswer = 1000
/** How long taken deliveries wait to be sent. Then they are free again: the endpoint may have been changed, or others may send them. */
const longestQueue = 1000
/** The operation that takes up to N deliveries, by N. */
const takeOperations = [
  ...Array.from({ length: mostConnections + 1 }, (_, limit) => takeSends(limit)),
  takeSends(mostTaken),
]

interface CourierEndpoint {
  readonly endpoint: string
  readonly account: string
}

/** What is known of an endpoint when deliveries are taken. */
type KnownEndpoint = Pick<AttemptTerms, 'own' | 'failing' | 'sign'>

export class EndpointCourier {
  readonly #terms: CourierTerms
  readonly #endpoint: CourierEndpoint
  /** When to look for deliveries; null while no delivery is known to wait. */
  #next: number | null = null
  /**
   * The deliveries that this process has taken and not begun to send. `#takenAt` and `#known` are the time and the endpoint
   * when they were taken.
   */
  #queue: TakenSend[] = []
  #takenAt = 0
  #known: KnownEndpoint | null = null
  #isFast = false
  #isLooking = false
  #sending = 0
  readonly running = new Set<Promise<void>>()

  constructor(endpoint: CourierEndpoint, terms: CourierTerms) {
    this.#endpoint = endpoint
    this.#terms = terms
  }

  get isIdle(): boolean {
    return this.running.size === 0 && this.#queue.length === 0 && this.#next === null
  }

  wake(): void {
    this.#next = this.#now
  }

  /** Sends the deliveries of the queue; takes further ones when it is empty. */
  start(): void {
    const isStopped = this.#terms.isStopped()
    if (isStopped || this.#now - this.#takenAt > longestQueue) this.#release()
    while (this.#queue.length > 0 && this.#isFree) this.#send(this.#queue.shift() as TakenSend)
    const isDue = this.#next !== null && this.#next <= this.#now
    if (!isStopped && isDue && this.#queue.length === 0 && this.#isFree && !this.#isLooking) this.#startLook()
  }

  get #now(): number {
    return this.#terms.context.world.due()
  }

  get #isFree(): boolean {
    return this.#sending < mostConnections && this.running.size < mostTaken
  }

  #startLook(): void {
    const { log } = this.#terms.context
    this.#isLooking = true
    this.#run(
      this.#look()
        .catch((err: unknown) => {
          this.#next = this.#now + 1000
          log.warn({ err, ...this.#endpoint }, 'Deliveries could not be read; the next try is soon.')
        })
        .finally(() => {
          this.#isLooking = false
        }),
    )
  }

  #run(task: Promise<void>): void {
    const ended = task.finally(() => {
      this.running.delete(ended)
      this.start()
    })
    this.running.add(ended)
  }

  #send(taken: TakenSend): void {
    const { context, holder, records, isStopped } = this.#terms
    this.#sending++
    const wasSent = (isDelivered: boolean): void => {
      this.#sending--
      this.#isFast = isDelivered
      if (!isDelivered) this.#release()
      this.start()
    }
    const terms = { ...(this.#known as KnownEndpoint), holder, records, isStopped, wasSent, fastAnswer }
    this.#run(
      attemptDelivery(context, taken, terms)
        .catch((err: unknown) => context.log.warn({ err, ...this.#endpoint }, 'An attempt could not be recorded.'))
        .finally(() => this.wake()),
    )
  }

  /** Releases the deliveries that are not being sent yet, to other processes or to a later look. */
  #release(): void {
    const { context, holder } = this.#terms
    const ids = this.#queue.map(({ send }) => send.id)
    this.#queue = []
    if (ids.length === 0) return
    this.#run(
      releaseHeld(context, ids, holder).then(
        () => this.wake(),
        (err: unknown) => context.log.warn({ err, ...this.#endpoint }, 'Deliveries could not be released.'),
      ),
    )
  }

  async #look(): Promise<void> {
    const { context, noteAttempts } = this.#terms
    const { endpoint, account } = this.#endpoint
    this.#next = null
    const own = await enabledEndpoint(context, endpoint, account)
    const [cursor] = await rowsOf<CursorRow>(context, tablePlan(findCursor, { id: endpoint }))
    this.#known = { own, failing: cursor?.failing ?? 0, sign: signerOf(context, endpoint, own) }
    const at = this.#now
    const limit = this.#isFast ? mostTaken : mostConnections - this.#sending
    const taken = own?.ordered ? await this.#takeFirsts(limit) : await this.#take(limit)
    this.#takenAt = at
    this.#queue.push(...(await this.#read(taken)))
    noteAttempts(taken.length)
    if (taken.length > 0) return
    const [next] = await rowsOf<SendRow>(context, tablePlan(findNext, { endpoint, state: 'pending' }))
    if (next) this.#next ??= Math.max(next.due, next.taken, this.#now + 1000)
  }

  /** The deliveries as they are stored; forgets those that are not there any more. */
  async #read(taken: readonly SendRow[]): Promise<readonly TakenSend[]> {
    const { context } = this.#terms
    const deliveries = deliveriesIn(context.resources)
    const read = taken.map(async (send): Promise<TakenSend[]> => {
      const row = await findStored(context, deliveries, rowKey(send.id, send.account))
      if (row !== null) return [{ send, delivery: readMembers<Delivery>(deliveries, row), revision: row.revision }]
      await rowsOf(context, tablePlan(removeSend, { id: send.id }))
      return []
    })
    return (await Promise.all(read)).flat()
  }

  get #taking() {
    const now = this.#now
    return { state: 'pending', now, until: now + sendLease, holder: this.#terms.holder }
  }

  #take(limit: number): Promise<readonly SendRow[]> {
    const taking = takeOperations[Math.min(limit, takeOperations.length - 1)] as (typeof takeOperations)[number]
    return rowsOf<SendRow>(this.#terms.context, tablePlan(taking, { ...this.#taking, ...this.#endpoint }))
  }

  /** Takes the first delivery of each item: a failing one stops only later ones of its item. */
  async #takeFirsts(limit: number): Promise<readonly SendRow[]> {
    const { context } = this.#terms
    const ids = await this.#findFirsts(limit)
    if (ids.length === 0) return []
    const taken = await rowsOf<SendRow>(context, tablePlan(takeNamed, { ...this.#taking, ids }))
    return taken.toSorted((a, b) => a.position - b.position)
  }

  async #findFirsts(limit: number): Promise<readonly string[]> {
    const seen = new Set<string>()
    const [now, { endpoint }] = [this.#now, this.#endpoint]
    const isFirst = ({ id, item }: SendRow): boolean => {
      const isNew = !seen.has(item || id)
      seen.add(item || id)
      return isNew
    }
    for (let after = -1; ; ) {
      const values = { endpoint, state: 'pending', after }
      const pending = await rowsOf<SendRow>(this.#terms.context, tablePlan(findPending, values))
      const due = pending.filter((one) => isFirst(one) && one.due <= now && one.taken <= now)
      if (due.length > 0 || pending.length < mostPending) return due.slice(0, limit).map(({ id }) => id)
      after = (pending.at(-1) as SendRow).position
    }
  }
}
