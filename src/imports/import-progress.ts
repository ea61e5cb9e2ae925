/** Import progress: how far an import has come, which is stored with its idempotency key, and its report. R238. */
import { Detour } from '../errors/detour.ts'
import type { Caller } from '../flow/caller.ts'
import type { Outcome, PriorClaim, SeveralOutcomes } from '../flow/outcome.ts'
import { type Claim, type Create, type Sequence, type SequenceRun, withCaller } from '../flow/plan.ts'
import { type TableOperation, tablePlan } from '../flow/table.ts'
import { claimTable } from '../ledgers/idempotency-claims.ts'
import { importInProgress } from './import-problems.ts'

/** A refused line, with the members of an error. */
export type LineError = { readonly line: number } & Readonly<Record<string, unknown>>

export interface LineReport {
  readonly created: number
  readonly existing: number
  readonly failed: number
  /** The first refused lines. */
  readonly errors: readonly LineError[]
}

export interface ImportProgress extends LineReport {
  /** The last line that is done. */
  readonly line: number
  /** A digest of all lines up to that one. */
  readonly digest: string
  /** Whether the content ended with it. */
  readonly ended: boolean
  /** The scopes of the first caller that fields need for writes; missing if an earlier release stored the progress. */
  readonly scopes?: readonly string[]
}

export const noProgress: ImportProgress = {
  ...{ line: 0, digest: '', ended: false, scopes: [] },
  ...{ created: 0, existing: 0, failed: 0, errors: [] },
}

const mostErrors = 50

/** The result of a line. */
export type LineResult = 'created' | 'existing' | LineError

export function advanced(before: ImportProgress, results: readonly LineResult[]): ImportProgress {
  const count = (wanted: LineResult) => results.filter((one) => one === wanted).length
  const errors = results.filter((one) => typeof one === 'object')
  return {
    ...before,
    created: before.created + count('created'),
    existing: before.existing + count('existing'),
    failed: before.failed + errors.length,
    errors: errors.length === 0 ? before.errors : [...before.errors, ...errors].slice(0, mostErrors),
  }
}

export const reportOf = ({ created, existing, failed, errors }: LineReport): LineReport => ({
  ...{ created, existing, failed, errors },
})

/**
 * The progress that is stored with a key; null if the key was used for another request, or if its first caller had a scope that this
 * one lacks, who could otherwise guess the values of fields that it does not see. Scopes that only a newer declaration names do not
 * count, so that an import goes on after an upgrade.
 */
export function storedProgress(
  { answer, fingerprint }: PriorClaim,
  claim: Claim,
  { scopes }: Pick<Caller, 'scopes'>,
): ImportProgress | null {
  if (fingerprint !== claim.fingerprint || answer === null) return null
  const progress: ImportProgress = JSON.parse(answer.doc)
  return (progress.scopes ?? []).every((one) => scopes.has(one)) ? progress : null
}

const table = claimTable
/** Only the run that stored the last progress may store the next one. */
const proceed: TableOperation = {
  do: 'set',
  table,
  where: { hash: 'hash', answer: 'before' },
  to: { answer: 'after', time: 'time' },
}
/** An answer as it is stored with a key. */
const storedText = (progress: ImportProgress): string => JSON.stringify({ doc: JSON.stringify(progress), revision: 0 })

interface Step {
  readonly collection: string
  readonly claim: Claim | null
  /** The time from which on the key is kept. */
  readonly time: number
  /** The caller, for the history. */
  readonly by: { readonly id: string } | null
  /** The progress that is stored with the key; null if none is yet. */
  readonly stored: ImportProgress | null
  readonly plans: readonly Create[]
  /** Whether a row was refused in the first try, so that rows are created apart. */
  readonly apart: boolean
  /** The progress after the rows are created. */
  readonly after: (outcomes: SeveralOutcomes['outcomes']) => ImportProgress
}

/** Thrown if the transaction cannot be committed because of one of its rows. */
export class RowsRefused extends Detour {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super(`A row of an import was refused: ${outcome.is}.`)
    this.outcome = outcome
  }
}

/** Thrown if no line so far has an item: then no key is used. */
export class NothingCreated extends Detour {
  readonly progress: ImportProgress

  constructor(progress: ImportProgress) {
    super('No line of an import has an item so far.')
    this.progress = progress
  }
}

/** Creates rows, and stores the progress with the key of the import, in one transaction. Its answer is the progress. */
export function importStep({ collection, claim, time, by, stored, plans, apart, after }: Step): Sequence {
  const key = { id: '', parent: null, account: null }
  const begin = (): SequenceRun => {
    let progress: ImportProgress | null = null
    let place = 0
    return {
      next: (before) => {
        place++
        if (place === 1) return { do: 'creations', plans, apart }
        if (place === 2) {
          if (before?.is !== 'several') throw new RowsRefused(before as Outcome)
          progress = after((before as SeveralOutcomes).outcomes)
          if (progress.created + progress.existing === 0) throw new NothingCreated(progress)
          if (claim === null || stored === null) return null
          return tablePlan(proceed, { hash: claim.hash, before: storedText(stored), after: storedText(progress), time })
        }
        if ((before as { readonly rows?: readonly unknown[] }).rows?.length !== 1) throw importInProgress()
        return null
      },
      answer: () => JSON.stringify(progress),
    }
  }
  const plan: Sequence = { do: 'sequence', collection, key, claim: stored === null ? claim : null, begin }
  return by === null ? plan : (withCaller(plan, by) as Sequence)
}
