/** Prefer: honours `return=minimal` by leaving out the content, and reads how long to wait. Part 4, methods. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'

const preferencePattern = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g
const returnPattern = /^\s*return\s*(?:=\s*(?:"([^"]*)"|([^\s;]*))\s*)?(?:;|$)/i
const waitPattern = /^\s*wait\s*=\s*(?:"(\d{1,9})"|(\d{1,9}))\s*(?:;|$)/i
/** The longest time that a request waits, in seconds. */
const longestWait = 60

/** The value of the first preference that a pattern finds. */
function preference(header: string, pattern: RegExp): string | undefined {
  const all = (header.match(preferencePattern) ?? []).map((one) => pattern.exec(one))
  const [, quoted, plain] = all.find((one) => one !== null) ?? []
  return quoted ?? plain
}

/** How many seconds the client prefers to wait for an operation to end; 0 if it does not. R28. */
export function preferredWait({ headers: { prefer } }: Call): number {
  const seconds = prefer === undefined ? undefined : preference(prefer, waitPattern)
  return Math.min(Number(seconds ?? 0), longestWait)
}

/** R120: the answer without content if the client prefers that. Of two `return` preferences the first counts. */
export function preferMinimal({ headers }: Call, reply: Reply, status: number): Reply {
  if (headers.prefer === undefined) return reply
  if (preference(headers.prefer, returnPattern) !== 'minimal') return reply
  return {
    status,
    headers: { ...reply.headers, 'Preference-Applied': 'return=minimal' },
    body: status === 204 ? null : '',
  }
}
