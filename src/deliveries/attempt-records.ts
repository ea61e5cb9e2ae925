/** Attempt records: stores attempts, many at a time, as one statement for many rows costs little more than for one. Part 6. */
import type { Decide } from '../flow/plan.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import { pause, type World } from '../flow/world.ts'
import { type DeliveryContext, rowsOf } from './delivery-context.ts'
import { endSends, releaseSends, retriedHolder } from './delivery-tables.ts'

interface AttemptRecord {
  readonly id: string
  /** Adds the attempt to its delivery. */
  readonly shown: Decide
  /** The plan that makes the delivery due again; or, if it has ended, until when it is kept. Stored only while this process holds it. */
  readonly follows: TablePlan | number
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
   * Stores the attempts first: if the process dies before the end of a delivery is stored, another process sends it again.
   * The store writes concurrent plans with one statement or in one transaction.
   */
  async #store(records: readonly WaitingRecord[]): Promise<void> {
    const { store } = this.#context
    const results = await Promise.allSettled(records.map(async (one) => store.execute(one.shown)))
    const stored = records.filter((one, i) => {
      const { status, reason } = results[i] as PromiseRejectedResult
      if (status === 'rejected') one.reject(reason)
      return status !== 'rejected'
    })
    const [ended, kept] = [stored.filter(isEnded), stored.filter((one) => !isEnded(one))]
    await Promise.all([
      ...(ended.length === 0 ? [] : [this.#follow(ended, this.#endOf(ended)).then(...settlingAll(ended))]),
      ...kept.map((one) => this.#follow([one], one.follows as TablePlan).then(...settlingAll([one]))),
    ])
  }

  #endOf(records: readonly EndingRecord[]): TablePlan {
    const due = Math.max(...records.map(({ follows }) => follows))
    return tablePlan(endSends, { ids: idsOf(records), held: this.#context.holder, state: 'ended', due, free: 0 })
  }

  /** Deliveries that were retried by hand during the attempt are sent again now. */
  async #follow(records: readonly WaitingRecord[], plan: TablePlan): Promise<void> {
    const stored = await rowsOf(this.#context, plan)
    if (stored.length === records.length) return
    await rowsOf(this.#context, tablePlan(releaseSends, { ids: idsOf(records), held: [retriedHolder], free: 0 }))
  }
}

interface EndingRecord extends WaitingRecord {
  readonly follows: number
}

const isEnded = (record: WaitingRecord): record is EndingRecord => typeof record.follows === 'number'
const idsOf = (records: readonly WaitingRecord[]): readonly string[] => records.map(({ id }) => id)

const settlingAll = (records: readonly WaitingRecord[]) =>
  [
    () => records.forEach(({ resolve }) => void resolve()),
    (error: unknown) => records.forEach(({ reject }) => void reject(error)),
  ] as const
