/** Attempt records: commits the records of attempts together, as one transaction for many costs little more than for one. Part 6. */
import type { Decide, Plan } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { pause, type World } from '../flow/world.ts'

interface WaitingRecord {
  readonly plan: Decide
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** How many records are committed together, and how long the first of them waits for others, in milliseconds. */
const [mostTogether, gathering] = [100, 10]

interface RecordsContext {
  readonly store: Pick<Store, 'execute'>
  readonly world: Pick<World, 'after'>
}

export class AttemptRecords {
  readonly #context: RecordsContext
  readonly #waiting: WaitingRecord[] = []
  #isCommitting = false

  constructor(context: RecordsContext) {
    this.#context = context
  }

  /** Settles when the record is committed. */
  add(plan: Decide): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ plan, resolve, reject })
      if (!this.#isCommitting) void this.#commitAll()
    })
  }

  async #commitAll(): Promise<void> {
    this.#isCommitting = true
    for (; this.#waiting.length > 0; ) {
      await pause(this.#context.world, gathering)
      await this.#commit(this.#waiting.splice(0, mostTogether))
    }
    this.#isCommitting = false
  }

  /** If they cannot be committed together, each is by itself, so that one that fails loses no other. */
  async #commit(records: readonly WaitingRecord[]): Promise<void> {
    const execute = async (plan: Plan): Promise<void> => void (await this.#context.store.execute(plan))
    const together = await execute(togetherPlan(records.map(({ plan }) => plan))).then(
      () => true,
      () => false,
    )
    for (const { plan, resolve, reject } of records)
      if (together) resolve()
      else await execute(plan).then(resolve, reject)
  }
}

function togetherPlan(plans: readonly Decide[]): Plan {
  const [first] = plans as [Decide]
  if (plans.length === 1) return first
  const { collection, key } = first.read
  const begin = () => {
    const left = plans.values()
    return { next: () => left.next().value ?? null, answer: () => null }
  }
  return { do: 'sequence', collection, key, claim: null, begin }
}
