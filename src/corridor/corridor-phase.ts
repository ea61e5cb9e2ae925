/** Corridor phase: the facts about a phase that the listing, the description and `explain` read. R1. */
import type { DescribedCorridor } from '../describe/refusals.ts'
import type { Caller } from '../flow/caller.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { Reply } from '../flow/reply.ts'
import type { Route } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import type { ServiceWorld } from '../flow/world.ts'
import type { Service } from '../service.ts'

/** A request that is explained instead of carried out. */
export interface ExplanationInput {
  readonly service: Service
  readonly store: Store
  readonly world: ServiceWorld
  readonly target: string
  /** Null without credentials. */
  readonly caller: Caller | null
  /** Why the credential is invalid; null if it is valid or missing. */
  readonly invalid: string | null
  readonly route: Route
  readonly request: RequestContext
}

/** One line of an explanation. */
interface ExplainedCheck {
  readonly step: string
  /** Whether it only informs and refuses nothing. */
  readonly informs?: true
  /**
   * Returns what it found, or null if it does not concern the request; throws the Problem of a refusal. A noted text
   * replaces the message of the refusal.
   */
  readonly check: (explained: ExplanationInput, note: (says: string) => void) => string | null | Promise<string | null>
}

type DescribedPhase = DescribedCorridor['phases'][number]

export interface CorridorPhase extends DescribedPhase {
  /** The parts of a request that it needs, and the one that it adds. */
  readonly needs?: readonly string[]
  readonly gives: string | null
  /** Whether it is skipped once there is an answer. */
  readonly answers?: true
  readonly pass: (state: never) => unknown
  readonly explains?: readonly ExplainedCheck[]
  /** Adds headers to every reply, including refusals of any phase. */
  readonly completes?: Completion
}

/** A phase as it runs. */
export interface PhaseStep {
  readonly name: string
  readonly pass: (state: never) => unknown
  /** Adds the part that the phase returned to the request; null if it adds no part. */
  readonly add: ((state: never, part: never) => void) | null
  readonly answers: boolean
}

export type Completion = (reply: Reply, state: never) => void

export interface Corridor {
  readonly phases: readonly CorridorPhase[]
  readonly steps: readonly PhaseStep[]
  /** The functions that add headers to every reply, that of the last phase first. */
  readonly completions: readonly Completion[]
}
