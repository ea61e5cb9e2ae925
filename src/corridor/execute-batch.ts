/** Execute batch: carries out the members of a batch in one transaction, each as if it came alone. Part 4, methods. R229. */
import { allow, allowAccount } from '../auth/allow.ts'
import { missingCredentials, refuseCredentialsInBody } from '../auth/credentials.ts'
import { type BatchMember, readBatchMembers, refusalOfMember, resolveMember } from '../endpoints/batch-body.ts'
import { Problem } from '../errors/problem.ts'
import { nobody } from '../flow/caller.ts'
import type { Document, Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import { isWritePlan, type Plan, type Sequence, type SequenceRun, withCaller, withRights } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route, ServedVersion } from '../flow/route.ts'
import { executeDecided } from '../handlers/execute-decided.ts'
import { HandledRun } from '../handlers/handled-run.ts'
import type { HandlerSources } from '../handlers/handler-sources.ts'
import { executeInTurn } from '../idempotency/execute-in-turn.ts'
import { admitQuota, spendQuota } from '../limits/quota.ts'
import { locate } from '../routing/locate.ts'
import { methodNotAllowed } from '../routing/options.ts'
import { rowRightsOf } from '../rules/row-rights.ts'
import { targetChecks } from './intent-phases.ts'
import type { RequestParts, RequestState } from './phase.ts'
import { misfitInVersion } from './refuse.ts'
import { removeValidators } from './reply-headers.ts'
import { pointedNamesOf } from './versioned-path.ts'

type BatchState = Pick<RequestState, 'context' | 'rate'> &
  Pick<RequestParts, 'versioned' | 'route' | 'intent' | 'identified'>

/** Counts each member, then carries out all of them. */
export async function executeBatch(state: RequestState & BatchState, most: number, dryRun: boolean): Promise<Outcome> {
  const { context, intent, identified, route } = state
  const members = readBatchMembers(intent.body as Document, most)
  for (let i = 1; i < members.length; i++) {
    state.rate = await spendQuota(context, intent.call, identified.caller)
    admitQuota(state.rate)
  }
  const batch = new Batch(state, members, dryRun)
  const { world } = context
  const run = { execute: (plan: Plan) => batch.execute(plan as Sequence) }
  try {
    return await executeInTurn(batch.plan(), { store: run, world }, route.resource.settings.idempotency)
  } catch (problem) {
    throw batch.refusal(problem)
  }
}

/** The cache groups of the members of a batch. R147. */
export const groupsOfBatch = (version: ServedVersion, body: Intent['body'], most: number): readonly string[] =>
  readBatchMembers(body as Document, most).flatMap(({ path }) => {
    const [route] = locate(version.tree, path)?.endpoint.methods.values() ?? []
    return route?.resource.settings.cache.groups ? [route.resource.name] : []
  })

/** A member with its references resolved: its route, and its intent. */
interface ReadMember {
  readonly resolved: string
  readonly route: Route
  readonly intent: Intent
}

class Batch {
  readonly #state: BatchState
  readonly #members: readonly BatchMember[]
  readonly #dryRun: boolean
  readonly #read: ReadMember[] = []
  /** The handlers of each member; empty without handlers. */
  readonly #runs: readonly HandledRun[]
  /** The member that is being carried out, or was the last one. */
  #current = 0
  /** Whether mistakes that are thrown now concern the body of that member. */
  #inBody = false

  constructor(state: BatchState, members: readonly BatchMember[], dryRun: boolean) {
    this.#state = state
    this.#members = members
    this.#dryRun = dryRun
    const { handlers } = state.context
    this.#runs = handlers ? members.map((_, index) => this.#runOf(index, handlers)) : []
  }

  plan(): Sequence {
    const { intent, context } = this.#state
    const { name: collection } = this.#firstResource()
    const begin = () =>
      this.#begin(this.#members.length, (at) => {
        this.#current = at
      })
    const { key, claim, carried } = intent
    const version = carried.label
    const plan: Sequence = {
      do: 'sequence',
      batch: true,
      collection,
      key,
      claim,
      version,
      begin,
      ...(this.#dryRun && { dry: true }),
    }
    return context.service.keepsHistory ? (withCaller(plan, intent.caller) as Sequence) : plan
  }

  /** Runs handlers outside of the transaction, as often as they have to decide. */
  async execute(plan: Sequence): Promise<Outcome> {
    const { handlers, store } = this.#state.context
    const outcome = handlers
      ? await executeDecided(this.#runs, handlers, plan, () => this.plan())
      : await store.execute(plan)
    // The database has refused the last member, as by a value that is in use.
    if (outcome.is !== 'answered' && outcome.is !== 'claimed') this.#render(this.#current, outcome)
    return outcome
  }

  refusal(error: unknown): unknown {
    const named = misfitInVersion(error, this.#state.versioned.version)
    return named instanceof Problem ? refusalOfMember(named, this.#current, this.#inBody) : named
  }

  #firstResource() {
    const [first] = this.#state.context.service.resources.values()
    if (!first) throw new Error('A service without resources has no batches.')
    return first
  }

  /** The handlers of a member, which read what the members before it have written. */
  #runOf(index: number, handlers: HandlerSources): HandledRun {
    const { identified, intent, context } = this.#state
    const { caller } = identified
    const execute = (plan: Plan) =>
      isWritePlan(plan) ? context.store.execute(plan) : context.store.execute(this.#readingPlan(index, plan))
    const { stateProblem } = this.#state.versioned.version
    const namesOf = (field: string) => {
      const route = this.#read[index]?.route
      return route ? pointedNamesOf(this.#state.versioned.version, route)(field) : [field]
    }
    const sources = { ...handlers, store: { ...handlers.store, execute }, exclusive: true } as const
    return new HandledRun(sources, {
      ...{ caller, account: caller.account, requestId: intent.call.id, namesOf, stateProblem, dryRun: this.#dryRun },
    })
  }

  /** Carries out the first members, reads, and rolls back. */
  #readingPlan(index: number, read: Plan): Sequence {
    const begin = (): SequenceRun => {
      const before = this.#begin(index, () => {})
      let isRead = false
      const next: SequenceRun['next'] = (outcome) => {
        if (isRead) return null
        const own = before.next(outcome)
        isRead = own === null
        return own ?? read
      }
      return { next, answer: () => null }
    }
    const { name: collection } = this.#firstResource()
    return { do: 'sequence', batch: true, collection, key: this.#state.intent.key, claim: null, begin, dry: true }
  }

  /** Carries out the first `count` members; calls `reach` with the index of each before its plan is made. */
  #begin(count: number, reach: (at: number) => void): SequenceRun {
    const bodies = new Map<string, unknown>()
    const results: object[] = []
    let at = -1
    let refusal: Generator<Plan, never, Outcome | null> | null = null
    return {
      next: (outcome) => {
        if (refusal) return refusal.next(outcome as Outcome).value
        if (at >= 0 && outcome) {
          const { as } = this.#members[at] as BatchMember
          const { status, headers, body } = this.#render(at, outcome as Outcome)
          if (this.#dryRun) removeValidators(headers)
          const parsed: unknown = body === null || body === '' ? null : JSON.parse(body.toString())
          bodies.set(as, parsed)
          results.push({ id: as, status, headers, body: parsed })
        }
        at++
        if (at >= count) return null
        reach(at)
        const plan = this.#planOf(at, bodies)
        if ('do' in plan) return plan
        refusal = plan
        return refusal.next(null).value
      },
      answer: () => JSON.stringify({ data: results }),
    }
  }

  #render(at: number, outcome: Outcome): Reply {
    const { route, intent } = this.#read[at] as ReadMember
    const { secret: _, ...publicIntent } = intent // the answer is kept with the key of the batch
    return route.render(publicIntent, outcome)
  }

  /**
   * The plan of a member, or the plans that lead to its refusal. Its intent is made once for the same references, so that new ids and
   * times stay the same.
   */
  #planOf(index: number, bodies: ReadonlyMap<string, unknown>): Plan | Generator<Plan, never, Outcome | null> {
    this.#inBody = false
    const member = this.#members[index] as BatchMember
    const { path, body } = resolveMember(member, bodies)
    const resolved = JSON.stringify([path, body])
    if (this.#read[index]?.resolved !== resolved) {
      const read = this.#readMember(member, path, body)
      if (!('route' in read)) return read
      this.#read[index] = { resolved, ...read }
    }
    this.#inBody = true
    const { route, intent } = this.#read[index] as ReadMember
    const decisions = this.#runs[index]
    const { context, versioned } = this.#state
    const rights = rowRightsOf(context.service.ruled, versioned.version, route, intent.caller)
    return withRights(route.plan(decisions ? { ...intent, decisions } : intent), rights)
  }

  /** The route of a member that its caller may use. */
  #routeOf(method: string, path: string): { readonly route: Route; readonly params: readonly string[] } {
    const { context, versioned, identified } = this.#state
    const { caller } = identified
    const match = locate(versioned.version.tree, path)
    if (!match) throw new Problem('route-not-found', `There is no path ${path} in this version.`)
    const route = match.endpoint.methods.get(method)
    if (!route)
      throw methodNotAllowed(method, match.endpoint, locate(versioned.version.tree, versioned.path)?.endpoint.allow)
    if (route.most !== undefined || route.settle || route.importing || route.upload || route.answersContent)
      throw new Problem(
        'invalid-request',
        'A batch cannot contain batches, imports, asynchronous operations and contents of files.',
      )
    const { challenge, settings } = context.service
    if (route.rule !== 'public' && caller.id === nobody.id) throw missingCredentials(challenge, settings.auth)
    allow(caller, route.rule, challenge)
    allowAccount(caller, route.resource)
    return { route, params: match.params }
  }

  /** The checks of a request, from its path to its body; if its body is refused, the plans that lead to its refusal. R1. */
  #readMember(
    { method, headers }: BatchMember,
    path: string,
    body: Document | null,
  ): Omit<ReadMember, 'resolved'> | Generator<Plan, never, Outcome | null> {
    const { versioned, identified, intent: own } = this.#state
    const { route, params } = this.#routeOf(method, path)
    if (route.content.length === 0 && body !== null)
      throw new Problem('unexpected-body', `${method} accepts no content here; leave the body out.`)
    const time = own.time
    const call = {
      ...own.call,
      ...{ method, target: path, content: null, raw: headers.flat() },
      headers: { ...Object.fromEntries(headers), host: own.call.headers.host, 'content-type': 'application/json' },
    }
    const world = { ...own.world, now: () => time }
    this.#inBody = true
    const request: RequestContext = {
      ...{ call, caller: identified.caller, carried: versioned.carried, params, query: null, world },
      body: route.content.length === 0 ? null : (body ?? {}),
    }
    try {
      if (body === null && route.content.length > 0 && !route.contentOptional)
        throw new Problem('body-required', 'Content is required: send a JSON object as the body.')
      refuseCredentialsInBody(request, route)
      return { route, intent: route.parse(request) }
    } catch (problem) {
      return this.#refuseAfterTarget(request, route, problem)
    }
  }

  /** A missing target, failed preconditions and a used key are reported before mistakes of the body. R1, R99. */
  *#refuseAfterTarget(request: RequestContext, route: Route, problem: unknown): Generator<Plan, never, Outcome | null> {
    const { context, versioned } = this.#state
    yield* targetChecks(request, route, context.service, versioned.version)
    throw problem
  }
}
