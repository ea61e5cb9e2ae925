/** Prefer: honours `return=minimal` by leaving out the content. Part 4, methods. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'

const preferencePattern = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g
const returnPattern = /^\s*return\s*(?:=\s*(?:"([^"]*)"|([^\s;]*))\s*)?(?:;|$)/i

/** R120: the answer without content if the client prefers that. Of two `return` preferences the first counts. */
export function preferMinimal({ headers }: Call, reply: Reply, status: number): Reply {
  if (headers.prefer === undefined) return reply
  const all = (headers.prefer.match(preferencePattern) ?? []).map((one) => returnPattern.exec(one))
  const [, quoted, plain] = all.find((one) => one !== null) ?? []
  if ((quoted ?? plain) !== 'minimal') return reply
  return {
    status,
    headers: { ...reply.headers, 'Preference-Applied': 'return=minimal' },
    body: status === 204 ? null : '',
  }
}
