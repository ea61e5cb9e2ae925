/** Import rows: creates an item of each line, in transactions of bounded size. Part 4, methods. R238. */
import { refuseCredentialsInBody } from '../auth/credentials.ts'
import { Problem } from '../errors/problem.ts'
import type { Decisions } from '../flow/decision.ts'
import type { ReadResult } from '../flow/found-row.ts'
import type { Document, Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome, PriorClaim, SeveralOutcomes } from '../flow/outcome.ts'
import { type Create, withRights } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { keyReuseProblem, payloadMismatch } from '../idempotency/claim.ts'
import { ContentDigest } from './content-digest.ts'
import { allRefused, brokenOff, emptyImport, importInProgress, otherContent } from './import-problems.ts'
import {
  advanced,
  type ImportProgress,
  importStep,
  type LineError,
  type LineResult,
  NothingCreated,
  noProgress,
  RowsRefused,
  reportOf,
  storedProgress,
} from './import-progress.ts'
import type { ImportTools } from './import-tools.ts'
import { linesIn } from './lines.ts'

/** How many lines a transaction has: fewer if all other writes have to wait for its end. */
const mostRows = { all: 500, following: 1000 } as const
/** How many bytes it has, except for its last line. */
const mostBytes = 1024 * 1024

/** After this number of lines, the event loop handles other requests and answers of the database. */
const mostAtOnce = 50
/** After this time a transaction begins with the lines that are there, in milliseconds: a sender may be slow. */
const patience = 1000

/** The route of an import, with that of a single creation. */
type ImportRoute = Route & { readonly importing: Route }

/** A line with its item, or with the reason for which it has none. */
interface Row {
  readonly line: number
  readonly item: NewItem | LineError
}

/** The creation of an item. It keeps nothing else of its line: many of them wait together. */
interface NewItem {
  readonly plan: Create
  /** Where handlers decide on it. */
  readonly intent: Intent | null
}

/** Imports the items of a request. The outcome is the report, or that of an earlier request with the same key. */
export async function importRows(route: ImportRoute, intent: Intent, tools: ImportTools): Promise<Outcome> {
  const { read, admit } = route.target(intent)
  admit(read && ((await tools.store.execute(withRights(read, tools.rights))) as ReadResult))
  const { claim, world } = intent
  const running = world.state.of(makeRunningImports, null)
  if (claim === null) return new Import(route, intent, tools).run()
  if (running.has(claim.hash)) throw importInProgress()
  running.add(claim.hash)
  try {
    return await new Import(route, intent, tools).run()
  } finally {
    running.delete(claim.hash)
  }
}

/** The keys of the imports that this process carries out. */
const makeRunningImports = () => new Set<string>()

/** The last line that was read, and the digest of all lines up to it. */
type ContentEnd = Pick<ImportProgress, 'line' | 'digest'>

class Import {
  readonly #route: ImportRoute
  readonly #intent: Intent
  readonly #tools: ImportTools
  readonly #digest: ContentDigest
  /** The progress of the lines that were carried out, and the one that is stored with the key. */
  #progress: ImportProgress = noProgress
  #stored: ImportProgress | null = null
  #rows: Row[] = []
  #bytes = 0
  /** When the first of the waiting rows was read. */
  #since = 0
  /** The number of the last line that was read. */
  #last = 0
  /** How many transactions have begun. */
  #transactions = 0
  /** The running transaction. */
  #running: Promise<void> = Promise.resolve()

  constructor(route: ImportRoute, intent: Intent, tools: ImportTools) {
    this.#route = route
    this.#intent = intent
    this.#tools = tools
    this.#digest = new ContentDigest(intent.claim !== null)
    const needed = route.resource.members.flatMap(({ write }) => write)
    this.#progress = { ...noProgress, scopes: needed.filter((one) => intent.caller.scopes.has(one)) }
  }

  async run(): Promise<Outcome> {
    const prior = await this.#recall()
    try {
      await this.#readContent()
      await this.#running
      if (prior && this.#progress.ended) return replayed(prior, this.#progress)
      return await this.#finish()
    } catch (error) {
      await this.#running.catch(() => {}) // it may still be committed
      const { line, created, existing } = this.#progress
      throw created + existing > 0 && !this.#progress.ended
        ? brokenOff(error, line, this.#intent.claim !== null)
        : error
    }
  }

  /** Finds out how far an import with the same key has come. */
  async #recall(): Promise<PriorClaim | null> {
    const { claim, caller } = this.#intent
    const prior = claim && (await this.#tools.store.execute({ do: 'recall', claim }))
    if (prior?.is !== 'claimed') return null
    const progress = claim && storedProgress(prior, claim, caller)
    // An erasure leaves no fingerprint.
    if (claim && prior.fingerprint === '') throw keyReuseProblem(prior, claim, null, this.#route.resource.settings)
    if (!progress) throw payloadMismatch()
    this.#progress = progress
    this.#stored = progress
    return prior
  }

  /** Reads all lines, and begins transactions on the way. */
  async #readContent(): Promise<void> {
    const { content, reader } = this.#tools
    const { limits } = this.#route.resource.settings
    const from = this.#progress
    for await (const lines of linesIn(content, limits.body)) {
      for (const line of lines) {
        const last = line.number
        this.#last = last
        this.#digest.add(line)
        const isDone = last <= from.line
        if (last > from.line && from.ended) throw otherContent(from.line)
        if (last === from.line && this.#digest.text() !== from.digest) throw otherContent(from.line)
        const document = reader.take(line, isDone)
        if (document && !isDone) await this.#add(last, document, line.bytes?.length ?? 0)
        if (last % mostAtOnce === 0) await new Promise<void>(this.#intent.world.nextTurn)
      }
      if (this.#rows.length > 0 && this.#intent.world.monotonic() - this.#since > patience) await this.#begin()
    }
    if (this.#last < from.line) throw otherContent(from.line)
    await this.#begin()
  }

  /** Adds a row; waits for the running transaction if there are enough rows for the next one. */
  async #add(line: number, document: Document | Problem, bytes: number): Promise<void> {
    if (this.#rows.length === 0) this.#since = this.#intent.world.monotonic()
    this.#rows.push({ line, item: this.#read(line, document) })
    this.#bytes += bytes
    const { isHandled, store } = this.#tools
    const isFull = this.#rows.length >= (isHandled ? 1 : mostRows[store.keepsOrder]) || this.#bytes >= mostBytes
    if (isFull) await this.#begin()
  }

  /** The checks of a single creation. */
  #read(line: number, document: Document | Problem): Row['item'] {
    try {
      if (document instanceof Problem) throw document
      const { call, caller, carried, params, world } = this.#intent
      const request: RequestContext = { call, caller, carried, params, query: null, body: document, world }
      const creating = this.#route.importing
      refuseCredentialsInBody(request, creating)
      const intent = creating.parse(request)
      return { plan: this.#planOf(intent), intent: this.#tools.isHandled ? intent : null }
    } catch (error) {
      return { line, ...this.#tools.lineError(error, line) }
    }
  }

  /** The plan of a creation without embedded rows, as no item is answered. */
  #planOf(intent: Intent): Create {
    const plan = this.#route.importing.plan(intent) as Create
    if (!plan.joined) return plan
    const { joined, ...own } = plan
    return own
  }

  async #begin(): Promise<void> {
    const rows = this.#rows
    this.#rows = []
    this.#bytes = 0
    const end = { line: this.#last, digest: this.#digest.text() }
    await this.#running
    if (rows.length === 0) return
    await this.#tools.admitTransaction(this.#transactions++ > 0)
    this.#running = this.#carryOut(rows, end)
    this.#running.catch(() => {}) // a later await throws it
  }

  /** Carries rows out in one transaction; if one of them cannot be a part of it, again with each of them apart. */
  async #carryOut(rows: readonly Row[], end: ContentEnd): Promise<void> {
    const creating = rows.map(({ item }) => item).filter(isNewItem)
    const results = (outcomes: SeveralOutcomes['outcomes']) => this.#results(rows, outcomes)
    if (creating.length > 0) {
      const failed = await this.#step(end, creating, results)
      if (failed === null) return
      if (rows.length > 1 && (await this.#step(end, creating, results, { apart: true })) === null) return
      if (rows.length > 1) throw new Error('Rows of an import were refused although they were apart.')
      const { line } = rows[0] as Row
      this.#progress = { ...advanced(this.#progress, [{ line, ...failed }]), ...end }
    } else this.#progress = { ...advanced(this.#progress, results([])), ...end }
  }

  /** Creates rows and stores the progress; returns the error that a row is refused with, or null. */
  async #step(
    end: ContentEnd,
    creating: readonly NewItem[],
    results: (outcomes: SeveralOutcomes['outcomes']) => readonly LineResult[],
    { apart = false, ended = false } = {},
  ): Promise<Readonly<Record<string, unknown>> | null> {
    const { claim, caller, world } = this.#intent
    const { resource } = this.#route
    const { line } = end
    const make = (decisions?: Decisions) => {
      const step = importStep({
        ...{ collection: resource.collection.name, claim, stored: this.#stored, time: world.now() },
        by: this.#tools.keepsHistory ? caller : null,
        apart,
        plans: creating.map(({ intent, plan }) =>
          intent && decisions ? this.#planOf({ ...intent, decisions }) : plan,
        ),
        after: (outcomes) => ({ ...advanced(this.#progress, results(outcomes)), ...end, ended }),
      })
      return withRights(step, this.#tools.rights)
    }
    try {
      const outcome = await this.#tools.execute(make)
      if (outcome.is === 'claimed') throw importInProgress()
      if (outcome.is !== 'answered') throw new RowsRefused(outcome)
      this.#progress = JSON.parse(outcome.doc) as ImportProgress
      if (claim) this.#stored = this.#progress
      return null
    } catch (error) {
      if (error instanceof NothingCreated) {
        this.#progress = error.progress
        return null
      }
      if (error instanceof Problem && error.type === 'idempotency-in-progress') throw error
      if (!(error instanceof RowsRefused)) return this.#tools.lineError(error, line)
      const [only, ...others] = creating
      return only && others.length === 0 ? this.#refusal(only.plan, error.outcome, line) : {}
    }
  }

  #results(rows: readonly Row[], outcomes: SeveralOutcomes['outcomes']): LineResult[] {
    let next = 0
    return rows.map(({ line, item }) => {
      if (!isNewItem(item)) return item
      const outcome = outcomes[next++] as SeveralOutcomes['outcomes'][number]
      if (outcome.is === 'refused') return { line, ...this.#tools.lineError(outcome.error, line) }
      if (outcome.is === 'created') return 'created'
      // An erasure leaves no fingerprint.
      if (outcome.is === 'claimed' && ['', item.plan.claim?.fingerprint].includes(outcome.fingerprint))
        return 'existing'
      return { line, ...this.#refusal(item.plan, outcome, line) }
    })
  }

  /** The error that a single creation is answered with. */
  #refusal({ key, claim }: Create, outcome: Outcome, line: number): Readonly<Record<string, unknown>> {
    try {
      const { status } = this.#route.importing.render({ ...this.#intent, key, claim }, outcome)
      throw new Error(`A line of an import was answered with ${status}.`)
    } catch (error) {
      return this.#tools.lineError(error, line)
    }
  }

  /** Stores that all content was read, and whether it ends with a mistake, which a repeat then does not count again. */
  async #finish(): Promise<Outcome> {
    const [fault, line] = [this.#tools.reader.end(), this.#last]
    if (fault) this.#progress = advanced(this.#progress, [{ line, ...this.#tools.lineError(fault, line) }])
    const { created, existing, failed } = this.#progress
    if (created + existing + failed === 0) throw emptyImport()
    if (created + existing === 0) throw allRefused(reportOf(this.#progress))
    if (this.#intent.claim)
      await this.#step({ line: this.#last, digest: this.#digest.text() }, [], () => [], { ended: true })
    return { is: 'answered', doc: JSON.stringify(reportOf(this.#progress)), revision: 0 }
  }
}

const isNewItem = (item: Row['item']): item is NewItem => 'plan' in item

const replayed = (prior: PriorClaim, progress: ImportProgress): PriorClaim => ({
  ...prior,
  answer: { doc: JSON.stringify(reportOf(progress)), revision: 0 },
})
