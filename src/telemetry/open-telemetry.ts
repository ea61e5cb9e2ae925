/** OpenTelemetry: spans and metrics for the API of OpenTelemetry, an optional package whose SDK the user sets up. Part 8. */
import type { Attributes, BatchObservableCallback, Tracer } from '@opentelemetry/api'
import type { Reply } from '../flow/reply.ts'
import type { MetricFamily } from './metrics.ts'
import { methodLabel, type Telemetry, type Tracing } from './telemetry.ts'

/** The parts of the API that are used. */
export type OpenTelemetryApi = typeof import('@opentelemetry/api')

/** Loads the API; null if it is not installed. */
export async function loadOpenTelemetry(): Promise<OpenTelemetryApi | null> {
  try {
    return await import('@opentelemetry/api')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    return null
  }
}

export function tracingOf(api: OpenTelemetryApi): Tracing {
  const tracer = api.trace.getTracer('bylaw')
  const { trace, context } = api
  const work = workSpans(api, tracer)
  return {
    request: requestSpans(api, tracer),
    handler: (name, act) => work(`handler ${name}`, act),
    plan: (name, act) => (trace.getSpan(context.active()) ? work(`store ${name}`, act) : act()),
  }
}

function requestSpans({ trace, context, propagation, SpanKind, SpanStatusCode }: OpenTelemetryApi, tracer: Tracer) {
  const request: Tracing['request'] = (call, act, observed) => {
    const { method, headers, id } = call
    const active = context.active()
    // In a host that traces its requests itself, its span is the parent; else that of `traceparent`. R26.
    const within = trace.getSpan(active) !== undefined
    const parent = within ? active : propagation.extract(active, headers)
    const kind = within ? SpanKind.INTERNAL : SpanKind.SERVER
    const label = methodLabel(method)
    const attributes = { 'http.request.method': label === 'other' ? '_OTHER' : label, 'bylaw.request_id': id }
    return tracer.startActiveSpan(label, { kind, attributes }, parent, async (span) => {
      try {
        const reply = await act()
        const { route } = observed()
        span.updateName(`${label} ${route}`).setAttributes(answerAttributes(reply, route))
        if (reply.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
        return reply
      } finally {
        span.end()
      }
    })
  }
  return request
}

function workSpans({ SpanStatusCode }: OpenTelemetryApi, tracer: Tracer) {
  const work: Tracing['handler'] = (name, act) =>
    tracer.startActiveSpan(name, (span) => {
      const end = (): void => span.end()
      const fail = (error: unknown): void => {
        // Without the message of the error, which can have values of the request.
        span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' })
        end()
      }
      try {
        const result = act()
        if (result instanceof Promise) result.then(end, fail)
        else end()
        return result
      } catch (error) {
        fail(error)
        throw error
      }
    })
  return work
}

const answerAttributes = ({ status, refused }: Reply, route: string): Attributes => ({
  'http.route': route,
  'http.response.status_code': status,
  ...(refused && { 'error.type': refused.problem.type }),
})

/**
 * Passes the metrics to the API: durations as they are measured, other values when its SDK reads them; until the returned
 * function is called.
 */
export async function exportMetrics(
  { metrics }: OpenTelemetryApi,
  { histograms }: Telemetry,
  read: () => Promise<readonly MetricFamily[]>,
): Promise<() => void> {
  const meter = metrics.getMeter('bylaw')
  for (const one of histograms) {
    const instrument = meter.createHistogram(one.name, { unit: 's', description: one.help })
    one.forward = (seconds, labels) => instrument.record(seconds, labels)
  }
  const single = (await read()).filter(({ type }) => type !== 'histogram')
  const instruments = new Map(
    single.map(({ name, type, unit, help }) => {
      const options = { description: help, ...(unit && { unit: unit === 'seconds' ? 's' : 'By' }) }
      const instrument =
        type === 'counter' ? meter.createObservableCounter(name, options) : meter.createObservableGauge(name, options)
      return [name, instrument] as const
    }),
  )
  const observe: BatchObservableCallback = async (result) => {
    for (const { name, samples } of await read()) {
      const instrument = instruments.get(name)
      for (const { value, labels } of samples) if (instrument) result.observe(instrument, value, labels)
    }
  }
  const all = [...instruments.values()]
  meter.addBatchObservableCallback(observe, all)
  return () => meter.removeBatchObservableCallback(observe, all)
}
