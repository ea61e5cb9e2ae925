/** Held position: the position of a consumer in the events, under a lease that one process holds at a time. Part 6. R231. */
import type { ServerContext } from '../corridor/server-context.ts'
import { addReaction, findReaction, keepReaction, type ReactionRow, takeReaction } from '../events/reaction-tables.ts'
import { rowsIn } from '../flow/outcome.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import { type IsEnding, newHolder } from '../flow/world.ts'

/** How long the lease of a position lasts; another process continues from it if this one dies. */
const lease = 30_000

export class HeldPosition {
  readonly #name: string
  readonly #context: Pick<ServerContext, 'store' | 'world'>
  readonly #first: () => Promise<number>
  readonly #holder: string
  #position = 0
  #until = 0
  #ending = false

  /** `first` returns the first position of a name that the database does not know yet. */
  constructor(name: string, context: Pick<ServerContext, 'store' | 'world'>, first: () => Promise<number>) {
    this.#name = name
    this.#context = context
    this.#first = first
    this.#holder = newHolder(context.world)
  }

  /** Stores the first position if the database has none for the name; otherwise returns the stored row. */
  async begin(): Promise<ReactionRow | undefined> {
    const [existing] = await this.#rows(tablePlan(findReaction, { name: this.#name }))
    if (existing) return existing
    const position = await this.#first()
    await this.#rows(tablePlan(addReaction, { name: this.#name, position, taken: 0, holder: '' }))
    return undefined
  }

  /** Takes the lease and calls `work` with the position; does nothing if another process holds it. */
  async hold(work: (position: number) => Promise<void>): Promise<void> {
    const row = this.#ending ? undefined : await this.#take()
    if (!row) return
    ;[this.#position, this.#until] = [row.position, row.taken]
    const renew = () => void this.#store(this.#position).catch(() => false)
    const cancel = this.#context.world.every(lease / 3, renew)
    try {
      await work(row.position)
    } finally {
      cancel()
    }
  }

  /** Moves the position. Returns whether the work may continue: not if the process stops or another one holds the position. */
  async move(position: number): Promise<boolean> {
    if (position === this.#position && this.#isFresh(this.#until)) return !this.#ending
    this.#position = position
    return (await this.#store(position)) && !this.#ending
  }

  readonly isEnding: IsEnding = () => this.#ending

  /** Ends the work after its next move. */
  end(): void {
    this.#ending = true
  }

  /** Lets another process go on at once. */
  async release(): Promise<void> {
    this.#until = 0
    const [row] = await this.#rows(tablePlan(findReaction, { name: this.#name }))
    if (row?.holder === this.#holder) await this.#rows(tablePlan(keepReaction, { ...row, until: 0 }))
  }

  /** Whether a lease needs no renewal yet. */
  #isFresh(until: number): boolean {
    return until - this.#context.world.due() > lease / 2
  }

  async #store(position: number): Promise<boolean> {
    const until = this.#context.world.due() + lease
    const values = { name: this.#name, holder: this.#holder, until, position }
    const isHeld = (await this.#rows(tablePlan(keepReaction, values))).length === 1
    if (isHeld) this.#until = until
    return isHeld
  }

  async #take(): Promise<ReactionRow | undefined> {
    const now = this.#context.world.due()
    const until = now + lease
    const existing = await this.begin()
    if (existing?.holder === this.#holder && existing.taken > now) {
      if (this.#isFresh(existing.taken)) return existing
      const [kept] = await this.#rows(tablePlan(keepReaction, { ...existing, until }))
      return kept
    }
    const [taken] = await this.#rows(tablePlan(takeReaction, { name: this.#name, now, until, holder: this.#holder }))
    return taken
  }

  async #rows(plan: TablePlan): Promise<readonly ReactionRow[]> {
    return rowsIn(await this.#context.store.execute(plan)) as unknown as readonly ReactionRow[]
  }
}
