/** Reads which trace a request belongs to, so that log lines of several services can be put together. Part 1. */
import type { Call } from '../flow/call.ts'

const context = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?$/

/** The trace of a `traceparent`; an invalid one means nothing. Only versions to come may say more. R26. */
export function traceOf({ headers: { traceparent } }: Call): { traceId: string } | null {
  if (traceparent === undefined) return null
  const [, version, traceId, more] = context.exec(traceparent) ?? []
  return traceId === undefined || (version === '00' && more !== undefined) ? null : { traceId }
}
