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

const handlers = (api: ReturnType<typeof declared>, added: object = {}): Service =>
  api.handlers({
    counters: {
      ...added,
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
/** The service with schedules and perhaps another operation. */
function scheduled(schedules: object, added?: 'audits'): Service {
  const audits = { at: 'collection', asynchronous: true }
  const operations = { ...resources.counters.operations, ...(added && { audits }) }
  const counters = { ...resources.counters, operations, schedules }
  return handlers(service({ name: 'counts', resources: { counters } } as never) as never, added && { audits: () => {} })
}

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

    test('R228: during a rolling upgrade, old nodes leave schedules and operations of the new ones alone', async (t) => {
      const { url } = await place(t)
      const open = (declaration: Service) => {
        const own = testing(declaration, { database: url })
        t.after(own.close)
        return own
      }
      const start = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10)
      const old = open(scheduled({ changed: { cron: '15 2 * * *', run: 'sweeps' } }))
      await old.at(`${start}T00:00:00Z`)
      const both = { added: { cron: '0 2 * * *', run: 'sweeps' }, changed: { cron: '30 2 * * *', run: 'sweeps' } }
      const next = open(scheduled(both, 'audits'))
      await next.at(`${start}T00:00:00Z`)
      ran.length = 0
      for (const time of ['02:00:01', '02:30:01', '02:40:00']) await old.at(`${start}T${time}Z`)
      assert.deepEqual(ran, [])
      await next.at(`${start}T02:45:00Z`)
      assert.deepEqual(ran, ['sweep', 'sweep'])

      const path = String((await next.call('/counters/audits', { method: 'POST' })).headers.get('location'))
      const statusOf = async () => ((await (await next.call(path)).json()) as { status: string }).status
      await old.at(`${start}T02:50:00Z`)
      assert.equal(await statusOf(), 'queued')
      await next.at(`${start}T02:51:00Z`)
      assert.equal(await statusOf(), 'succeeded')
    })

    test('R228: after an hour an operation and a schedule that no node knows end', async (t) => {
      const { url } = await place(t)
      const next = testing(scheduled({ nightly: { cron: '0 2 * * *', run: 'sweeps' } }, 'audits'), { database: url })
      t.after(next.close)
      await next.pass('PT0S')
      const path = String((await next.call('/counters/audits', { method: 'POST' })).headers.get('location'))
      const old = testing(scheduled({}), { database: url })
      t.after(old.close)
      await old.pass('PT61M')
      const { status, error } = (await (await next.call(path)).json()) as { status: string; error: { type: string } }
      assert.deepEqual([status, error.type], ['failed', 'gone'])
      ran.length = 0
      await old.pass('P2D')
      await next.pass('P4D')
      assert.deepEqual(ran, [])
    })

    test('R228: an operation that waits while its input changes gets new defaults, or fails if it does not fit', async (t) => {
      const { url } = await place(t)
      const got: object[] = []
      const open = (input: object) => {
        const audits = { at: 'collection', input, asynchronous: true }
        const counters = { ...resources.counters, operations: { audits } }
        const api = service({ name: 'counts', resources: { counters } } as never)
        const audited = { audits: (given: { input: object }) => void got.push(given.input) }
        return testing((api as unknown as Service & typeof api).handlers({ counters: audited } as never), {
          database: url,
        })
      }
      const before = open({ name: f.text(), count: f.integer({ default: 1 }) })
      const path = String(
        (await before.call('/counters/audits', { method: 'POST', json: { name: 'a' } })).headers.get('location'),
      )
      const other = String(
        (await before.call('/counters/audits', { method: 'POST', json: { name: 'long' } })).headers.get('location'),
      )
      await before.close()
      const after = open({ name: f.text({ max: 2 }), count: f.integer({ default: 1 }), kind: f.text({ default: 'x' }) })
      t.after(after.close)
      await after.pass('PT0S')
      assert.deepEqual(got, [{ name: 'a', count: 1, kind: 'x' }])
      assert.equal(((await (await after.call(path)).json()) as { status: string }).status, 'succeeded')
      const { status, error } = (await (await after.call(other)).json()) as { status: string; error: { type: string } }
      assert.deepEqual([status, error.type], ['failed', 'validation-failed'])
    })
  })
