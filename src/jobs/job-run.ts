/** Job run: runs an asynchronous operation under a lease, and records how it ends. R228. */
import { errorBody, Problem, problemStatus } from '../errors/problem.ts'
import { type Caller, nobody } from '../flow/caller.ts'
import type { FoundRow, ReadResult, RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import { isCommitted, rowsIn } from '../flow/outcome.ts'
import { type Decide, type EffectReadResult, type Read, type RowWrite, withCaller } from '../flow/plan.ts'
import { despiteConflicts } from '../flow/store.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import { within } from '../flow/world.ts'
import { executeDecided } from '../handlers/execute-decided.ts'
import { HandledRun, handlersOf, type NamedHandler } from '../handlers/handled-run.ts'
import { errorOf, HandlerFault } from '../handlers/handler-fault.ts'
import type { HandlerSources } from '../handlers/handler-sources.ts'
import { outputText } from '../handlers/operation-output.ts'
import { type QueuedRequest, statusKey } from '../handlers/queued-operation.ts'
import { announceChange } from '../handlers/status-changes.ts'
import { decodeDocument } from '../resources/document.ts'
import { readInput } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { endedStates, statusResource } from '../resources/service-fields.ts'
import type { Settings } from '../settings.ts'
import { makeActivity } from '../telemetry/activity.ts'
import { itemOfJob, jobTools } from './job-handler.ts'
import {
  addStep,
  findSteps,
  isKept,
  isLeftToOthers,
  type JobRow,
  keepJob,
  removeJob,
  removeSteps,
} from './job-table.ts'

export interface JobContext {
  readonly sources: HandlerSources
  readonly settings: Settings['operations']
}

/** How long the lease of a job lasts; its node renews it while the handler runs. If the node dies, others take the job then. */
export const jobLease = 20_000
const renewInterval = 3_000
const longestPause = 10 * 60_000

/** Thrown to end a run whose job was cancelled, or taken by another node. */
class JobLost extends Error {}

const lostReason = 'The operation was cancelled, or another node has it now.'

/** One try of a job that this node has taken. */
export class JobRun {
  readonly #context: JobContext
  readonly #statuses: Resource
  readonly #key: RowKey
  readonly #ending = new AbortController()
  #job: JobRow
  /** Set when the node stops, which does not count as a try. */
  #stopping = false
  /** The name of its operation; `other` if the declaration has none of this name. */
  #operation = 'other'
  /** Whether this try is counted in the job. */
  #isCounted = false

  constructor(context: JobContext, job: JobRow) {
    this.#context = context
    this.#job = job
    this.#statuses = context.sources.resources.get(statusResource) as Resource
    this.#key = statusKey(job.id)
  }

  /** Resolves when the job has ended, was postponed, or is lost. */
  async run(): Promise<void> {
    const { sources, settings } = this.#context
    const { store, world } = sources
    const outcome = await this.#read()
    if (outcome.is !== 'found') return this.#forget(null)
    const status = decodeDocument(this.#statuses, outcome.doc, outcome.hidden)
    if (endedStates.includes(status.status)) return this.#forget(outcome)
    if (!this.#called(status) && isLeftToOthers(this.#job, world.due())) return
    if (this.#called(status)) this.#operation = String(status.operation)
    try {
      if (this.#job.tries >= settings.attempts)
        return await this.#fail(new Problem('internal-error', `It did not end in ${settings.attempts} tries.`))
      this.#job = { ...this.#job, tries: this.#job.tries + 1 }
      this.#isCounted = true
      await this.#change((document) => ({ ...document, status: 'running' }))
      const steps = rowsIn(await store.execute(tablePlan(findSteps, { id: this.#job.id })))
      const results = new Map(steps.map(({ name, result }) => [String(name), String(result)]))
      const stopRenewing = world.every(renewInterval, () => void this.#renew())
      try {
        const result = await this.#result(status, results)
        await this.#change((document) => ({
          ...document,
          status: 'succeeded',
          progress: 100,
          result: JSON.parse(result),
        }))
        this.#count('succeeded')
      } finally {
        stopRenewing()
        this.#ending.abort(lostReason)
      }
    } catch (error) {
      await this.#ended(error, String(status.operation))
    }
  }

  /** Gives the job back at once, as the node stops. The handler may end later; it can write nothing more. */
  async handBack(): Promise<void> {
    this.#stopping = true
    this.#ending.abort('The node stops.')
    const tries = this.#isCounted ? this.#job.tries - 1 : this.#job.tries
    const run = tablePlan(keepJob, this.#next({ taken: 0, holder: '', tries }))
    await this.#context.sources.store.execute(run)
  }

  async #result(status: Document, earlierResults: ReadonlyMap<string, string>): Promise<string> {
    const { sources, settings } = this.#context
    const { item, input: sent, caller: by } = JSON.parse(String(status.request)) as QueuedRequest
    const called = this.#called(status)
    if (!called) throw new Problem('gone', `There is no operation ${status.operation} any more.`)
    const { resource, operation, act } = called
    const input = Object.fromEntries(readInput(operation.input, sent, resource.settings)) // it may be of a former declaration
    const name = `${resource.name}.${operation.name}`
    const caller: Caller = { ...nobody, id: by.id, account: by.account, scopes: new Set(by.scopes) }
    const { id, tries } = this.#job
    const tools = jobTools(
      sources,
      {
        ...{ id, attempt: tries, name, caller, earlierResults, signal: this.#ending.signal },
        takeStep: (label, act) =>
          despiteConflicts(sources.world, () => this.#takeStep(label, [`${name}, step ${label},`, act], caller)),
        report: async (progress) => {
          if (!Number.isInteger(progress) || progress < 0 || progress > 100)
            throw new HandlerFault(`It reports the progress ${progress}; write a whole number from 0 to 100.`)
          await this.#change((document) => ({ ...document, progress }))
        },
      },
      await sources.used(),
    )
    const own = item && (await itemOfJob(sources, resource, { ...item, account: caller.account }))
    if (item && own === null) throw new Problem('resource-not-found', `${resource.title} ${item.id} was removed.`)
    if (this.#ending.signal.aborted) throw new JobLost() // the handler has not begun, so it would not see the abort
    const run = (async () => act({ ...tools, input, ...(item && { item: own }) } as never))()
    const lost = new Promise<never>((_, reject) => {
      this.#ending.signal.addEventListener('abort', () => reject(new JobLost()), { once: true })
    })
    lost.catch(() => {})
    const returned = await within(sources.world, settings.timeout, Promise.race([run, lost]), () => {
      throw new Problem('timeout', `It took longer than the limit of ${settings.timeout / 1000} seconds.`)
    })
    return outputText(operation, returned, resource)
  }

  /** The operation of a status; null if the declaration has none. */
  #called({ operation: called }: Document) {
    const { resources, ownHandlers } = this.#context.sources
    const [name = '', own = ''] = String(called).split('.')
    const resource = resources.get(name)
    const operation = resource?.operations.find((one) => one.name === own)
    const [handler] = handlersOf(ownHandlers, name, [own])
    return resource && operation && handler ? { resource, operation, act: handler[1] } : null
  }

  /** Carries out a step: its writes and its result are committed together. */
  async #takeStep(label: string, step: NamedHandler, caller: Caller): Promise<string> {
    const { sources } = this.#context
    const decisions = new HandledRun(sources, { caller, account: caller.account, step })
    const operation = { name: 'steps', at: 'item', asynchronous: false, rule: 'public', input: [], output: [] } as const
    const write = (_: FoundRow, time: number): RowWrite => {
      const call = { resource: this.#statuses, operation, input: new Map(), time, item: null }
      const { answer, effects } = decisions.call(call)
      const record = tablePlan(addStep, { id: this.#job.id, name: label, result: answer })
      return this.#guarded({ do: 'keep', answer, effects }, answer, record)
    }
    const plan = () => withCaller(this.#plan(write), caller)
    const outcome = await executeDecided([decisions], sources, plan(), plan)
    if (outcome.is === 'answered') return outcome.doc
    throw new Problem('conflict', `The step ${label} was refused by the database: ${outcome.is}.`)
  }

  /** Changes the status, if this node still has the job and it has not ended. */
  async #change(act: (document: Document) => Document, next: Partial<JobRow> = {}): Promise<void> {
    const { sources } = this.#context
    const plan = this.#plan((current, time) => {
      const before = decodeDocument(this.#statuses, current.doc, current.hidden)
      const guard = { reads: [this.#keeps(next)], admit: admitKept }
      const row = { key: this.#key, time, current, before, always: false, guard }
      return sources.writer.update(this.#statuses, act(before), row)
    })
    const outcome = await despiteConflicts(sources.world, () => sources.store.execute(plan))
    if (!isCommitted(outcome)) throw new JobLost()
    announceChange(sources.world, this.#job.id)
  }

  #plan(decide: (current: FoundRow, time: number) => RowWrite): Decide {
    const read = this.#statusRead()
    return {
      do: 'decide',
      read,
      decide: (current) => {
        if (current.is !== 'found' || isEnded(current)) throw new JobLost()
        return decide(current, read.time)
      },
    }
  }

  /** Commits a step with its record, if this node still has the job. A record of this try is there if its commit seemed to fail. */
  #guarded(write: RowWrite, answer: string, record: TablePlan): RowWrite {
    const decide = ([kept, recorded]: readonly EffectReadResult[]): RowWrite => {
      if (!isKept(kept)) throw new JobLost()
      return recorded?.is === 'present' ? { do: 'keep', answer: String(recorded.rows[0]?.result) } : write
    }
    return { do: 'keep', answer, consequences: { reads: [this.#keeps(), record], decide } }
  }

  #keeps(next: Partial<JobRow> = {}): TablePlan {
    return tablePlan(keepJob, this.#next(next))
  }

  #next(next: Partial<JobRow>): TablePlan['values'] {
    const { id, due, taken, holder, tries } = this.#job
    return { ...{ id, due, taken, holder, tries }, ...next, held: holder }
  }

  async #renew(): Promise<void> {
    const { store, world } = this.#context.sources
    const taken = world.due() + jobLease
    try {
      const outcome = await this.#read()
      const kept = rowsIn(await store.execute(this.#keeps({ taken })))
      if (kept.length === 0 || outcome.is !== 'found' || isEnded(outcome)) this.#ending.abort(lostReason)
      else this.#job = { ...this.#job, taken }
    } catch {
      // A failed renewal is ignored: the lease outlasts the next renewal.
    }
  }

  async #read(): Promise<ReadResult> {
    return (await this.#context.sources.store.execute(this.#statusRead())) as ReadResult
  }

  #statusRead(): Read {
    return { do: 'read', collection: this.#statuses.name, key: this.#key, time: this.#context.sources.world.now() }
  }

  /** Removes the status whose retention is over, and with it the job and its steps. */
  async #forget(status: FoundRow | null): Promise<void> {
    const { store, writer } = this.#context.sources
    const [read, { id }] = [this.#statusRead(), this.#job]
    const removed = { key: this.#key, time: read.time, takes: new Set<string>() }
    const decide: Decide['decide'] = (current) =>
      current.is === 'found' ? writer.remove(this.#statuses, removed, current) : { do: 'keep' }
    if (status) await store.execute({ do: 'decide', read, decide })
    else for (const run of [removeSteps, removeJob]) await store.execute(tablePlan(run, { id }))
  }

  /** Handles an error: a refusal fails the operation; a failure, also of the database, puts it off. */
  async #ended(error: unknown, handler: string): Promise<void> {
    if (error instanceof JobLost || this.#stopping) return
    const { sources, settings } = this.#context
    const { tries } = this.#job
    const problem = error instanceof Problem ? error : null
    const refused = problem !== null && problemStatus(problem, sources.types) < 500
    this.#count(refused ? 'refused' : 'failed')
    if (refused) return this.#fail(problem)
    const about = { err: errorOf(error), handler, operation: this.#job.id, tries }
    sources.log.error(about, 'An asynchronous operation failed.')
    if (tries >= settings.attempts)
      return this.#fail(problem ?? new Problem('internal-error', 'The operation failed. The cause is in the log.'))
    const due = sources.world.due() + Math.min(longestPause, 1000 * 2 ** tries)
    await this.#unlessLost(() =>
      this.#change((document) => ({ ...document, status: 'queued' }), { due, taken: 0, holder: '' }),
    )
  }

  #count(result: string): void {
    this.#context.sources.world.state.of(makeActivity, null).jobs.add(this.#operation, result)
  }

  #fail(problem: Problem): Promise<void> {
    const error = errorBody(problem, this.#context.sources.types)
    return this.#unlessLost(() => this.#change((document) => ({ ...document, status: 'failed', error })))
  }

  #unlessLost(act: () => Promise<void>): Promise<void> {
    return act().catch((error: unknown) => {
      if (!(error instanceof JobLost)) throw error
    })
  }
}

const isEnded = ({ doc }: FoundRow): boolean => endedStates.includes((JSON.parse(doc) as Document).status)

function admitKept([kept]: readonly EffectReadResult[]): void {
  if (!isKept(kept)) throw new JobLost()
}
