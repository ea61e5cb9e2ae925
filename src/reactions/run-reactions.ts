/** Run reactions: all reactions of a service and its publisher, each by one process at a time. Part 6. R231. */
import type { ServerContext } from '../corridor/server-context.ts'
import type { EventScope } from '../events/event-scope.ts'
import { PublishRun } from './publish-run.ts'
import { ReactionRun } from './reaction-run.ts'

/** A consumer of events that keeps its position. */
interface EventRun {
  /** Handles the events that are due, if no other process does. */
  readonly run: () => Promise<void>
  /** Ends a run before its last event. */
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

/** How often new events and failed ones are looked for, in milliseconds. */
const interval = 200

/** Runs reactions and the publisher at an interval, until the returned function stops them. */
export function runReactionsEvery(server: ServerContext): () => Promise<void> {
  const { world, log } = server
  const runs = eventRuns(server)
  if (runs.length === 0) return async () => {}
  const running = new Map<EventRun, Promise<void>>()
  const start = (run: EventRun): void => {
    if (running.has(run)) return
    const ended = run
      .run()
      .catch((err: unknown) => log.warn({ err }, 'A reaction could not go on; the next try is soon.'))
      .finally(() => running.delete(run))
    running.set(run, ended)
  }
  const cancel = world.every(interval, () => runs.forEach(start))
  return async () => {
    cancel()
    for (const run of runs) run.end()
    await Promise.all(running.values())
    await Promise.allSettled(runs.map((run) => run.release()))
  }
}
