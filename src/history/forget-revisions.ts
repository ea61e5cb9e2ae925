/** Forget revisions: deletes revisions after their retention. R237. */
import type { Store } from '../flow/store.ts'
import { type Log, notEnding, oneAtATime, type ServiceWorld } from '../flow/world.ts'
import { historyRetention } from '../resources/own-operations.ts'
import type { Resource } from '../resources/resource.ts'

export interface HistoryContext {
  readonly resources: ReadonlyMap<string, Resource>
  readonly store: Store
  readonly world: ServiceWorld
  readonly log: Log
}

/** Whether a service keeps revisions of any resource. */
export const hasHistory = (resources: ReadonlyMap<string, Resource>): boolean =>
  [...resources.values()].some(({ collection }) => collection.history === true)

export async function forgetRevisions(
  { resources, store, world }: Pick<HistoryContext, 'resources' | 'store' | 'world'>,
  isEnding = notEnding,
): Promise<void> {
  const hasFiles = [...resources.values()].some(({ members }) => members.some(({ field }) => field.kind === 'file'))
  for (const { name, declaration, settings } of resources.values()) {
    const retention = declaration.history ? historyRetention(declaration.history, settings) : null
    if (retention === null) continue
    const now = world.due()
    const before = now - retention
    const unused = hasFiles ? now : null
    for (let more = true; more && !isEnding(); ) {
      const outcome = await store.execute({ do: 'forget', collection: name, before, unused })
      more = outcome.is === 'swept' && outcome.more
    }
  }
}

const interval = 60_000

/** Deletes old revisions at an interval, until the returned function stops it. */
export function forgetRevisionsEvery(context: HistoryContext): () => Promise<void> {
  const { world, log } = context
  const sweep = oneAtATime(
    (isEnding) => forgetRevisions(context, isEnding),
    log,
    'Old revisions could not be deleted; the next try is soon.',
  )
  const cancel = world.every(interval, sweep.run)
  return async () => {
    cancel()
    await sweep.end()
  }
}
