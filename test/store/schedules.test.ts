/** A schedule whose start the store refuses, or seems to have lost, starts its operation once and soon. R228. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { service } from 'bylaw'
import { conflictProblem, unknownOutcome } from '../../src/catalog/steps.ts'
import { handlerSources } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { adoptSchedules } from '../../src/jobs/schedules.ts'
import { Worker } from '../../src/jobs/worker.ts'
import { openStore } from '../../src/terminal/open.ts'
import { places } from '../help/places.ts'

const declared = service({
  name: 'nightly',
  resources: {
    reports: {
      prefix: 'rep',
      fields: {},
      access: 'public',
      operations: { runs: { at: 'collection', asynchronous: true } },
      schedules: { nights: { cron: '0 3 * * *', run: 'runs' } },
    },
  },
})
const day = 24 * 3_600_000

for (const [name, place] of places)
  test(`R228: a schedule starts its operation once when the store refuses it at first, ${name}`, async (t) => {
    const where = await place(t)
    let runs = 0
    const api = declared.handlers({
      reports: {
        async runs() {
          runs++
        },
      },
    })
    const store = await openStore(api, where.url, 'apply')
    t.after(store.close)
    const ahead = { by: 0 }
    const clock = { now: () => store.clock.now() + ahead.by, due: () => store.clock.due() + ahead.by }
    const world = { ...serviceWorld(realWorld, store), ...clock }
    const log = { error: () => {}, warn: () => {}, info: () => {} }
    const sources = handlerSources(api, store, world, log)
    assert.ok(sources)
    let starts = 0
    const execute: Store['execute'] = async (plan) => {
      const isStart = plan.do === 'decide' && plan.read.do === 'none'
      if (isStart && ++starts === 1) throw conflictProblem(null)
      const outcome = await store.execute(plan)
      if (isStart && starts === 2) throw unknownOutcome(null)
      return outcome
    }
    const context = { sources: { ...sources, store: { ...store, execute } }, settings: api.settings.operations }
    await adoptSchedules(context)
    ahead.by = day
    await new Worker(context).finish()
    assert.deepEqual([starts, runs], [3, 1])
  })
