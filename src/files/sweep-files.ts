/** Sweep files: removes contents that no row has had for a day: those of removed rows, and of uploads that were not finished. */
import { rowsIn } from '../flow/outcome.ts'
import type { Store } from '../flow/store.ts'
import { tablePlan } from '../flow/table.ts'
import { type ContentStore, type Log, notEnding, oneAtATime, type ServiceWorld } from '../flow/world.ts'
import { forgetContent, unusedContents } from './file-table.ts'

interface SweepContext {
  readonly store: Pick<Store, 'execute'>
  readonly world: Pick<ServiceWorld, 'due'> & { readonly contents: ContentStore | null }
}

/** Longer than an upload may wait for its write, so that no row can name a content that is removed. */
const gracePeriod = 24 * 60 * 60 * 1000

export async function sweepFiles(
  { store, world: { due, contents } }: SweepContext,
  isEnding = notEnding,
): Promise<void> {
  if (contents === null) return
  const time = due() - gracePeriod
  for (;;) {
    const unused = rowsIn(await store.execute(tablePlan(unusedContents, { time })))
    if (unused.length === 0) return
    for (const { name } of unused) {
      if (isEnding()) return
      await contents.remove(String(name)) // before its record, so that no content is left without one
      await store.execute(tablePlan(forgetContent, { name: String(name), time }))
    }
  }
}

const interval = 10 * 60 * 1000

/** Sweeps at an interval, until the returned function stops it. */
export function sweepFilesEvery(
  context: SweepContext & { readonly world: Pick<ServiceWorld, 'every'>; readonly log: Log },
): () => Promise<void> {
  const sweep = oneAtATime(
    (isEnding) => sweepFiles(context, isEnding),
    context.log,
    'Contents that no row has could not be removed; the next try is soon.',
  )
  const cancel = context.world.every(interval, sweep.run)
  return async () => {
    cancel()
    await sweep.end()
  }
}
