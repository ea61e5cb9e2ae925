/** Effects: performs a write with the changes of other rows that follow from it; all are committed, or none. The store. */

import { preparedCollection, type StoreContext } from '../catalog/context.ts'
import { readWaiting, waitingIn } from '../catalog/old-nodes.ts'
import { rowConflict, type Steps, withoutAutocommit } from '../catalog/steps.ts'
import { performTablePlan } from '../catalog/table-plans.ts'
import type { ReadResult } from '../flow/found-row.ts'
import { isCommitted, type Outcome, type WrittenRow } from '../flow/outcome.ts'
import type { Consequences, Effect, EffectReadResult, ListCheck, RowChange, RowWrite } from '../flow/plan.ts'
import { tombstoneId } from '../sql/statements.ts'
import { hasEventRows, recordEventRows } from './joined.ts'
import { lockLists, performListCheck } from './list-checks.ts'
import { readFamily } from './read-family.ts'
import { lockPresentRows, readRow } from './read-row.ts'
import { writeRow } from './write-row.ts'

/** The last state of the rows that a write and its effects wrote, by name. */
type LastStates = Map<string, WrittenRow>

/** The state that a write and its effects share. */
interface EffectRun {
  readonly last: LastStates
  /** Changes that are joined into one for each row, as a total may follow from several rows. They are performed last. */
  readonly joined: Map<string, { readonly effect: RowChange; readonly locked: ReadResult | undefined }>
}

const newCourse = (): EffectRun => ({ last: new Map(), joined: new Map() })

/**
 * With `held`, the rows that effects are decided from are locked when they are read. The outcome has the last state of the
 * row, as an effect may change the row that was written.
 */
export function* writeWithEffects(
  callerContext: StoreContext,
  proposed: RowWrite,
  current: ReadResult | null,
  held: boolean,
  outer: EffectRun | null = null,
): Steps<Outcome> {
  let plan = proposed
  const context = ofService(callerContext)
  const effects = [...(proposed.effects ?? [])]
  while (plan.consequences) {
    const decided: RowWrite = yield* decideConsequences(context, plan.consequences, held)
    effects.push(...(decided.effects ?? []))
    plan = decided
  }
  if (effects.length === 0) {
    const write = writeRow(callerContext, plan, current)
    const hasRows = hasEventRows(context, plan, current)
    const outcome = yield* hasRows ? withoutAutocommit(write) : write
    if (hasRows) yield* recordEventRows(context, plan, current, outcome)
    if (outer) noteState(context, plan, outcome, outer.last)
    return outcome.is === 'removed' ? yield* followRemoved(context, outcome, outer) : outcome
  }
  const course = outer ?? newCourse()
  const { last } = course
  const rows = yield* lockRows(context, plan, effects)
  for (const one of effects.filter(isListCheck)) yield* performListCheck(context, one) // before the write changes it
  const outcome = yield* withoutAutocommit(writeRow(callerContext, plan, current))
  if (!isCommitted(outcome)) return outcome
  noteState(context, plan, outcome, last)
  if (plan.do === 'remove') rows.clear()
  else if (plan.do !== 'keep') rows.delete(rowName(context, plan))
  const refusal = yield* performEffects(context, effects, rows, outer, course)
  yield* recordEventRows(context, plan, current, outcome) // with the state of these rows after the effects
  return refusal ?? (yield* followRemoved(context, lastState(context, plan, outcome, last), outer))
}

/** The service itself carries out effects, also on rows that do not exist for the caller. */
const ofService = (context: StoreContext): StoreContext =>
  context.rights ? { ...context, rights: undefined } : context

function noteState(context: StoreContext, plan: RowWrite, outcome: Outcome, last: LastStates): void {
  if (plan.do !== 'keep' && (outcome.is === 'created' || outcome.is === 'changed'))
    last.set(rowName(context, plan), outcome)
}

function lastState(context: StoreContext, plan: RowWrite, outcome: Outcome, last: LastStates): Outcome {
  if (plan.do === 'keep' || (outcome.is !== 'created' && outcome.is !== 'changed')) return outcome
  return { ...outcome, ...last.get(rowName(context, plan)), is: outcome.is }
}

const keep: RowWrite = { do: 'keep' }
const nothingWaits: EffectReadResult = { is: 'waiting', parts: null }

/** Decides consequences; the guards make the write fail if a row that they were decided from has changed by then. */
function* decideConsequences(
  context: StoreContext,
  { reads, decide }: Consequences,
  held: boolean,
): Steps<RowWrite & { readonly effects: readonly Effect[] }> {
  const guards: RowChange[] = []
  const results: EffectReadResult[] = []
  for (const read of reads) {
    if (read.do === 'family') {
      results.push(yield* readFamily(context, read))
      continue
    }
    if (read.do === 'waiting') {
      const waits = waitingIn(context, read.collection) !== null
      results.push(waits ? { is: 'waiting', parts: yield* readWaiting(context, read.collection) } : nothingWaits)
      continue
    }
    if (read.do === 'table') {
      results.push(yield* performTablePlan(context, read))
      continue
    }
    const row = yield* readRow(context, read, held)
    results.push(row)
    if (read.lock) continue
    const { collection, key, time } = read
    guards.push({ collection, key, time, expectedRevision: row.revision, change: () => keep })
  }
  const plan = decide(results)
  return { ...plan, effects: [...guards, ...(plan.effects ?? [])] }
}

/** Performs the consequences of rows that a cascade removed. */
function* followRemoved(context: StoreContext, outcome: Outcome, outer: EffectRun | null): Steps<Outcome> {
  if (outcome.is !== 'removed' || !outcome.consequences) return outcome
  const course = outer ?? newCourse()
  const effects: Effect[] = []
  for (const one of outcome.consequences) effects.push(...(yield* decideConsequences(context, one, true)).effects)
  const rows = yield* lockRows(context, keep, effects)
  return (yield* performEffects(context, effects, rows, outer, course)) ?? { is: 'removed' }
}

/** Performs effects one after the other, on rows that were read; the refusal of one refuses all. */
function* performEffects(
  context: StoreContext,
  effects: readonly Effect[],
  rows: Map<string, ReadResult>,
  outer: EffectRun | null,
  course: EffectRun,
): Steps<Outcome | null> {
  for (const effect of effects) {
    if (!isRowChange(effect)) {
      if (effect.do === 'table') yield* performTablePlan(context, effect)
      continue
    }
    if (effect.joins) {
      joinChange(effect, rowName(context, effect), rows, course)
      continue
    }
    const refusal = yield* performChange(context, effect, rows, course)
    if (refusal) return refusal
  }
  return outer ? null : yield* performJoined(context, course)
}

function joinChange(effect: RowChange, name: string, rows: Map<string, ReadResult>, { joined }: EffectRun): void {
  const earlier = joined.get(name)
  const acts = [...(earlier?.effect.joins?.acts ?? []), ...(effect.joins?.acts ?? [])]
  const all = earlier && effect.joins ? { ...earlier.effect, ...effect, ...effect.joins.change(acts) } : effect
  joined.set(name, { effect: all, locked: earlier?.locked ?? rows.get(name) })
}

/** Performs the joined changes and their own effects, as totals of totals. */
function* performJoined(context: StoreContext, course: EffectRun): Steps<Outcome | null> {
  for (let [next] = course.joined; next; [next] = course.joined) {
    const [name, { effect, locked }] = next
    course.joined.delete(name)
    const rows = new Map(locked ? [[name, locked] as const] : [])
    const refusal = yield* performChange(context, effect, rows, course)
    if (refusal) return refusal
  }
  return null
}

/** Performs a change, on the row as it was locked if it has not been written since; returns its refusal. */
function* performChange(
  context: StoreContext,
  effect: RowChange,
  rows: Map<string, ReadResult>,
  course: EffectRun,
): Steps<Outcome | null> {
  const name = rowName(context, effect)
  const [locked, written] = [rows.get(name), course.last.get(name)]
  // An earlier effect may have written the row, as when a new child changes the total of its parent.
  const isCurrent = locked && (written === undefined || written.revision === locked.revision)
  const current = isCurrent ? locked : yield* readRow(context, effect, true)
  const before = locked ?? current
  const { collection, expectedRevision = before.revision } = effect
  if (expectedRevision !== before.revision) throw rowConflict(collection)
  const write = effect.change(current, before)
  if (write.do !== 'keep' || write.consequences) rows.delete(name) // the next effect on the row has to read it again
  const outcome = yield* withoutAutocommit(writeWithEffects(context, write, current, true, course))
  if (outcome.is === 'duplicate' || outcome.is === 'unmet') return { collection, ...outcome }
  return isCommitted(outcome) ? null : outcome
}

/** Reads and locks the rows that are written: owners before their children, then in order, so that two writes cannot deadlock. */
function* lockRows(context: StoreContext, plan: RowWrite, effects: readonly Effect[]): Steps<Map<string, ReadResult>> {
  const own = plan.do === 'update' || plan.do === 'remove' ? [plan] : []
  const place = (row: LockedRow) =>
    `${ownersOf(context, row.collection)} ${rowName(context, row)} ${isOnlyChecked(row) ? 1 : 0}`
  yield* lockLists(context, effects.filter(isListCheck))
  const ordered: LockedRow[] = [...own, ...effects.filter(isRowChange)].sort((a, b) => (place(a) < place(b) ? -1 : 1))
  if (ordered.at(-1) === plan) ordered.pop() // the write itself locks it next
  const rows = new Map<string, ReadResult>()
  for (const group of groupsOf(ordered)) {
    yield* lockTogether(context, group, rows)
    for (const row of group) {
      const name = rowName(context, row)
      const locked = rows.get(name) ?? (yield* readRow(context, row, !isOnlyChecked(row)))
      rows.set(name, locked)
      row.admit?.(locked)
    }
  }
  return rows
}

/** Rows that follow each other and have the same collection, account and lock. */
function groupsOf(ordered: readonly LockedRow[]): LockedRow[][] {
  const groups: LockedRow[][] = []
  for (const row of ordered) {
    const last = groups.at(-1)
    if (last?.[0] && isLockedAlike(last[0], row)) last.push(row)
    else groups.push([row])
  }
  return groups
}

const isLockedAlike = (one: LockedRow, other: LockedRow): boolean =>
  one.collection === other.collection &&
  one.key.account === other.key.account &&
  isOnlyChecked(one) === isOnlyChecked(other)

/**
 * Locks the rows of a group by one statement, where that saves round trips; absent ones and those of collections whose ids are
 * unique only within their owner are left to the caller.
 */
function* lockTogether(context: StoreContext, group: readonly LockedRow[], rows: Map<string, ReadResult>): Steps<void> {
  const fresh = group.filter((row) => !rows.has(rowName(context, row)))
  const ids = [...new Set(fresh.map(({ key }) => key.id))]
  const [first] = fresh
  if (!context.dialect.combines || !first || ids.length < 2) return
  const { collection, key } = first
  if (preparedCollection(context, collection).collection.composite) return
  const lock = isOnlyChecked(first) ? 'share' : 'update'
  const present = yield* lockPresentRows(context, { collection, account: key.account, ids, lock })
  for (const row of fresh) {
    const locked = present.get(row.key.id)
    if (locked) rows.set(rowName(context, row), locked)
  }
}

const isRowChange = (effect: Effect): effect is RowChange => !('do' in effect)
const isListCheck = (effect: Effect): effect is ListCheck => 'do' in effect && effect.do === 'check'
const isOnlyChecked = ({ lock }: LockedRow): boolean => lock === 'share'

type RowOfChange = Pick<RowChange, 'collection' | 'key'>
type LockedRow = Pick<RowChange, 'collection' | 'key' | 'time' | 'lock' | 'admit'>

const rowName = (context: StoreContext, { collection, key }: RowOfChange): string =>
  `${collection}/${tombstoneId(preparedCollection(context, collection).collection, key)}`

/** How many levels of owners a collection has. */
function ownersOf(context: StoreContext, name: string): number {
  const { parent } = preparedCollection(context, name).collection
  return parent === null ? 0 : 1 + ownersOf(context, parent.collection)
}
