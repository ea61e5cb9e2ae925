/** Run reactions: all reactions of a service, each by one process at a time. Part 6. R231. */
import type { ServerContext } from '../corridor/server-context.ts'
import type { EventScope } from '../events/event-scope.ts'
import { oneAtATime } from '../flow/world.ts'
import type { Service } from '../service.ts'
import { ReactionRun } from './reaction-run.ts'

export const hasReactions = ({ ownHandlers }: Pick<Service, 'ownHandlers'>): boolean =>
  Object.keys(ownHandlers?.reactions ?? {}).length > 0

/** Makes the runs of all reactions. */
export function reactionRuns(server: ServerContext, used: () => Promise<unknown>): readonly ReactionRun[] {
  const scope = [...server.service.events.values()].at(-1) as EventScope
  const reactions = Object.entries(server.service.ownHandlers?.reactions ?? {})
  return reactions.map(([name, own]) => new ReactionRun(name, own, { server, scope, used }))
}

/** How often new events and failed ones are looked for, in milliseconds. */
const interval = 200

/** Runs reactions at an interval, until the returned function stops them. */
export function runReactionsEvery(server: ServerContext, used: () => Promise<unknown>): () => Promise<void> {
  const { world, log } = server
  const runs = reactionRuns(server, used)
  const failed = 'A reaction could not go on; the next try is soon.'
  const tasks = runs.map((run) => oneAtATime(() => run.run(), log, failed))
  const cancel = world.every(interval, () => {
    for (const task of tasks) task.run()
  })
  return async () => {
    cancel()
    await Promise.all(tasks.map((task) => task.ended()))
    await Promise.allSettled(runs.map((run) => run.release()))
  }
}
