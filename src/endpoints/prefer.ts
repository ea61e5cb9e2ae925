/** Honours `Prefer: return=minimal`: the answer without its content. Part 4, methods. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'

/** R120: the status of the short answer, or the whole answer where none was asked for. */
export function minimal({ headers }: Call, reply: Reply, status: number): Reply {
  const prefer = headers.prefer
  if (prefer === undefined || !prefer.split(/[,;]/).some((one) => /^\s*return\s*=\s*"?minimal"?\s*$/i.test(one)))
    return reply
  return { status, headers: { ...reply.headers, 'Preference-Applied': 'return=minimal' }, body: null }
}
