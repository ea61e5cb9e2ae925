/** Attempt records: stores attempts, many at a time, as one statement for many rows costs little more than for one. Part 6. */
import type { Decide } from '../flow/plan.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import { pause, type World } from '../flow/world.ts'
import { type DeliveryContext, rowsOf } from './delivery-context.ts'
import { endSends } from './delivery-tables.ts'

/** A delivery that is not sent again by itself, and until when it is kept. */
interface EndedSend {
  readonly id: string
  readonly due: number
}

interface AttemptRecord {
  /** Adds the attempt to its delivery. */
  readonly shown: Decide
  /** Ends the delivery, or makes it due again. Both write only if this process still has it. */
  readonly follows: EndedSend | TablePlan
}

interface WaitingRecord extends AttemptRecord {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** How many records are stored together, and how long the first of them waits for others, in milliseconds. */
const [mostTogether, gathering] = [100, 10]

interface RecordsContext extends Pick<DeliveryContext, 'store'> {
  readonly world: Pick<World, 'after'>
  /** Names the process as the holder of the deliveries that it has taken. */
  readonly holder: string
}

export class AttemptRecords {
  readonly #context: RecordsContext
  readonly #waiting: WaitingRecord[] = []
  #isStoring = false

  constructor(context: RecordsContext) {
    this.#context = context
  }

  /** Settles when the record is committed. */
  add(record: AttemptRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...record, resolve, reject })
      if (!this.#isStoring) void this.#storeAll()
    })
  }

  async #storeAll(): Promise<void> {
    this.#isStoring = true
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < mostTogether) await pause(this.#context.world, gathering)
      await this.#store(this.#waiting.splice(0, mostTogether))
    }
    this.#isStoring = false
  }

  /**
   * The attempts come first: a process that dies before the end of a delivery is stored leaves it to another one, which
   * sends it again. The store writes plans that come together with one statement or in one transaction.
   */
  async #store(records: readonly WaitingRecord[]): Promise<void> {
    const { store } = this.#context
    const shown = await Promise.allSettled(records.map(async (one) => store.execute(one.shown)))
    const stored = records.filter((one, i) => {
      const { status, reason } = shown[i] as PromiseRejectedResult
      if (status === 'rejected') one.reject(reason)
      return status !== 'rejected'
    })
    const [ended, kept] = [stored.filter(isEnded), stored.filter((one) => !isEnded(one))]
    await Promise.all([
      this.#end(ended).then(...settlingAll(ended)),
      ...kept.map((one) => rowsOf(this.#context, one.follows as TablePlan).then(...settlingAll([one]))),
    ])
  }

  async #end(records: readonly { readonly follows: EndedSend }[]): Promise<void> {
    if (records.length === 0) return
    const ids = records.map(({ follows }) => follows.id)
    const due = Math.max(...records.map(({ follows }) => follows.due))
    await rowsOf(this.#context, tablePlan(endSends, { ids, held: this.#context.holder, state: 'ended', due, free: 0 }))
  }
}

const isEnded = (record: WaitingRecord): record is WaitingRecord & { readonly follows: EndedSend } =>
  !('do' in record.follows)

const settlingAll = (records: readonly WaitingRecord[]) =>
  [
    () => records.forEach(({ resolve }) => void resolve()),
    (error: unknown) => records.forEach(({ reject }) => void reject(error)),
  ] as const
