/** Shared turns: if handlers of several processes keep changing the same rows, the processes take turns, by a lease of each row. R226. */
import { rowsIn } from '../flow/outcome.ts'
import type { Store } from '../flow/store.ts'
import { type Table, type TableOperation, tablePlan } from '../flow/table.ts'
import { type Cancel, newHolder, pause, type ServiceWorld } from '../flow/world.ts'

/** The process that has the turn of a row. Turns only reduce how often handlers run again: commits are guarded without them. */
export const turnTable: Table = {
  name: 'bylaw_turns',
  columns: { name: 'text', holder: 'text', until: 'integer' },
  key: ['name'],
  shardKey: 'name',
  indexes: [{ name: 'until', columns: ['until'] }],
}

const table = turnTable
const own = { name: 'name', holder: 'holder' } as const
const findLease: TableOperation = { do: 'find', table, where: { name: 'name' } }
const findLeases: TableOperation = {
  ...{ do: 'find', table, where: { name: { in: 'names' }, until: { above: 'now' } } },
  ...{ order: ['name'], limit: 100 },
}
const takeLease: TableOperation = { do: 'insert', table, replaces: { until: { upTo: 'now' } } }
const renewLease: TableOperation = { do: 'set', table, where: own, to: { until: 'until' } }
const leaveLease: TableOperation = { do: 'sweep', table, where: own }
/** Deletes leases of processes that have ended. */
const sweepLeases: TableOperation = {
  ...{ do: 'sweep', table, where: { until: { upTo: 'now' } } },
  ...{ order: ['until'], limit: 4, near: 'name' },
}

/** How long other processes wait if a process dies with a lease, in milliseconds. */
const leaseTime = 1000
const renewInterval = 300
/** How long a process serves its own requests for a row before other processes get their turn. */
const slice = 100
/** How long it keeps an idle row for its own next request. */
const idleTime = 5
/** How often it checks whether another process has left a row. */
const lookInterval = 10
/** How often a process with queueing requests checks whether other processes want the same row. */
const queueInterval = 50
/** How long requests take the lease before their first run, after several processes have changed the same row. */
const contendedTime = 1000

type LeaseWorld = Pick<ServiceWorld, 'now' | 'monotonic' | 'after' | 'inBackground' | 'every' | 'random' | 'fillRandom'>

interface Held {
  readonly since: number
  readonly stopRenewing: Cancel
  /** How many requests use it: the next request begins before the previous one has committed. */
  users: number
  /** Cancels the timer that leaves the row. */
  stay: Cancel
}

export class SharedTurns {
  readonly #world: LeaseWorld
  readonly #store: Pick<Store, 'execute'>
  readonly #holder: string
  /** The rows that several processes have changed, and until when their leases are taken at once. */
  readonly #contended = new Map<string, number>()
  readonly #held = new Map<string, Held>()
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor({ world, store }: { readonly world: LeaseWorld; readonly store: Pick<Store, 'execute'> }) {
    this.#world = world
    this.#store = store
    this.#holder = newHolder(world)
  }

  isContended(row: string): boolean {
    const until = this.#contended.get(row)
    if (until === undefined || until > this.#world.monotonic()) return until !== undefined
    this.#contended.delete(row)
    return false
  }

  /** Notes that a row has changed since a handler read it; `again` if not for the first time. From then on its lease is taken. */
  async met(row: string, again: boolean): Promise<void> {
    if (again || (await this.#isTaken(row))) this.#contend(row)
  }

  /**
   * Takes the leases of contended rows, in one order, so that no two processes wait for each other; returns what leaves them.
   * The caller has the turn of the rows in this process. Gives up after a time.
   */
  async take(rows: Iterable<string>, time: number): Promise<() => void> {
    const until = this.#world.monotonic() + time
    const taken: string[] = []
    const all = [...rows]
    await this.#lookFor(all)
    for (const row of all.filter((one) => this.isContended(one)).sort())
      if (await this.#take(row, until)) taken.push(row)
    return () => {
      for (const row of taken) this.#leaveSoon(row)
    }
  }

  /** Finds rows that other processes want too by their leases: this process may not notice it otherwise, if its requests are faster. */
  async #lookFor(rows: readonly string[]): Promise<void> {
    const { monotonic, now } = this.#world
    if (monotonic() - this.#lookedAt < queueInterval) return
    this.#lookedAt = monotonic()
    const values = { names: rows.slice(0, 100), now: now() }
    for (const { name, holder } of rowsIn(await this.#store.execute(tablePlan(findLeases, values))))
      if (holder !== this.#holder) this.#contend(String(name))
  }

  async #take(row: string, until: number): Promise<boolean> {
    const { monotonic } = this.#world
    const held = this.#held.get(row)
    held?.stay()
    if (held && monotonic() - held.since < slice) {
      held.users++
      return true
    }
    if (held) {
      await this.#leave(row)
      await pause(this.#world, 2 * lookInterval)
    }
    for (; monotonic() < until; await pause(this.#world, lookInterval * (0.5 + this.#world.random()))) {
      if (await this.#isTaken(row)) this.#contend(row)
      else if ((await this.#run(takeLease, row))[0]?.holder === this.#holder) return this.#hold(row)
    }
    return false
  }

  /** Whether another process has the row. */
  async #isTaken(row: string): Promise<boolean> {
    const [there] = await this.#run(findLease, row)
    return there !== undefined && there.holder !== this.#holder && Number(there.until) > this.#world.now()
  }

  #contend(row: string): void {
    this.#contended.set(row, this.#world.monotonic() + contendedTime)
  }

  #hold(row: string): true {
    const renew = () =>
      void this.#run(renewLease, row).then(
        (rows) => rows.length === 0 && this.#forget(row),
        () => this.#forget(row),
      )
    const stopRenewing = this.#world.every(renewInterval, renew)
    this.#held.set(row, { since: this.#world.monotonic(), stopRenewing, users: 1, stay: () => {} })
    return true
  }

  #forget(row: string): void {
    this.#held.get(row)?.stopRenewing()
    this.#held.delete(row)
  }

  #leaveSoon(row: string): void {
    const held = this.#held.get(row)
    if (held && --held.users <= 0) held.stay = this.#world.inBackground(idleTime, () => void this.#leave(row))
  }

  /** If the database is unavailable, the lease expires. */
  async #leave(row: string): Promise<void> {
    this.#forget(row)
    await Promise.all([this.#run(leaveLease, row), this.#run(sweepLeases, row)]).catch(() => {})
  }

  async #run(run: TableOperation, name: string) {
    const now = this.#world.now()
    return rowsIn(
      await this.#store.execute(tablePlan(run, { name, holder: this.#holder, until: now + leaseTime, now })),
    )
  }
}
