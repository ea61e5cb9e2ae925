/** Handled run: runs the handlers of one request outside of transactions, and keeps their decisions. R226. */
import { renameViolation } from '../changes/queries.ts'
import { Problem } from '../errors/problem.ts'
import type { Caller } from '../flow/caller.ts'
import {
  type CallDecision,
  type Decision,
  type Decisions,
  type ProposedCall,
  type ProposedWrite,
  type RefusedState,
  Undecided,
} from '../flow/decision.ts'
import type { FoundRow } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import { within } from '../flow/world.ts'
import { StateRefusal } from './handled-states.ts'
import { failureOfHandler, HandlerFailure, HandlerFault, HandlerRefusal, ReadsChanged } from './handler-fault.ts'
import type { HandlerSources } from './handler-sources.ts'
import { copied, HandlerTools, handlerLog, type ToolContext } from './handler-tools.ts'
import { outputText, refuseOutput } from './operation-output.ts'
import { fieldOperations, type HandlerFunction, type OwnHandlers } from './own-handlers.ts'
import { type HeldRow, heldName, RequestRows } from './request-rows.ts'
import { announcedRow, isQueued, isUnsure } from './turns.ts'

/** The request that handlers run for. */
export interface HandledRequest {
  readonly caller: Caller
  /** The account whose rows they see. */
  readonly account: string | null
  readonly requestId?: string
  /** The fields of the caller's version that show a stored field. */
  readonly namesOf?: (field: string) => readonly string[]
  /** Makes the refusal of a state in the words of the caller's version; missing where no caller reads it. */
  readonly stateProblem?: (refused: RefusedState) => Problem
  /** Whether everything is rolled back. R239. */
  readonly dryRun?: boolean
  /** The step of an asynchronous operation, in place of a handler. */
  readonly step?: NamedHandler
}

/** How many handlers may run in a chain, each caused by a write of the previous one. */
const mostDepth = 5

/** A decision that was made, with the revision and the proposed write that it was made for. */
interface MadeDecision {
  readonly revision: number
  readonly proposed: string
  readonly row: HeldRow
}

/** The handlers of one request. A new run forgets everything that the last one has read and decided. */
export class HandledRun implements Decisions {
  readonly #sources: HandlerSources
  readonly #request: HandledRequest
  readonly #until: number
  /** The rows whose turn it has. */
  #turn: ReadonlySet<string> = new Set()
  #rows: RequestRows | null = null
  #decided = new Map<string, MadeDecision>()
  /** The pending writes whose announced rows handlers have read. */
  readonly follows = new Set<Promise<Outcome>>()
  /** The output of the operation that was called, and its input; null until its handler has run. */
  #answered: { readonly answer: string; readonly sent: string } | null = null

  constructor(sources: HandlerSources, request: HandledRequest) {
    this.#sources = sources
    this.#request = request
    this.#until = sources.world.monotonic() + sources.timeout
  }

  cover(resource: string, operations: readonly string[]): boolean {
    return handlersOf(this.#sources.ownHandlers, resource, operations).length > 0
  }

  /** Whether it may have to decide about writes of a resource. */
  mayDecide(resource: string): boolean {
    return this.#request.step !== undefined || Object.hasOwn(this.#sources.ownHandlers.handlers, resource)
  }

  on(write: ProposedWrite): Decision | null {
    if (!this.cover(write.resource.name, write.operations)) return null
    const name = heldName(write.resource, write.key)
    const decided = this.#decided.get(name)
    if (!decided) throw new Undecided(name, () => this.#decide(write))
    if (decided.revision !== write.revision || decided.proposed !== JSON.stringify(write.after))
      throw new ReadsChanged(name)
    const [first] = this.#answered ? [] : this.#decided.values()
    return { after: decided.row.now, effects: first === decided ? (this.#rows?.effects(this) ?? []) : [] }
  }

  call(call: ProposedCall): CallDecision {
    const name = `${call.resource.name}.${call.operation.name}`
    if (!this.#answered) throw new Undecided(name, () => this.#answerCall(name, call))
    return { answer: this.#answered.answer, effects: this.#rows?.effects(this) ?? [] }
  }

  /** The names of the rows that were read or written so far. */
  rowNames(): readonly string[] {
    return this.#rows?.names() ?? []
  }

  /** The rows as they will be after its writes; null if that is not known. */
  outlook(): ReadonlyMap<string, FoundRow> | null {
    if (this.#request.dryRun || this.rowNames().some((name) => isUnsure(this.#sources.world, name))) return null
    return this.#rows?.outlook() ?? null
  }

  /** Forgets all reads and decisions, for a new run. The request has queued for these rows, and it is its turn. */
  beginAnew(turn: ReadonlySet<string>): void {
    this.#turn = turn
    this.follows.clear()
    this.#rows = null
    this.#decided = new Map()
    this.#answered = null
  }

  /** How much time is left, in milliseconds. */
  rest(): number {
    return this.#until - this.#sources.world.monotonic()
  }

  async #decide(write: ProposedWrite): Promise<void> {
    const proposed = JSON.stringify(write.after)
    const row = this.#rowsAt(write.time).request(write)
    await this.#settled(this.#runHandlers(row, write, copied(write.before), []))
    this.#decided.set(heldName(write.resource, write.key), { revision: write.revision, proposed, row })
  }

  /** Runs the handler of an operation, and keeps its output. */
  async #answerCall(name: string, { resource, operation, input, item, time }: ProposedCall): Promise<void> {
    const rows = this.#rowsAt(time)
    const row = item && rows.hold({ resource, ...item })
    const { step } = this.#request
    const handler = step ?? handlersOf(this.#sources.ownHandlers, resource.name, [operation.name])[0]
    const [, act] = handler as NamedHandler
    const payload = { input: copied(Object.fromEntries(input)), ...(item && { item: copied(item.before) }) }
    const tools = new HandlerTools(this.#context(), row, undefined)
    const read = (returned: unknown) =>
      step ? (JSON.stringify(returned) ?? 'null') : outputText(operation, returned, resource)
    const run = this.#call([step?.[0] ?? name, act], tools, row, payload, [], read)
    this.#answered = { answer: await this.#settled(run), sent: JSON.stringify([...input.values()]) }
  }

  /** If other requests queue for a row, this one has to queue too: otherwise it would change the row and make them run again. */
  #admit(row: string): void {
    const { world, sharedTurns } = this.#sources
    if (this.#turn.has(row)) return
    if (isQueued(world, row) || sharedTurns.isContended(row)) throw new ReadsChanged(row, true)
  }

  #rowsAt(time: number): RequestRows {
    this.#rows ??= new RequestRows(this.#sources, time, {
      admit: (row) => this.#admit(row),
      announced: (name) => this.#announced(name),
    })
    return this.#rows
  }

  #announced(name: string): FoundRow | undefined {
    const announced = announcedRow(this.#sources.world, name)
    if (announced) this.follows.add(announced.write)
    return announced?.row
  }

  /** A failure of a handler counts only if the rows that it has read are unchanged. */
  async #settled<T>(run: Promise<T>): Promise<T> {
    try {
      return await run
    } catch (error) {
      if (!(error instanceof ReadsChanged)) await this.#rows?.verify()
      if (error instanceof StateRefusal) throw this.#request.stateProblem?.(error.refused) ?? error
      throw error instanceof HandlerRefusal ? this.#inVersion(error) : error
    }
  }

  /** A refusal with the fields as the caller's version names them. */
  #inVersion({ type, message, violations, extra }: HandlerRefusal): Problem {
    const names = this.#request.namesOf ?? ((field: string) => [field])
    return new Problem(type, message, { extra, violations: violations.flatMap((one) => renameViolation(one, names)) })
  }

  async #runHandlers(
    row: HeldRow,
    { operations, input }: Pick<ProposedWrite, 'operations' | 'input'>,
    item: Document | null,
    causes: readonly string[],
  ): Promise<void> {
    const { name } = row.resource
    for (const [handler, act] of handlersOf(this.#sources.ownHandlers, name, operations)) {
      const payload = { item, input: input ? Object.fromEntries(input) : inputOf(operations, item, row.now) }
      const tools = new HandlerTools(this.#context(), row, item)
      await this.#call([`${name}.${handler}`, act], tools, row, payload, causes, refuseOutput)
    }
  }

  /** Calls a handler, then the handlers of its writes. `row` is its own row, null if it has none; `causes` are the handlers above it. */
  async #call<T>(
    [name, act]: NamedHandler,
    tools: HandlerTools,
    row: HeldRow | null,
    input: object,
    causes: readonly string[],
    read: (returned: unknown) => T,
  ): Promise<T> {
    const chain = [...causes, name]
    if (chain.length > mostDepth) {
      const text = `Handlers cause each other more than ${mostDepth} deep: ${chain.join(' > ')}.`
      throw failureOfHandler(name, new HandlerFault(text))
    }
    const { used } = this.#sources
    const { requestId } = this.#request
    let ending: AbortController | undefined // most handlers need none
    const all = {
      ...tools.face,
      ...input,
      get next() {
        return copied(row?.now ?? null)
      },
      log: handlerLog(this.#sources.log, { handler: name, ...(requestId !== undefined && { requestId }) }),
      get signal() {
        ending ??= new AbortController()
        return ending.signal
      },
      dryRun: this.#request.dryRun === true,
      use: await used(),
    }
    const run = async () => {
      const returned = await act(all as never)
      await tools.finish()
      return read(returned)
    }
    const result = await this.#bounded(name, run()).finally(() => ending?.abort())
    for (const one of tools.requested) await this.#runHandlers(one.row, one, one.item, chain)
    return result
  }

  /** The result of a handler, if it ends before the time of the request is over. */
  async #bounded<T>(name: string, run: Promise<T>): Promise<T> {
    const { world } = this.#sources
    try {
      return await within(world, this.#until - world.monotonic(), run, () => {
        throw lateProblem()
      })
    } catch (error) {
      throw error instanceof ReadsChanged ? error : failureOfHandler(name, error)
    }
  }

  #context(): ToolContext {
    const { types, readErrorFields, lists, resources, world } = this.#sources
    const { caller, account } = this.#request
    const rows = this.#rows as RequestRows
    return { rows, lists, resources, types, readErrorFields, caller, account, time: rows.time, newId: world.newId }
  }

  /** Like a failure, a refusal of a write of handlers counts only if the rows that they have read are unchanged. */
  async check(outcome: Outcome): Promise<void> {
    if (outcome.is === 'duplicate' || outcome.is === 'unmet') await this.#rows?.verify()
    if (outcome.is !== 'unmet' || (this.#decided.size === 0 && !this.#answered)) return
    const sent = [...this.#decided.values()].map(({ proposed }) => proposed).join() + (this.#answered?.sent ?? '')
    const own = outcome.references.filter(({ id }) => !sent.includes(JSON.stringify(id)))
    if (own.length === 0) return
    const names = own.map(({ field, collection, id }) => `${field} names ${collection} ${id}, which does not exist.`)
    throw new HandlerFailure(`A handler writes references to nothing: ${names.join(' ')}`)
  }
}

export type NamedHandler = readonly [name: string, act: HandlerFunction]

/** The handlers of operations, in the order in which they run, by name. */
export function handlersOf({ handlers }: OwnHandlers, resource: string, operations: readonly string[]): NamedHandler[] {
  const own = Object.hasOwn(handlers, resource) ? handlers[resource] : undefined
  if (!own) return []
  const isOfFields = fieldOperations.some((one) => operations.includes(one))
  const names = [...(isOfFields ? ['write'] : []), ...operations].filter((name) => Object.hasOwn(own, name))
  return names.flatMap((name) => (own[name] ? [[name, own[name]]] : []))
}

/** The fields that a write sets; for a change, the fields that differ. */
function inputOf(operations: readonly string[], item: Document | null, next: Document | null): Document {
  const all = Object.entries(copied(next) ?? {})
  if (!operations.includes('change') || item === null) return Object.fromEntries(all)
  return Object.fromEntries(all.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(item[name])))
}

const lateProblem = (): Problem =>
  new Problem('timeout', 'The request took too long; nothing was changed. Try again later.')
