/** Schedules: start operations at the times of a calendar, once for each time, on whichever node is first. R228. */
import { nobody } from '../flow/caller.ts'
import { rowsIn } from '../flow/outcome.ts'
import type { EffectReadResult } from '../flow/plan.ts'
import { tablePlan } from '../flow/table.ts'
import { nextTime } from '../formats/calendar.ts'
import { effectOfQueued, queueOperation } from '../handlers/queued-operation.ts'
import { readInput } from '../resources/machine.ts'
import type { ScheduleDeclaration } from '../resources/own-operations.ts'
import type { Resource } from '../resources/resource.ts'
import type { JobContext } from './job-run.ts'
import { findJob, isKept, isLeftToOthers, type JobRow, keepJob, removeJob, replaceJob } from './job-table.ts'

interface Schedule {
  readonly id: string
  readonly resource: Resource
  readonly declared: ScheduleDeclaration
}

const schedulesOf = (resources: ReadonlyMap<string, Resource>): Schedule[] =>
  [...resources.values()].flatMap((resource) =>
    Object.entries(resource.declaration.schedules ?? {}).map(([name, declared]) => ({
      ...{ id: `schedule:${resource.name}.${name}`, resource, declared },
    })),
  )

/** The time of a calendar without a further time, far in the future. */
const never = Number.MAX_SAFE_INTEGER

const dueAfter = ({ cron, zone = 'UTC' }: ScheduleDeclaration, time: number): number =>
  nextTime({ cron, zone }, time) ?? never

const calendarOf = ({ cron, zone = 'UTC', run }: ScheduleDeclaration): string => JSON.stringify([cron, zone, run])

/** Adds new schedules, and restarts schedules whose calendar has changed. */
export async function adoptSchedules(context: JobContext): Promise<void> {
  const { resources, store } = context.sources
  for (const schedule of schedulesOf(resources)) {
    const jobs = rowsIn(await store.execute(tablePlan(findJob, { id: schedule.id }))) as readonly Partial<JobRow>[]
    if (jobs[0]?.calendar !== calendarOf(schedule.declared)) await adoptSchedule(context, schedule)
  }
}

async function adoptSchedule({ sources: { store, world } }: JobContext, { id, declared }: Schedule): Promise<void> {
  const free = { id, taken: 0, holder: '', tries: 0, calendar: calendarOf(declared) }
  await store.execute(tablePlan(replaceJob, { ...free, due: dueAfter(declared, world.due()) }))
}

/** Starts the operation of a schedule that is due. Times that were missed meanwhile start it only once. */
export async function runSchedule(context: JobContext, job: JobRow): Promise<void> {
  const { resources, store, world, writer } = context.sources
  const schedule = schedulesOf(resources).find(({ id }) => id === job.id)
  if (job.calendar !== (schedule && calendarOf(schedule.declared)) && isLeftToOthers(job, world.due())) return
  if (!schedule) return void (await store.execute(tablePlan(removeJob, { id: job.id })))
  if (job.calendar !== calendarOf(schedule.declared)) return adoptSchedule(context, schedule)
  const { resource, declared } = schedule
  const operation = resource.operations.find(({ name }) => name === declared.run)
  if (!operation) return
  const time = world.now()
  const input = readInput(operation.input, {}, resource.settings)
  const call = { resource, operation, item: null, input }
  const queued = queueOperation(call, { resources, caller: nobody, account: null, time, newId: world.newId })
  const next = { ...job, due: dueAfter(declared, world.due()), taken: 0, holder: '', held: job.holder }
  const guard = {
    reads: [tablePlan(keepJob, next)],
    admit: ([kept]: readonly EffectReadResult[]) => {
      if (!isKept(kept)) throw takenElsewhere
    },
  }
  try {
    await store.execute({
      do: 'decide',
      read: { do: 'none', collection: queued.statuses.name, key: queued.key },
      decide: () => ({ do: 'keep', effects: [effectOfQueued(writer, queued, guard)] }),
    })
  } catch (error) {
    if (error !== takenElsewhere) throw error
  }
}

/** Thrown if another node has started the operation of this time. */
const takenElsewhere = new Error('The operation of this time was started already.')
