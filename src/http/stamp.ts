/** The last headers of every answer, by whichever door it leaves. Part 1. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import type { House } from './house.ts'

/** Since when a request is served, on the monotonic clock. */
export type Started = number

export const began = (): Started => performance.now()

/** The time since, in milliseconds with two digits. */
export const took = (started: Started): number => Math.round((performance.now() - started) * 100) / 100

/** R10, R26, R27, R143. */
export function stamp(call: Call, { headers, body }: Reply, { service, world }: House, started: Started): void {
  headers['Request-Id'] = call.id
  headers.Date = dateOf(world.now())
  if (service.settings.serverTiming) headers['Server-Timing'] = `total;dur=${took(started)}`
  if (body !== null && (call.method !== 'HEAD' || headers['Content-Encoding'] === undefined))
    headers['Content-Length'] = String(Buffer.byteLength(body))
}

let latest = { second: 0, text: '' }

/** The engine's own date can be behind by a second, R130; of many answers in one second the text is made once. */
function dateOf(now: number): string {
  const second = Math.floor(now / 1000)
  if (latest.second !== second) latest = { second, text: new Date(now).toUTCString() }
  return latest.text
}
