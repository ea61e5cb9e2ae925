/** Run reactions: all reactions of a service and its publisher, each by one process at a time. Part 6. R231. */
import type { ServerContext } from '../corridor/server-context.ts'
import { hasEvents } from '../events/event-relay.ts'
import type { EventScope } from '../events/event-scope.ts'
import { oneAtATime } from '../flow/world.ts'
import { PublishRun } from './publish-run.ts'
import { ReactionRun } from './reaction-run.ts'

/** A consumer of events that keeps its position. */
interface EventRun {
  /** Stores its first position, if it is new. */
  readonly begin: () => Promise<void>
  /** Handles the events that are due, if no other process does. */
  readonly run: () => Promise<void>
  /** Ends a run early. */
  readonly end: () => void
  /** Lets another process go on at once. */
  readonly release: () => Promise<void>
}

/** Makes the runs of all reactions and of the publisher. */
export function eventRuns(server: ServerContext): readonly EventRun[] {
  const { service, handlers } = server
  const scope = [...service.events.values()].at(-1) as EventScope
  const { publish } = service.settings.events
  const context = handlers && { server, scope, used: handlers.used }
  const reactions = Object.entries(service.ownHandlers?.reactions ?? {})
  return [
    ...(context ? reactions.map(([name, own]) => new ReactionRun(name, own, context)) : []),
    ...(publish ? [new PublishRun(publish, server, scope)] : []),
  ]
}

/** Stores the first positions of new consumers before the service answers requests, so that they get every change that it acknowledges. */
export async function beginReactions(server: ServerContext): Promise<void> {
  if (!hasEvents(server.service.resources)) return
  for (const run of eventRuns(server)) await run.begin()
}

/** How often new events and failed ones are looked for, in milliseconds. */
const interval = 200

/** Runs reactions and the publisher at an interval, until the returned function stops them. */
export function runReactionsEvery(server: ServerContext): () => Promise<void> {
  const { world, log } = server
  const runs = eventRuns(server)
  const failed = 'Events could not be handled; the next try is soon.'
  const tasks = runs.map((run) => ({ run, task: oneAtATime(() => run.run(), log, failed) }))
  const cancel = world.every(interval, () => {
    for (const { task } of tasks) task.run()
  })
  return async () => {
    cancel()
    for (const run of runs) run.end()
    // Each one is released as soon as it has ended: a consumer that hangs must not keep the others from moving to another
    // process.
    const ended = tasks.map(({ run, task }) => task.end().then(() => run.release()))
    await Promise.allSettled(ended)
  }
}
