/** Undrop: puts dropped values back while others work. The cellar. */
import type { Fate } from '../schema/state.ts'
import { admitUndrop, undropSome } from '../schema/undrop.ts'
import { cellar, finishLater } from '../store/cellar.ts'
import { alone, dialectOf, fenced, type Site, standingOf } from './migrate.ts'

/** Puts dropped values back, some in a transaction. */
export function undrop(site: Site): Promise<Fate[]> {
  return alone(site, async (work) => {
    const { ask, collections } = work
    const state = admitUndrop(await standingOf(ask, collections))
    const shelves = cellar(collections, state, dialectOf(state.layout), () => false)
    const all: Fate[] = []
    const some = (after: readonly string[] | null) => fenced(work, () => finishLater(undropSome(shelves, after), ask))
    for (let batch = await some(null); ; batch = await some(batch.after)) {
      all.push(...batch.fates)
      if (batch.after === null) return all
    }
  })
}
