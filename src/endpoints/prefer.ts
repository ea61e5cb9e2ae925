/** Prefer: honours `return=minimal` by leaving out the content, and reads how long to wait. Part 4, methods. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'

/** One preference of the list. A quotation that does not end takes the rest, so that no text is read twice. */
const preferencePattern = /(?:[^,"]|"(?:[^"\\]|\\.)*(?:"|\\?$))+/gs
/** The longest time that a request waits, in seconds. */
const longestWait = 60

/** The value of a preference; of several with this name the first counts. */
function preference(header: string, wanted: string): string | undefined {
  for (const one of header.match(preferencePattern) ?? []) {
    const [name = '', value = ''] = one.split(';', 1).join('').split('=')
    if (name.trim().toLowerCase() === wanted) return value.trim().replace(/^"(.*)"$/, '$1')
  }
  return undefined
}

/** How many seconds the client prefers to wait for an operation to end; 0 if it does not. R28. */
export function preferredWait({ headers: { prefer = '' } }: Call): number {
  const seconds = preference(prefer, 'wait') ?? ''
  return /^\d+$/.test(seconds) ? Math.min(Number(seconds), longestWait) : 0
}

/** The preference that an answer 202 honours; undefined if the client has none. R28. */
export function appliedOfAsync(call: Call): string | undefined {
  if (preference(call.headers.prefer ?? '', 'respond-async') !== undefined) return 'respond-async'
  const wait = preferredWait(call)
  return wait === 0 ? undefined : `wait=${wait}`
}

/** R120: the answer without content if the client prefers that. Of two `return` preferences the first counts. */
export function preferMinimal({ headers }: Call, reply: Reply, status: number): Reply {
  if (headers.prefer === undefined) return reply
  if (preference(headers.prefer, 'return') !== 'minimal') return reply
  return {
    status,
    headers: { ...reply.headers, 'Preference-Applied': 'return=minimal' },
    body: status === 204 ? null : '',
  }
}
