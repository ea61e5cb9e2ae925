/** Phase: one step of the corridor. It refuses, replies, or adds one part to the request. R1. */

import type { Problem } from '../errors/problem.ts'
import type { Call, CarriedVersion } from '../flow/call.ts'
import type { Caller } from '../flow/caller.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Reply } from '../flow/reply.ts'
import type { Endpoint, Route, ServedVersion } from '../flow/route.ts'
import type { ListedRows } from '../flow/store.ts'
import { elapsedSince } from '../flow/world.ts'
import type { AnswerMemory, AnswerSpace } from '../limits/answer-memory.ts'
import type { QuotaStatus } from '../limits/quota.ts'
import type { RouteMatch } from '../routing/locate.ts'
import type { Completion, Corridor, CorridorPhase, PhaseStep } from './corridor-phase.ts'
import type { ServerContext } from './server-context.ts'

/** The version that serves a call, and the path without the version. */
export interface VersionedPath {
  readonly version: ServedVersion
  readonly carried: CarriedVersion
  readonly path: string
}

export interface IdentifiedCaller {
  readonly caller: Caller
  /** The refusal if authentication failed; the caller is anonymous then, and its address is charged. */
  readonly problem?: Problem
}

/** A list answer with its query, and its body in each coding that was sent. */
export interface CachedAnswer {
  readonly query: RequestContext['query']
  readonly reply: Reply
  readonly encoded: Map<string, Buffer>
  /** Whether it was requested again in the same state. */
  repeated: boolean
  /** The collection that it lists, if it was read from that alone. */
  readonly collection: string | null
  /** The columns and rows that it was read from, set at the first comparison; null if only the state of the collection can be compared. */
  listed?: ListedRows | null
}

export interface CacheLookup {
  /** Identifies the request with its caller and its version. */
  readonly key: string
  /** The state of the collections that a list is read from; null if the answer must not be cached. */
  readonly mark: string | null
  /** The collection of a list that is read from no other. */
  readonly collection: string | null
  /** The query of the last answer to the same request. */
  readonly query: RequestContext['query']
  /** That answer, if it is still valid. */
  readonly cached: CachedAnswer | null
}

/** The parts of a request; each is added by one phase. */
export interface RequestParts {
  readonly versioned: VersionedPath
  readonly match: RouteMatch
  readonly route: Route
  readonly identified: IdentifiedCaller
  readonly rate: QuotaStatus | null
  readonly lookup: CacheLookup
  readonly query: RequestContext['query']
  readonly intent: Intent
  readonly outcome: Outcome
  /** The answer before preconditions and compression. */
  readonly answer: Reply
}

export type PartName = keyof RequestParts

/** The slots and the memory that a request holds until its answer has been sent. */
export interface Admission {
  /** `leave` releases its slot among all requests, `finish` that among the requests of its caller. */
  leave: () => void
  finish: () => void
  readonly memory: AnswerMemory
  /** The memory of its answer. */
  space: AnswerSpace | null
}

/** A request on its way through the corridor. */
export type RequestState = { -readonly [Name in PartName]: RequestParts[Name] | null } & {
  /** Its target is without the base path once that has been checked. */
  call: Call
  readonly context: ServerContext
  readonly corridor: Corridor
  readonly admission: Admission
  /** The reply; once it is set, later phases are skipped. */
  reply: Reply | null
  /** The route or place whose notices the reply carries. */
  noticed: Route | Endpoint | null
  /** How long each phase took; null if `serverTiming` is off. */
  readonly timing: string[] | null
}

export interface Phase<Needs extends PartName, Gives extends PartName> extends CorridorPhase {
  readonly needs?: readonly Needs[]
  readonly gives: Gives | null
  readonly completes?: (reply: Reply, state: RequestState) => void
}

type RequestWith<Needs extends PartName> = RequestState & Pick<RequestParts, Needs>

/** A phase that adds a part to the request. */
export const phase = <const Needs extends PartName = never, const Gives extends PartName = never>(
  own: Phase<Needs, Gives> & {
    readonly gives: Gives
    readonly pass: (state: RequestWith<Needs>) => RequestParts[Gives] | null | Promise<RequestParts[Gives] | null>
  },
): Phase<Needs, Gives> => own

/** A phase that refuses, replies or counts, and adds no part. */
export const check = <const Needs extends PartName = never>(
  own: Omit<Phase<Needs, never>, 'gives' | 'pass'> & { readonly pass: (state: RequestWith<Needs>) => unknown },
): Phase<Needs, never> => ({ ...own, gives: null })

/** Checks the order of phases: a phase that needs a part which no earlier phase adds does not compile. */
type Ordered<Phases, Given extends PartName = never> = Phases extends readonly [infer First, ...infer Rest]
  ? First extends Phase<infer Needs, infer Gives>
    ? [Exclude<Needs, Given>] extends [never]
      ? [First, ...Ordered<Rest, Given | Gives>]
      : [{ readonly missing: Exclude<Needs, Given> }, ...Rest]
    : never
  : Phases

/** Prepares the phases. All steps are objects of one shape, which the engine reads fastest. */
export const corridorOf = <const Phases extends readonly CorridorPhase[]>(
  ...phases: Phases & Ordered<Phases>
): Corridor => ({
  phases,
  steps: phases.map(({ name, gives, answers, pass }) => ({
    name,
    pass: pass as PhaseStep['pass'],
    add: gives === null ? null : setters[gives as PartName],
    answers: answers ?? false,
  })),
  completions: phases.flatMap(({ completes }) => (completes ? [completes as Completion] : [])).toReversed(),
})

/** One setter for each part: an assignment by a computed name is several times slower. */
const setters: { readonly [Name in PartName]: (state: RequestState, part: never) => void } = {
  versioned: (state, part) => {
    state.versioned = part
  },
  match: (state, part) => {
    state.match = part
  },
  route: (state, part) => {
    state.route = part
  },
  identified: (state, part) => {
    state.identified = part
  },
  rate: (state, part) => {
    state.rate = part
  },
  lookup: (state, part) => {
    state.lookup = part
  },
  query: (state, part) => {
    state.query = part
  },
  intent: (state, part) => {
    state.intent = part
  },
  outcome: (state, part) => {
    state.outcome = part
  },
  answer: (state, part) => {
    state.answer = part
  },
}

/** Runs phases until one of them has a reply. */
export async function runPhases(state: RequestState, steps: readonly PhaseStep[]): Promise<void> {
  const { timing, context } = state
  let started = timing && context.world.monotonic()
  for (let i = 0; state.reply === null && i < steps.length; i++) {
    const { name, add, answers, pass } = steps[i] as PhaseStep
    if (answers && state.answer !== null) continue
    const result = pass(state as never)
    const part = result instanceof Promise ? await result : result
    if (add !== null) add(state as never, part as never)
    if (timing && started !== null) {
      timing.push(`${name};dur=${elapsedSince(context.world, started)}`)
      started = context.world.monotonic()
    }
  }
}
