/**
 * Shared commits: carries out writes that follow each other at the same rows in one transaction, in their order. R226. The store.
 *
 * Each of them was decided from the rows as the one before will leave them. In transactions of their own they would wait for
 * one commit each; together they wait for one.
 */

import type { StoreContext } from '../catalog/context.ts'
import { hasWritten, isRowConflict, runStepsAsync } from '../catalog/steps.ts'
import { isCommitted, type Outcome } from '../flow/outcome.ts'
import type { WritePlan } from '../flow/plan.ts'
import type { World } from '../flow/world.ts'
import { plainStatement, type Statement } from '../sql/statements.ts'
import { perform } from '../store/perform.ts'
import { askAfter, type Connection } from './connect.ts'
import type { ConnectionPool } from './pool.ts'

/** How many writes join one transaction at most, and until when after its start, in milliseconds: it holds its locks for that time. */
const [mostMembers, joinTime] = [50, 20]
/**
 * Its members lock rows one after the other, so two of these transactions can wait for each other. After this time, in
 * milliseconds, one gives up, and its writes are carried out one by one.
 */
const lockTime = 50

interface Member {
  readonly plan: WritePlan
  /** Carries the plan out in a transaction of its own. */
  readonly alone: () => Promise<Outcome>
  readonly answer: PromiseWithResolvers<Outcome>
  wrote: boolean
  /** Answers after the commit. */
  settle: () => void
}

interface Batch {
  readonly members: Member[]
  /** The batches that it waits for; cleared when it begins, so that earlier batches can be freed. */
  readonly after: Set<Batch>
  readonly over: PromiseWithResolvers<void>
  /** Until when writes may join it; null before it has begun. */
  until: number | null
}

export interface SharedCommitsDeps {
  readonly world: World
  readonly pool: ConnectionPool
  readonly context: StoreContext
  readonly begin: Statement
  readonly commit: (connection: Connection) => Promise<unknown>
  readonly rollBack: (connection: Connection) => Promise<void>
  /** The failure that callers get if no transaction could begin. */
  readonly failure: (error: unknown) => unknown
  /** Whether a failure leaves unknown whether the commit was done; then `recover` finds out for each member. */
  readonly isLost: (failure: unknown) => boolean
  readonly recover: (plan: WritePlan, failure: unknown) => Promise<Outcome>
}

/** Thrown if a member that has written must be undone: the transaction is rolled back, and all members are carried out one by one. */
const mustUndo = new Error('A write that shares a transaction has to be undone.')

export class SharedCommits {
  readonly #deps: SharedCommitsDeps
  readonly #begin: Statement
  /** The batches of pending writes, by the promises of their outcomes. */
  readonly #batches = new Map<Promise<unknown>, Batch>()

  constructor(deps: SharedCommitsDeps) {
    this.#deps = deps
    this.#begin = plainStatement(`${deps.begin.text}; SET LOCAL lock_timeout = ${lockTime}`)
  }

  /** Carries out a write after the pending writes that it follows: in their transaction, if they share one that writes can still join. */
  execute(plan: WritePlan, follows: Iterable<Promise<unknown>>, alone: () => Promise<Outcome>): Promise<Outcome> {
    const before = new Set([...follows].flatMap((one) => this.#batches.get(one) ?? []))
    const open = [...before].find(
      (one) => this.#isOpen(one) && [...before].every((other) => other === one || one.after.has(other)),
    )
    const batch = open ?? this.#newBatch(before)
    const answer = Promise.withResolvers<Outcome>()
    batch.members.push({ plan, alone, answer, wrote: false, settle: () => {} })
    this.#batches.set(answer.promise, batch)
    return answer.promise
  }

  #isOpen({ members, until }: Batch): boolean {
    return members.length < mostMembers && (until === null || this.#deps.world.monotonic() < until)
  }

  #newBatch(after: Set<Batch>): Batch {
    const batch: Batch = { members: [], after, over: Promise.withResolvers(), until: null }
    void Promise.all([...after].map(({ over }) => over.promise)).then(() => this.#carryOut(batch))
    return batch
  }

  async #carryOut(batch: Batch): Promise<void> {
    const { pool, failure, isLost, recover } = this.#deps
    let begun = false
    batch.after.clear()
    try {
      await pool.use(async (connection) => {
        begun = true
        await this.#transaction(batch, connection)
      })
      for (const { settle } of batch.members) settle()
    } catch (error) {
      batch.until = 0
      for (const { plan, alone, answer, wrote } of batch.members)
        if (!begun) answer.reject(failure(error))
        else await (isLost(error) && wrote ? recover(plan, error) : alone()).then(answer.resolve, answer.reject)
    }
    for (const { answer } of batch.members) this.#batches.delete(answer.promise)
    batch.over.resolve()
  }

  async #transaction(batch: Batch, connection: Connection): Promise<void> {
    const { world, commit, rollBack } = this.#deps
    try {
      const begun = connection.ask(this.#begin)
      batch.until = world.monotonic() + joinTime
      for (const member of batch.members) await this.#perform(member, connection, begun) // others join meanwhile
      batch.until = 0
      await begun
      await commit(connection)
    } catch (error) {
      await rollBack(connection)
      throw error
    }
  }

  /** A member that is refused before it has written anything does not affect the others. */
  async #perform(member: Member, connection: Connection, begun: Promise<unknown>): Promise<void> {
    const { answer, plan } = member
    let failed: unknown = null
    const run = async (statement: Statement) => {
      try {
        const rows = await askAfter(connection, begun, statement)
        member.wrote ||= hasWritten(statement, rows)
        return rows
      } catch (error) {
        failed = error // the transaction can only be rolled back
        throw error
      }
    }
    try {
      const outcome = await runStepsAsync(perform(this.#deps.context, plan, true), run)
      if ((member.wrote || plan.do === 'decide') && !isCommitted(outcome)) throw mustUndo
      member.settle = () => answer.resolve(outcome)
    } catch (error) {
      if (member.wrote || failed !== null || error === mustUndo || isRowConflict(error)) throw failed ?? mustUndo
      member.settle = () => answer.reject(error)
    }
  }
}
