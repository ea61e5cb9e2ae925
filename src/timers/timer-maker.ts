/** Timer maker: entering a state starts its timers, and leaving it stops them, in the transaction of the write. R223. */
import type { DocumentWrite, EffectMaker } from '../effects/effect-maker.ts'
import type { RowKey } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import type { Machine, TimedTransition } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { startTimer, stopTimers, type TimerRow } from './timer-table.ts'

/** One maker for each resource with transitions by the clock. */
export const timerMakers = (resources: ReadonlyMap<string, Resource>): EffectMaker[] =>
  [...resources.values()].flatMap((resource) => {
    const { machine } = resource
    return machine && machine.timed.length > 0
      ? [{ resource: resource.name, decide: (write) => timersOfWrite(resource, machine, write) }]
      : []
  })

/** The columns that name an item. */
export const timerKey = ({ collection }: Resource, { id, parent, account }: RowKey) => ({
  collection: collection.name,
  account: (collection.account === null ? null : account) ?? '',
  parent: parent ?? '',
  id,
})

function timersOfWrite(resource: Resource, machine: Machine, write: DocumentWrite): TablePlan[] {
  const { key, before, after, time } = write
  const own = timerKey(resource, key)
  const [was, is] = [before, after].map((one) => one?.[machine.field])
  const starts = machine.timed.filter(({ from }) => typeof is === 'string' && from.includes(is))
  const moved = starts.some(({ at }) => at !== null && before?.[at] !== after?.[at])
  if (before !== null && was === is && !write.entered && !moved) return []
  const stops = before === null ? [] : [tablePlan(stopTimers, own)]
  const timers = after === null ? [] : starts.flatMap((one) => newTimer(own, one, after, time) ?? [])
  return [...stops, ...timers.map((values) => tablePlan(startTimer, { ...values }))]
}

/** The timer of an item that enters a state at a time; undefined if the field with its time is empty. */
export function newTimer(
  own: ReturnType<typeof timerKey>,
  { name, after, at }: TimedTransition,
  document: Document,
  time: number,
): TimerRow | undefined {
  const named = at === null ? null : document[at]
  const due = at === null ? time + (after ?? 0) : typeof named === 'string' ? Date.parse(named) : null
  return due === null ? undefined : { ...own, transition: name, due, taken: 0, tries: 0, failure: null }
}
