/** Handled run: carries out a request whose writes have handlers, outside of transactions and again where that is necessary. R226. */
import { renameViolation } from '../changes/queries.ts'
import type { Catalogue } from '../errors/catalogue.ts'
import { Problem } from '../errors/problem.ts'
import type { Caller } from '../flow/caller.ts'
import { type Decision, type Decisions, type ProposedWrite, Undecided } from '../flow/decision.ts'
import type { Document } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Plan } from '../flow/plan.ts'
import { pause, type ServiceWorld, within } from '../flow/world.ts'
import { failureOfHandler, HandlerFault, HandlerRefusal, ReadsChanged } from './handler-fault.ts'
import { copied, HandlerTools } from './handler-tools.ts'
import { fieldOperations, type HandlerFunction, type OwnHandlers } from './own-handlers.ts'
import { type HeldRow, heldName, RequestRows, type RowSources } from './request-rows.ts'
import { takeTurn } from './turns.ts'

/** What handlers need from the service that they run in. */
export interface HandlerSources extends RowSources {
  readonly ownHandlers: OwnHandlers
  /** What handlers use; made when it is first needed. */
  readonly used: () => Promise<unknown>
  /** Ends what was made. */
  readonly close: () => Promise<void>
  readonly types: Catalogue
  readonly world: ServiceWorld
  readonly log: HandlerLog
  /** How long all handlers of a request may take together, in milliseconds. R180. */
  readonly timeout: number
}

interface HandlerLog {
  readonly info: (about: object, message: string) => void
  readonly warn: (about: object, message: string) => void
  readonly error: (about: object, message: string) => void
}

/** For whom handlers run. */
export interface HandledRequest {
  readonly caller: Caller
  /** The account whose rows they see. */
  readonly account: string | null
  readonly requestId?: string
  /** The fields of the caller's version that show a stored field. */
  readonly namesOf?: (field: string) => readonly string[]
  /** Whether everything is rolled back. R239. */
  readonly dryRun?: boolean
}

/** How often handlers run for one request if others keep changing what they read. */
const mostRuns = 5
/** How deep handlers may cause each other. */
const mostDepth = 5

/** A decision that was made, with what it was made for. */
interface Decided {
  readonly revision: number
  readonly proposed: string
  readonly row: HeldRow
}

/** The handlers of one request. A new run forgets everything that the last one has read and decided. */
export class HandledRun implements Decisions {
  readonly #sources: HandlerSources
  readonly #request: HandledRequest
  readonly #until: number
  #rows: RequestRows | null = null
  #decided = new Map<string, Decided>()

  constructor(sources: HandlerSources, request: HandledRequest) {
    this.#sources = sources
    this.#request = request
    this.#until = sources.world.monotonic() + sources.timeout
  }

  cover(resource: string, operations: readonly string[]): boolean {
    return handlersOf(this.#sources.ownHandlers, resource, operations).length > 0
  }

  on(write: ProposedWrite): Decision | null {
    if (!this.cover(write.resource.name, write.operations)) return null
    const name = heldName(write.resource, write.key)
    const found = this.#decided.get(name)
    if (!found) throw new Undecided(write)
    if (found.revision !== write.revision || found.proposed !== JSON.stringify(write.after))
      throw new ReadsChanged(name)
    const [first] = this.#decided.values()
    return { after: found.row.now, effects: first === found ? (this.#rows?.effects(this) ?? []) : [] }
  }

  /** Executes a plan, which is made anew after each decision. After a conflict, requests for the same row queue. */
  async execute(makePlan: () => Plan): Promise<Outcome> {
    const { world } = this.#sources
    let endTurn = () => {}
    try {
      for (let run = 1; ; run++) {
        try {
          return await this.#tryExecute(makePlan)
        } catch (error) {
          if (!(error instanceof ReadsChanged)) throw error
          const rest = this.#until - world.monotonic()
          if (run === mostRuns || rest < 0) throw busyProblem(error)
          endTurn()
          endTurn = await takeTurn(world, error.row, rest)
          this.#rows = null
          this.#decided = new Map()
          if (run > 1) await pause(world, world.random() * 5 * 2 ** run)
        }
      }
    } finally {
      endTurn()
    }
  }

  async #tryExecute(makePlan: () => Plan): Promise<Outcome> {
    for (;;) {
      try {
        return this.#checked(await this.#sources.store.execute(makePlan()))
      } catch (error) {
        if (!(error instanceof Undecided)) throw error
        await this.#decide(error.write)
      }
    }
  }

  /** A failure of a handler counts only if everything that it has read is still so. */
  async #decide(write: ProposedWrite): Promise<void> {
    this.#rows ??= new RequestRows(this.#sources, write.time)
    const proposed = JSON.stringify(write.after)
    const row = this.#rows.request(write)
    try {
      await this.#runHandlers(row, write, copied(write.before), 1)
    } catch (error) {
      if (!(error instanceof ReadsChanged)) await this.#rows.verify()
      throw error instanceof HandlerRefusal ? this.#inVersion(error) : error
    }
    this.#decided.set(heldName(write.resource, write.key), { revision: write.revision, proposed, row })
  }

  /** A refusal with the fields as the caller's version names them. */
  #inVersion({ type, message, violations }: HandlerRefusal): Problem {
    const names = this.#request.namesOf ?? ((field: string) => [field])
    return new Problem(type, message, { violations: violations.flatMap((one) => renameViolation(one, names)) })
  }

  async #runHandlers(
    row: HeldRow,
    { operations, input }: Pick<ProposedWrite, 'operations' | 'input'>,
    item: Document | null,
    depth: number,
  ): Promise<void> {
    const { ownHandlers, types, resources, world } = this.#sources
    const { name } = row.resource
    for (const [handler, act] of handlersOf(ownHandlers, name, operations)) {
      const called = `${name}.${handler}`
      if (depth > mostDepth)
        throw failureOfHandler(called, new HandlerFault(`Handlers cause each other more than ${mostDepth} deep.`))
      const { caller, account } = this.#request
      const rows = this.#rows as RequestRows
      const context = { rows, resources, types, caller, account, time: rows.time, newId: world.newId }
      const tools = new HandlerTools(context, row, item)
      await this.#call(called, act, tools, row, {
        item,
        input: input ? Object.fromEntries(input) : inputOf(operations, item, row.now),
      })
      for (const said of tools.said) await this.#runHandlers(said.row, said, said.item, depth + 1)
    }
  }

  async #call(name: string, act: HandlerFunction, tools: HandlerTools, row: HeldRow, given: object): Promise<void> {
    const { world, log, used } = this.#sources
    const { requestId, dryRun = false } = this.#request
    let ending: AbortController | undefined // most handlers need none
    const about = { handler: name, ...(requestId !== undefined && { requestId }) }
    const write =
      (level: keyof HandlerLog) =>
      (text: string, fields: object = {}) =>
        log[level]({ ...fields, ...about }, text)
    const all = {
      ...tools.face,
      ...given,
      get next() {
        return copied(row.now)
      },
      log: { info: write('info'), warn: write('warn'), error: write('error') },
      get signal() {
        ending ??= new AbortController()
        return ending.signal
      },
      dryRun,
      use: await used(),
    }
    const run = async () => {
      const returned = await act(all as never)
      await tools.finish()
      if (returned !== undefined)
        throw new HandlerFault('It returns a value; what it decides is said by set, change and the like.')
    }
    try {
      await within(world, this.#until - world.monotonic(), run(), () => {
        throw lateProblem()
      })
    } catch (error) {
      throw error instanceof ReadsChanged ? error : failureOfHandler(name, error)
    } finally {
      ending?.abort()
    }
  }

  /** A reference to a row that does not exist is the mistake of a handler, unless the caller sent it. */
  #checked(outcome: Outcome): Outcome {
    if (outcome.is !== 'unmet' || this.#decided.size === 0) return outcome
    const sent = [...this.#decided.values()].map(({ proposed }) => proposed).join()
    const own = outcome.references.filter(({ id }) => !sent.includes(JSON.stringify(id)))
    if (own.length === 0) return outcome
    const names = own.map(({ field, collection, id }) => `${field} names ${collection} ${id}, which does not exist.`)
    throw new Error(`A handler writes references to nothing: ${names.join(' ')}`)
  }
}

/** The handlers of operations, in the order in which they run, by name. */
function handlersOf(
  { handlers }: OwnHandlers,
  resource: string,
  operations: readonly string[],
): [name: string, act: HandlerFunction][] {
  const own = Object.hasOwn(handlers, resource) ? handlers[resource] : undefined
  const isOfFields = fieldOperations.some((one) => operations.includes(one))
  return [...(isOfFields ? ['write'] : []), ...operations].flatMap((name) => {
    const act = own && Object.hasOwn(own, name) ? own[name] : undefined
    return act ? [[name, act]] : []
  })
}

/** The fields that a write sets; of a change those that it changes. */
function inputOf(operations: readonly string[], item: Document | null, next: Document | null): Document {
  const all = Object.entries(copied(next) ?? {})
  if (!operations.includes('change') || item === null) return Object.fromEntries(all)
  return Object.fromEntries(all.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(item[name])))
}

const busyProblem = (cause: unknown): Problem =>
  new Problem('overloaded', 'Other requests keep changing the same rows; nothing was changed. Try again later.', {
    cause,
    headers: { 'Retry-After': '1' },
  })

const lateProblem = (): Problem =>
  new Problem('timeout', 'The request took too long; nothing was changed. Try again later.')
