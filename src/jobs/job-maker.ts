/** Job maker: a new status adds a job, and a status that ends sets the time at which it is forgotten, in the same transaction. R228. */
import type { DocumentWrite, EffectMaker } from '../effects/effect-maker.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import type { Resource } from '../resources/resource.ts'
import { endedStates, isStatusResource } from '../resources/service-fields.ts'
import { addJob, endJob, removeJob, removeSteps } from './job-table.ts'

/** A maker for the resource of statuses, if there is one. */
export const jobMakers = (resources: ReadonlyMap<string, Resource>, retention: number): EffectMaker[] =>
  [...resources.values()]
    .filter(({ declaration }) => isStatusResource(declaration))
    .map(({ name }) => ({ resource: name, decide: (write) => jobOfWrite(write, retention) }))

export const hasJobs = (resources: ReadonlyMap<string, Resource>): boolean =>
  [...resources.values()].some(({ declaration }) => isStatusResource(declaration))

function jobOfWrite({ key, before, after, time }: DocumentWrite, retention: number): TablePlan[] {
  const { id } = key
  if (after === null) return [removeJob, removeSteps].map((run) => tablePlan(run, { id }))
  const free = { id, taken: 0, holder: '', tries: 0 }
  if (before === null) {
    const due = Date.parse(String(after.due))
    return [tablePlan(addJob, { ...free, due, calendar: null })]
  }
  const ends = endedStates.includes(after.status) && !endedStates.includes(before.status)
  return ends ? [tablePlan(endJob, { ...free, due: time + retention })] : []
}
