/** Steps and schedules in harder cases: contended rows, steps within steps, schedules that changed or went. R228. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'
import { places } from '../help/places.ts'

const ran: string[] = []
const resources = {
  counters: {
    prefix: 'cnt',
    fields: { value: f.integer({ default: 0 }) },
    access: 'public',
    operations: {
      additions: { at: 'item', output: { value: f.integer() }, asynchronous: true },
      nests: { at: 'collection', asynchronous: true },
      sweeps: { at: 'collection', asynchronous: true },
    },
  },
} as const

const handlers = (api: ReturnType<typeof declared>): Service =>
  api.handlers({
    counters: {
      async additions({ item, step }) {
        const value = await step('add', async ({ get, change }) => {
          const counter = await get('counters', item.id)
          await new Promise((resolve) => setTimeout(resolve, 2))
          change('counters', item.id, { value: (counter?.value ?? 0) + 1 })
          return (counter?.value ?? 0) + 1
        })
        return { value }
      },
      async nests({ step }) {
        await step('outer', async ({ create }) => {
          create('counters', { value: 1 })
          await step('inner', (inner) => inner.create('counters', { value: 2 }))
        })
      },
      sweeps: () => {
        ran.push('sweep')
      },
    },
  }) as never

const declared = () => service({ name: 'counts', settings: { operations: { attempts: 1, workers: 8 } }, resources })
const counts = handlers(declared())
const scheduled = (schedules: object): Service =>
  handlers(service({ name: 'counts', resources: { counters: { ...resources.counters, schedules } } } as never) as never)

for (const [name, place] of places)
  describe(`steps and schedules on ${name}`, () => {
    test('R226 R228: steps that change one row at once all count', async (t) => {
      const { call, pass, close } = testing(counts, { database: (await place(t)).url })
      t.after(close)
      const { id } = (await (await call('/counters', { method: 'POST', json: {} })).json()) as { id: string }
      const asked = Array.from({ length: 8 }, () => call(`/counters/${id}/additions`, { method: 'POST', json: {} }))
      const locations = (await Promise.all(asked)).map(({ headers }) => String(headers.get('location')))
      await pass('PT1M')
      const results = await Promise.all(
        locations.map(
          async (path) => ((await (await call(path)).json()) as { result: { value: number } }).result.value,
        ),
      )
      assert.deepEqual(results.sort(), [1, 2, 3, 4, 5, 6, 7, 8])
    })

    test('R228: a step within a step fails with a clear cause, and commits nothing', async (t) => {
      const { call, pass, close, logged } = testing(counts, { database: (await place(t)).url })
      t.after(close)
      const path = String((await call('/counters/nests', { method: 'POST' })).headers.get('location'))
      await pass('PT1M')
      assert.equal(((await (await call(path)).json()) as { status: string }).status, 'failed')
      assert.deepEqual(((await (await call('/counters')).json()) as { data: unknown[] }).data, [])
      const causes = logged.map(({ about }) => String((about.err as Error)?.message))
      assert.ok(
        causes.some((one) => one.includes('takes the step inner within outer')),
        causes.join(),
      )
    })

    test('R228: a schedule that went starts nothing, and one that changed starts at its new times', async (t) => {
      const { url } = await place(t)
      const runs = async (schedules: object, days: number) => {
        const { call, pass, close, logged } = testing(scheduled(schedules), { database: url })
        await call('/counters')
        await pass('PT0S')
        ran.length = 0
        for (let day = 0; day < days; day++) await pass('P1D')
        await close()
        assert.deepEqual(
          logged.filter(({ about }) => about.err !== undefined),
          [],
        )
        return ran.length
      }
      assert.equal(await runs({ nightly: { cron: '0 2 * * *', run: 'sweeps' } }, 3), 3)
      assert.equal(await runs({}, 5), 0)
      assert.equal(await runs({ nightly: { cron: '0 2 * * *', run: 'sweeps' } }, 3), 3)
      assert.equal(await runs({ nightly: { cron: '0 2 1 1 *', run: 'sweeps' } }, 3), 0)
    })
  })
