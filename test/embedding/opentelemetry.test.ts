/** Traces and metrics by OTLP: an SDK of the user sends them to a collector over HTTP. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, it } from 'node:test'
import { context, metrics, propagation, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { f, type Service, service } from 'bylaw'
import { toFetch } from 'bylaw/embedding'
import { openLogged } from '../help/hosts.ts'

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}
interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly kind: number
  readonly attributes: readonly Attribute[]
}
interface Metric {
  readonly name: string
  readonly unit?: string
  readonly sum?: {
    readonly dataPoints: readonly { readonly attributes: readonly Attribute[]; readonly asDouble: number }[]
  }
  readonly histogram?: {
    readonly dataPoints: readonly { readonly attributes: readonly Attribute[]; readonly count: number }[]
  }
}

const declared = service({
  name: 'notes',
  events: true,
  resources: { notes: { prefix: 'not', fields: { text: f.text({ max: 50 }) }, access: 'public' } },
}).handlers({
  notes: {
    async create() {
      trace.getTracer('own').startSpan('own work').end()
    },
  },
} as never) as unknown as Service

/** What a collector has received. */
const spans: Span[] = []
const received: Metric[] = []
const collector = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString())
  for (const { scopeSpans } of body.resourceSpans ?? []) for (const one of scopeSpans) spans.push(...one.spans)
  for (const { scopeMetrics } of body.resourceMetrics ?? [])
    for (const one of scopeMetrics) received.push(...one.metrics)
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
})

const attributeOf = ({ attributes }: { readonly attributes: readonly Attribute[] }, key: string) => {
  const value = attributes.find((one) => one.key === key)?.value
  return value?.stringValue ?? value?.intValue
}

describe('OpenTelemetry', () => {
  it('R26: gets a span for each request, with those of its plans and handlers, and the metrics', async (t) => {
    await once(collector.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(collector.address() as { port: number }).port}`
    const provider = new TracerProvider({
      spanProcessors: [new SimpleSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${url}/v1/traces` }) })],
    })
    const reader = new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter({ url: `${url}/v1/metrics` }),
      exportIntervalMillis: 3_600_000,
    })
    const meters = new MeterProvider({ readers: [reader] })
    trace.setGlobalTracerProvider(provider)
    metrics.setGlobalMeterProvider(meters)
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    t.after(() => collector.close())

    const { app } = await openLogged(declared, { openTelemetry: true })
    const answer = toFetch(app)
    const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
      answer(new Request(`http://localhost${path}`, { method, headers, ...(body !== undefined && { body }) }))
    const known = '0af7651916cd43dd8448eb211c80319c'
    const json = { 'content-type': 'application/json' }
    const made = await ask(
      'POST',
      '/notes',
      { ...json, traceparent: `00-${known}-b7ad6b7169203331-01` },
      '{"text":"secret-text"}',
    )
    const { id } = (await made.json()) as { id: string }
    await ask('GET', `/notes/${id}?secret=value-1`)
    await ask('GET', '/notes', { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` })
    await trace.getTracer('host').startActiveSpan('host request', async (span) => {
      await ask('GET', '/notes', { traceparent: `00-${known}-b7ad6b7169203331-01` })
      span.end()
    })
    await provider.forceFlush()
    await meters.forceFlush()
    await app.close()

    const post = spans.find(({ name }) => name === 'POST /notes') as Span
    assert.deepEqual([post.traceId, post.parentSpanId], [known, 'b7ad6b7169203331'])
    assert.equal(post.kind, SpanKind.SERVER + 1) // OTLP counts from 1
    assert.equal(attributeOf(post, 'http.response.status_code'), 201)
    assert.equal(attributeOf(post, 'http.route'), '/notes')
    const below = (span: Span): readonly string[] =>
      spans.filter(({ parentSpanId }) => parentSpanId === span.spanId).map(({ name }) => name)
    assert.ok(below(post).includes('handler notes.create'), String(below(post)))
    assert.ok(
      below(post).some((name) => name.startsWith('store ')),
      String(below(post)),
    )
    const handler = spans.find(({ name }) => name === 'handler notes.create') as Span
    assert.deepEqual(below(handler), ['own work'])
    const roots = spans.filter(({ parentSpanId = '' }) => parentSpanId === '').map(({ name }) => name)
    assert.ok(!roots.some((name) => name.startsWith('store ')), String(roots))
    const refused = spans.find(({ name }) => name === 'GET /notes/{id}') as Span
    assert.equal(attributeOf(refused, 'http.response.status_code'), 400)
    const lists = spans.filter(({ name }) => name === 'GET /notes')
    const host = spans.find(({ name }) => name === 'host request') as Span
    assert.deepEqual(
      lists.map(({ traceId, parentSpanId = '' }) => [traceId === known, parentSpanId]),
      [
        [false, ''],
        [false, host.spanId],
      ],
    )
    assert.notEqual(lists[0]?.traceId, '0'.repeat(32))

    const durations = received.find(({ name }) => name === 'bylaw_request_duration_seconds')
    assert.equal(durations?.unit, 's')
    const posts = durations?.histogram?.dataPoints.find((one) => attributeOf(one, 'method') === 'POST')
    assert.deepEqual([posts?.count, attributeOf(posts as never, 'route')], [1, '/notes'])
    const refusals = received.find(({ name }) => name === 'bylaw_refusals')
    assert.deepEqual(
      refusals?.sum?.dataPoints.map(({ asDouble }) => asDouble),
      [1],
    )
    const all = JSON.stringify([spans, received])
    for (const sent of [id, 'secret-text', 'value-1']) assert.ok(!all.includes(sent), `${sent} stands in the telemetry`)
  })

  it('is not loaded unless it is turned on', async (t) => {
    const before = spans.length
    const { app } = await openLogged(declared)
    t.after(() => app.close())
    await toFetch(app)(new Request('http://localhost/notes'))
    assert.equal(spans.length, before)
  })
})
