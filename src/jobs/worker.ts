/** Worker: runs the asynchronous operations that are due, a few at once in each process. R228. */
import { rowsIn } from '../flow/outcome.ts'
import { despiteConflicts } from '../flow/store.ts'
import { tablePlan } from '../flow/table.ts'
import { newHolder } from '../flow/world.ts'
import { type JobContext, JobRun, jobLease } from './job-run.ts'
import { type JobRow, takeDueJob } from './job-table.ts'
import { adoptSchedules, runSchedule } from './schedules.ts'

export class Worker {
  readonly #context: JobContext
  readonly #running = new Map<JobRun, Promise<void>>()
  #taking: Promise<boolean> | null = null
  #stopped = false

  constructor(context: JobContext) {
    this.#context = context
  }

  /** Starts as many due jobs as may run at once. */
  async start(): Promise<void> {
    while (!this.#stopped && this.#running.size < this.#context.settings.workers) {
      this.#taking ??= this.#take().finally(() => {
        this.#taking = null
      })
      if (!(await this.#taking)) return
    }
  }

  /** Runs all jobs that are due, and those that become due meanwhile. */
  async finish(): Promise<void> {
    for (let more = true; more; ) {
      await this.start()
      more = this.#running.size > 0
      await Promise.all(this.#running.values())
    }
  }

  /** Takes no more jobs, and hands back those that are running. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#taking?.catch(() => {}) // `look` reports it
    // If the database is unavailable, the leases expire.
    await Promise.allSettled([...this.#running.keys()].map((run) => run.handBack()))
    await Promise.all(this.#running.values())
  }

  /** Takes and starts one job; false if none is due. */
  async #take(): Promise<boolean> {
    const { store, world, log } = this.#context.sources
    const now = world.due()
    const holder = newHolder(world)
    const [job] = rowsIn(await store.execute(tablePlan(takeDueJob, { now, until: now + jobLease, holder })))
    if (job === undefined) return false
    const own = job as unknown as JobRow
    if (own.calendar !== null) {
      await despiteConflicts(world, () => runSchedule(this.#context, own)).catch((err: unknown) =>
        log.warn({ err, schedule: own.id }, 'A scheduled operation could not be started; the next try is soon.'),
      )
      return true
    }
    const run = new JobRun(this.#context, own)
    const ended = run
      .run()
      .catch((err: unknown) => log.warn({ err }, 'An asynchronous operation was interrupted; it is run again soon.'))
      .finally(() => {
        this.#running.delete(run)
        if (!this.#stopped) void this.start().catch(() => {})
      })
    this.#running.set(run, ended)
    return true
  }
}

/** Runs due jobs at an interval, and at once where `wake` is called. */
export function runJobsEvery(context: JobContext, interval: number) {
  const { world, log } = context.sources
  const worker = new Worker(context)
  let adopted = false
  const look = async (): Promise<void> => {
    if (!adopted) await adoptSchedules(context)
    adopted = true
    await worker.start()
  }
  const wake = (): void =>
    void look().catch((err: unknown) => log.warn({ err }, 'Due operations could not be read; the next try is soon.'))
  const cancel = world.every(interval, wake)
  const stop = async (): Promise<void> => {
    cancel()
    await worker.stop()
  }
  return { wake, stop }
}
