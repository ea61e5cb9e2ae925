/**
 * Cached answers of a service are those of one without caches on the same database, whoever asks, and whatever writes: requests,
 * batches, imports, uploads, handlers, timers, erasures, and another process. R143.
 */
import { test } from 'node:test'
import type { Service } from 'bylaw'
import { places } from '../help/places.ts'
import { runsOf } from '../help/runs.ts'
import { depot, desk, office } from './kept-services.ts'
import { callers, opened, Trial, type Who } from './kept-trial.ts'
import { depotLists, depotWrites, deskLists, deskWrites, officeLists, officeWrites } from './kept-writes.ts'

const trials = [
  ['office', office, officeLists, officeWrites],
  ['desk', desk, deskLists, deskWrites],
  ['depot', depot, depotLists, depotWrites],
] as const

for (const [store, placeOf] of places)
  for (const [name, api, lists, writes] of trials)
    test(`R143: cached answers are those of a service without caches: ${name} (${store})`, {
      timeout: 300_000,
    }, async (t) => {
      const place = await placeOf(t)
      const services = opened(api as unknown as Service, place)
      t.after(() => Promise.all(Object.values(services).map(({ close }) => close())))
      const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
      const trial = new Trial(seed, services)
      const kinds: Readonly<Record<string, () => Promise<unknown>>> = writes(trial, place, api as unknown as Service)
      const names = Object.keys(kinds)
      const makers = names.filter((one) =>
        ['client', 'order', 'line', 'tag', 'task', 'step', 'note', 'crate', 'box'].includes(one),
      )
      t.diagnostic(`seed ${seed}`)
      for (let i = 0; i < 8; i++) for (const one of makers) await kinds[one]?.()
      const often = ['free', 'number', 'link', 'upload', 'assign'].filter((one) => names.includes(one))
      // Requests few lists for a while, as only repeated answers are cached.
      let asked: [who: Who, target: string][] = []
      for (let step = 0; step < runsOf(600); step++) {
        if (step % 30 === 0)
          asked = Array.from({ length: 5 }, () => [trial.pick(Object.keys(callers)), trial.pick(lists(trial))])
        await kinds[trial.pick([...names, ...often])]?.()
        for (const [who, target] of asked) await trial.compare(who, target)
        const form = /^(\/v2\/[a-z]+)\?(.*)$/.exec(asked[0]?.[1] as string)
        if (form && trial.next(6) === 0) await trial.compare('eve', String(form[1]), 'QUERY', String(form[2]))
      }
    })
