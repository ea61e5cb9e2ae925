/** Run timers: moves rows that are due, in small batches, one node at a time for each row. R223. */
import { handledBy, type RowWriter } from '../effects/row-writer.ts'
import { isStoreFailure, Problem } from '../errors/problem.ts'
import { nobody } from '../flow/caller.ts'
import type { Decisions } from '../flow/decision.ts'
import type { FoundRow, RowKey } from '../flow/found-row.ts'
import { isCommitted, type Outcome, rowsIn } from '../flow/outcome.ts'
import type { Decide, EffectReadResult, RowWrite } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { tablePlan } from '../flow/table.ts'
import { notEnding, oneAtATime, type ServiceWorld } from '../flow/world.ts'
import { executeDecided } from '../handlers/execute-decided.ts'
import { HandledRun } from '../handlers/handled-run.ts'
import type { HandlerSources } from '../handlers/handler-sources.ts'
import { decodeDocument } from '../resources/document.ts'
import type { TimedTransition } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { makeActivity } from '../telemetry/activity.ts'
import { adoptTimers } from './adopt-timers.ts'
import { holdTimer, putOffTimer, stopTimer, type TimerRow, takeDueTimers } from './timer-table.ts'

export interface TimerContext {
  readonly resources: ReadonlyMap<string, Resource>
  readonly writer: RowWriter
  readonly store: Store
  readonly world: ServiceWorld
  readonly log: { readonly warn: (about: object, message: string) => void }
  /** The handlers of transitions; missing if the service has none. */
  readonly handlers?: HandlerSources | undefined
}

/** How long the lease of a batch lasts; if the node dies, others take the batch after that time. */
const leaseTime = 60_000
/** The shortest and the longest pause after a refusal, and after a failure of the store, such as a conflict with another write. */
const pauses = { refused: [60_000, 24 * 60 * 60 * 1000], failed: [1000, 60_000] } as const

export const hasTimers = (resources: ReadonlyMap<string, Resource>): boolean =>
  [...resources.values()].some(({ machine }) => machine !== null && machine.timed.length > 0)

/** The timers that this node has taken and not begun to carry out; after a failure of the database they stay here until the lease ends. */
const makeTaken = (): { timers: TimerRow[] } => ({ timers: [] })

/**
 * Carries out all transitions that are due; returns how many rows it moved. If it has to end early, other nodes may take the
 * rest at once.
 */
export async function runDueTimers(context: TimerContext, isEnding = notEnding): Promise<number> {
  if (await timersWait(context)) return 0
  await adoptTimers(context)
  const own = context.world.state.of(makeTaken, context.store)
  let moved = 0
  for (;;) {
    const now = context.world.due()
    own.timers = own.timers.filter(({ taken }) => taken >= now)
    if (own.timers.length === 0 && !isEnding()) {
      const taken = await context.store.execute(tablePlan(takeDueTimers, { now, until: now + leaseTime }))
      own.timers.push(...(rowsIn(taken) as unknown as readonly TimerRow[]))
    }
    if (own.timers.length === 0) return moved
    // Another run of this process may take timers from the same list.
    for (let timer = own.timers.shift(); timer; timer = own.timers.shift())
      try {
        if (isEnding()) await context.store.execute(tablePlan(putOffTimer, { ...timer, next: timer.due, none: 0 }))
        else if (await runTimer(context, timer)) moved++
      } catch (error) {
        own.timers.unshift(timer)
        throw error
      }
  }
}

/** Old nodes may still move rows without their timers, and delete timers that they do not know; they carry out their own. */
async function timersWait({ resources, store, world }: TimerContext): Promise<boolean> {
  const waiting = () => [...resources.values()].find(({ name }) => world.waiting(name)?.timers)
  const first = waiting()
  if (!first) return false
  await store.execute({ do: 'waiting', collection: first.name }) // looks again
  return waiting() !== undefined
}

/** Carries out one transition. If its handler refuses or fails, it is postponed, so that it does not delay others. */
async function runTimer(context: TimerContext, timer: TimerRow): Promise<boolean> {
  const { resources, store } = context
  const resource = [...resources.values()].find(({ collection }) => collection.name === timer.collection)
  const timed = resource?.machine?.timed.find(({ name }) => name === timer.transition)
  if (!resource || !timed) {
    await store.execute(tablePlan(stopTimer, { ...timer }))
    return false
  }
  const count = (result: string): void =>
    context.world.state.of(makeActivity, null).timers.add(resource.name, timed.name, result)
  try {
    const outcome = await executeTimer(context, resource, timed, timer)
    count(outcome.is)
    if (outcome.is === 'kept')
      await store.execute(tablePlan(stopTimer, { ...timer })) // the item has left the state
    else if (!isCommitted(outcome)) await putOff(context, timer, outcome.is, 'refused')
    return outcome.is === 'changed'
  } catch (error) {
    if (error === takenElsewhere) return false
    count('failed')
    if (!(error instanceof Problem)) {
      const { collection, id, transition } = timer
      context.log.warn({ err: error, collection, id, transition }, 'A transition by the clock failed.')
    }
    await putOff(
      context,
      timer,
      error instanceof Error ? error.message : String(error),
      isStoreFailure(error) ? 'failed' : 'refused',
    )
    return false
  }
}

/** Thrown if the timer was moved or has fired since it was taken. */
const takenElsewhere = new Error('The timer has fired already.')

/** Carries out the transition. Its handlers see the rows of the item's account. */
function executeTimer(
  { writer, world, store, handlers }: TimerContext,
  resource: Resource,
  timed: TimedTransition,
  timer: TimerRow,
): Outcome | Promise<Outcome> {
  const { id, parent, account } = timer
  const key: RowKey = { id, parent: parent || null, account: account || null }
  const move = { resource, timed, timer, key, time: world.now() }
  if (!handlers) return store.execute(timerPlan(writer, move))
  const decisions = new HandledRun(handlers, { caller: nobody, account: key.account })
  const makePlan = () => timerPlan(writer, { ...move, decisions })
  return executeDecided([decisions], handlers, makePlan(), makePlan)
}

function timerPlan(writer: RowWriter, move: TimedMove): Decide {
  const { resource, key, time } = move
  return {
    do: 'decide',
    read: { do: 'read', collection: resource.name, key, time },
    decide: (current) => (current.is === 'found' ? planMove(writer, move, current) : { do: 'keep' }),
  }
}

interface TimedMove {
  readonly resource: Resource
  readonly timed: TimedTransition
  readonly timer: TimerRow
  readonly key: RowKey
  readonly time: number
  readonly decisions?: Decisions
}

function planMove(writer: RowWriter, move: TimedMove, current: FoundRow): RowWrite {
  const { resource, timed, timer, key, time } = move
  const before = decodeDocument(resource, current.doc, current.hidden)
  if (!timed.from.includes(String(before[resource.machine?.field ?? '']))) return { do: 'keep' }
  const after = { ...before, ...timed.values({ time, caller: null, input: new Map() }) }
  const guard = {
    reads: [tablePlan(holdTimer, { ...timer, until: timer.taken })],
    admit: ([held]: readonly EffectReadResult[]) => {
      if (held?.is !== 'rows' || held.rows.length === 0) throw takenElsewhere
    },
  }
  return writer.update(resource, after, {
    ...{ key, time, current, before, always: true, entered: true, guard },
    handled: handledBy(move, () => [timed.name], new Map()),
  })
}

/** Postpones the next try by a growing pause, so that the timer does not delay newly due ones. */
async function putOff(
  { store, world, log }: TimerContext,
  timer: TimerRow,
  failure: string,
  how: keyof typeof pauses,
): Promise<void> {
  const { collection, id, transition } = timer
  const tries = timer.tries + 1
  const [shortest, longest] = pauses[how]
  const next = world.due() + Math.min(longest, shortest * 2 ** (tries - 1))
  log.warn(
    { collection, id, transition, tries, failure },
    'A transition by the clock was refused; it is tried again later.',
  )
  await store.execute(tablePlan(putOffTimer, { ...timer, next, none: 0, tries, failure: failure.slice(0, 500) }))
}

/** Runs due timers at an interval, until the returned function stops it. */
export function runTimersEvery(context: TimerContext, interval: number): () => Promise<void> {
  if (!hasTimers(context.resources)) return async () => {}
  const timers = oneAtATime(
    async (isEnding) => void (await runDueTimers(context, isEnding)),
    context.log,
    'Transitions by the clock could not be carried out; the next try is soon.',
  )
  const cancel = context.world.every(interval, timers.run)
  return async () => {
    cancel()
    await timers.end()
  }
}
