/** The metrics of an app: what they count, what they never contain, and that they are off unless turned on. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { type AppOptions, toFetch } from 'bylaw/embedding'
import { openLogged } from '../help/hosts.ts'
import { metricValue, type ReadFamily, readOpenMetrics } from '../help/open-metrics.ts'
import { until } from '../help/until.ts'

/** Notes that become old after a second, a reaction, an operation in the background, and a cached list. */
const declared = service({
  name: 'notes',
  events: true,
  errors: { 'not-now': { status: 409, parents: ['conflict'] } },
  resources: {
    notes: {
      prefix: 'not',
      fields: { text: f.text({ max: 50 }) },
      access: 'public',
      operations: {
        exports: { at: 'collection', asynchronous: true, output: { count: f.integer() } },
        imports: { at: 'collection', asynchronous: true, output: {} },
      },
      states: {
        field: 'status',
        initial: 'fresh',
        transitions: { agings: { from: ['fresh'], to: 'old', after: 'PT1S' } },
      },
    },
  },
  settings: { server: { basePath: '/api' } },
}).handlers({
  notes: {
    async exports() {
      return { count: 1 }
    },
    async imports({ refuse }: { refuse: (type: string) => Error }) {
      throw refuse('not-now')
    },
  },
  reactions: {
    watch: {
      on: ['note.created', 'note.old'],
      async run() {},
    },
  },
} as never) as unknown as Service

async function opened(t: TestContext, options: AppOptions = { metrics: true }) {
  const { app } = await openLogged(declared, options)
  t.after(() => app.close())
  const answer = toFetch(app)
  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    answer(
      new Request(`http://localhost/api${path}`, {
        method,
        headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
      }),
    )
  const read = async (): Promise<ReadonlyMap<string, ReadFamily>> => {
    const { contentType, text } = await app.metrics()
    assert.equal(contentType, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
    return readOpenMetrics(text)
  }
  return { app, ask, read }
}

describe('the metrics of an app', () => {
  it('count requests by method, route and class of status, and refusals by type', async (t) => {
    const { app, ask, read } = await opened(t)
    const { id } = (await (await ask('POST', '/notes', { text: 'secret-text' })).json()) as { id: string }
    for (let i = 0; i < 3; i++) await ask('GET', `/notes/${id}?private=value-1`)
    await ask('GET', `/notes/${id}`)
    await ask('GET', '/notes/not_unknown')
    await ask('GET', '/nothing-here')
    await ask('BREW', '/notes')
    for (let i = 0; i < 3; i++) await ask('GET', '/notes?page=1') // an answer is cached at the second request for it
    const families = await read()
    const count = (method: string, route: string, status: string): number =>
      metricValue(families, 'bylaw_request_duration_seconds_count', { method, route, status })
    assert.equal(count('POST', '/notes', '2xx'), 1)
    assert.equal(count('GET', '/notes/{id}', '2xx'), 1)
    assert.equal(count('GET', '/notes/{id}', '4xx'), 4)
    assert.equal(count('GET', 'other', '4xx'), 1)
    assert.equal(count('other', '/notes', '4xx') + count('other', '/notes', '5xx') + count('other', 'other', '5xx'), 1)
    assert.equal(metricValue(families, 'bylaw_refusals_total', { type: 'resource-not-found' }), 1)
    assert.equal(metricValue(families, 'bylaw_refusals_total', { type: 'invalid-query' }), 3)
    assert.equal(metricValue(families, 'bylaw_requests_under_way'), 0)
    assert.equal(metricValue(families, 'bylaw_answer_cache_lookups_total', { result: 'hit' }), 1)
    assert.ok(metricValue(families, 'bylaw_store_plan_duration_seconds_count', { plan: 'read' }) > 0)
    assert.ok(metricValue(families, 'bylaw_store_batched_total') >= 1)
    assert.ok(metricValue(families, 'process_resident_memory_bytes') > 10_000_000)
    assert.ok(metricValue(families, 'process_cpu_seconds_total') > 0)
    assert.equal(families.get('bylaw_request_duration_seconds')?.unit, 'seconds')
    const { text } = await app.metrics()
    for (const sent of [id, 'secret-text', 'value-1', 'not_unknown', 'nothing-here', 'BREW'])
      assert.ok(!text.includes(sent), `${sent} stands in the metrics`)
  })

  it('have no more series after many different requests', async (t) => {
    const { app, ask } = await opened(t)
    const series = async (): Promise<readonly string[]> =>
      (await app.metrics()).text.split('\n').flatMap((line) => line.replace(/ \S+$/, '').match(/^bylaw_re[qf].*/) ?? [])
    const send = async (n: number): Promise<void> => {
      await ask('GET', `/notes/not_${n}`)
      await ask('GET', `/unknown-${n}`)
      await ask('GET', `/notes?field${n}=1`)
      await ask(`METHOD${n}`, '/notes')
      await ask('POST', '/notes', { [`member${n}`]: n })
    }
    await send(0)
    const before = await series()
    for (let n = 1; n < 20; n++) await send(n)
    assert.deepEqual(await series(), before)
  })

  it('count requests under way', async (t) => {
    const { ask, read } = await opened(t)
    const asked = ask('GET', '/notes')
    assert.equal(metricValue(await read(), 'bylaw_requests_under_way'), 1)
    await asked
    assert.equal(metricValue(await read(), 'bylaw_requests_under_way'), 0)
  })

  it('count timers, reactions and jobs, and show how far reactions are behind', { timeout: 180_000 }, async (t) => {
    const { ask, read } = await opened(t)
    await ask('POST', '/notes', { text: 'a' })
    assert.equal((await ask('POST', '/notes/exports', {})).status, 202)
    assert.equal((await ask('POST', '/notes/imports', {})).status, 202)
    const value = async (sample: string, labels = {}) => metricValue(await read(), sample, labels)
    const timers = { resource: 'notes', transition: 'agings', result: 'changed' }
    await until(async () => (await value('bylaw_timer_transitions_total', timers)) === 1)
    await until(
      async () => (await value('bylaw_reaction_events_total', { reaction: 'watch', result: 'handled' })) === 2,
    )
    await until(
      async () => (await value('bylaw_job_tries_total', { operation: 'notes.exports', result: 'succeeded' })) === 1,
    )
    await until(
      async () => (await value('bylaw_job_tries_total', { operation: 'notes.imports', result: 'refused' })) === 1,
    )
    await until(async () => (await value('bylaw_reaction_events_behind', { reaction: 'watch' })) === 0)
    assert.ok((await value('bylaw_event_position')) >= 2)
    assert.equal(await value('bylaw_handler_duration_seconds_count', { handler: 'notes.exports' }), 1)
    await until(async () => (await value('nodejs_event_loop_delay_seconds_count')) > 0)
  })

  it('are off unless they are turned on', async (t) => {
    const { app, ask } = await opened(t, {})
    await ask('GET', '/notes')
    await assert.rejects(app.metrics(), /openApp\(api, \{ metrics: true \}\)/)
  })
})
