/** Answer log: one line for each answer. Part 1. */
import { redact } from '../auth/credentials.ts'
import { traceOf } from '../corridor/message.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import type { Call } from '../flow/call.ts'
import { elapsedSince } from '../flow/world.ts'

/** Logs one line for each answer. The query may be secret and is left out; credentials in the path are redacted. R164. */
export function logAnswer(call: Call, status: number, { log, world }: ServerContext, started: number): void {
  const { id, method, target } = call
  const end = target.indexOf('?')
  const line = {
    requestId: id,
    method: /^[A-Z-]{1,20}$/i.test(method) || method === '' ? method : '***', // a malformed message can have any text here
    path: redact(end < 0 ? target : target.slice(0, end)),
    status,
    ms: elapsedSince(world, started),
  }
  const trace = traceOf(call)
  log.info(trace === null ? line : { ...line, ...trace }, 'answered')
}
