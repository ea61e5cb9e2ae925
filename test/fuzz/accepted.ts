/** The differences between both engines that are accepted, each with its reason; docs/security.md lists them. */
import type { Seen } from './echo.ts'

/** Both engines refuse and close, but by different rules: the status of node:http, that of our own engine, and the reason. */
const refusals: Readonly<Record<string, string>> = {
  '405 400': 'llhttp refuses a method that it does not know before it reads the rest of the head',
  '405 414': 'llhttp refuses a method that it does not know before it reads the rest of the head',
  '405 417': 'llhttp refuses a method that it does not know before it reads the rest of the head',
  '417 400': 'llhttp refuses a method that it does not know before it reads the rest of the head',
  '417 414': 'llhttp refuses a method that it does not know before it reads the rest of the head',
  '417 405': 'an expectation that is not met, in a message whose method is unknown',
  '400 405': 'our own engine leaves methods to the service, which reads the whole message first',
  '414 400': 'a message with a long target that is malformed in another way too',
  '400 417': 'a fault in content that arrives before or after its head is refused',
  '400 400': 'llhttp refuses PRI, the method of HTTP/2, before it reads the rest of the head',
  '400 414': 'node:http gives only the last piece of a refused head, so that the service cannot see a long target',
}

/** Bytes that our own engine refuses and llhttp accepts: the reason, and a pattern of such bytes. */
const refusedOnlyByOwn: Readonly<Record<string, RegExp>> = {
  'a line that does not end with CRLF, or an empty line of that kind before a message': /(?:^|[^\r])\n|\r(?!\n)/,
  'more than one space in the request line': /(?:^|\n)[^\r\n]* {2}[^\r\n]*HTTP\/\d/,
  'a chunk size of more than 13 digits': /\r\n[\da-f]{14,}/i,
  'a chunk extension that is not in the grammar of RFC 9112': /\r\n[\da-f]+(?=;)[^\r\n]*(?:=(?=[;\r])|;[;\r=])/i,
}

const isUpgrade = (bytes: string): boolean => /\r\nConnection:[^\r]*upgrade/i.test(bytes) && /\r\nUpgrade:/i.test(bytes)

const target = ({ saw }: Seen): string | null => (saw as { target: string } | null)?.target ?? null

/** The reason why two answers differ; undefined if they do not differ, null if the difference is not accepted. */
function difference(bytes: string, theirs: Seen | undefined, ours: Seen | undefined): string | null | undefined {
  if (JSON.stringify(theirs) === JSON.stringify(ours)) return undefined
  if (
    bytes.includes('__proto__') &&
    JSON.stringify(theirs) === JSON.stringify(ours).replace(/"__proto__":"[^"]*",|,?"__proto__":"[^"]*"/, '')
  )
    return undefined // node:http gives the line in `raw` alone
  if (bytes.includes('PRI ') && !theirs) return 'llhttp ends a connection after PRI without an answer'
  if (isUpgrade(bytes) && (!theirs || theirs.status === 0))
    return 'node:http reads nothing more after content whose message asks for an upgrade'
  if (ours?.status === 400 && ours.closes && (!theirs?.closes || theirs.status === 200)) {
    const stricter = Object.entries(refusedOnlyByOwn).find(([, pattern]) => pattern.test(bytes))
    if (stricter) return stricter[0]
  }
  if (!theirs && ours?.status === 400 && /\n[\r\n]*$/.test(bytes)) return 'an empty line at the end that is not CRLF'
  if (!theirs || !ours) return null
  const isHead = theirs.type === null || ours.type === null // a refused HEAD has no body if its method was read
  if (theirs.status === ours.status && theirs.closes && ours.closes && isHead && theirs.status >= 400) return undefined
  if (theirs.status >= 400 && ours.status >= 400 && theirs.closes && ours.closes)
    return refusals[`${theirs.status} ${ours.status}`] ?? null
  if (unreadFirst(bytes, theirs, ours))
    return 'content that is not read: whether its end, or its fault, arrives before the answer'
  if (theirs.status === ours.status) return closing(bytes, theirs, ours)
  return null
}

function closing(bytes: string, theirs: Seen, ours: Seen): string | null {
  if (ours.status >= 400) return 'content of a refused request: whether all of it arrives before the answer'
  if (ours.closes && /HTTP\/1.0\r\n/.test(bytes) && /close/i.test(bytes) && /keep-alive/.test(bytes))
    return 'HTTP/1.0 with both close and keep-alive'
  if (!theirs.closes || ours.closes) return null
  if (/\r\nUpgrade:/i.test(bytes))
    return 'the service closes after a request for an upgrade, as node:http loses what arrives with it'
  if (/\r\nExpect:[\t ]*100/i.test(bytes)) return 'node:http closes when content came before 100 Continue was sent'
  if (/\r\nProxy-Connection:/i.test(bytes)) return 'llhttp takes Proxy-Connection for Connection'
  return null
}

const unreadFirst = (bytes: string, one: Seen, other: Seen): boolean =>
  ([one, other].some((seen) => target(seen) === '/unread') || bytes.includes('HEAD /unread')) &&
  [one, other].every((seen) => seen.closes || seen.status === 200)

/** Then its CR is content, and the LF is alone before the next message. */
const contentEndsInLineEnd = (seen: Seen | undefined): boolean =>
  (seen !== undefined && (seen.saw === null || target(seen) === '/unread')) ||
  ((seen?.saw as { content?: string | null } | null)?.content ?? '').endsWith('\r')

export function acceptedDifference(bytes: string, theirs: readonly Seen[], ours: readonly Seen[]): string | null {
  for (let i = 0; i < Math.max(theirs.length, ours.length); i++) {
    const found = difference(bytes, theirs[i], ours[i])
    if (found === null && ours[i]?.status === 400 && contentEndsInLineEnd(theirs[i - 1]))
      return 'an empty line before a message that is not CRLF'
    if (found !== undefined) return found
  }
  return 'a refused HEAD is answered with or without a body'
}

/** Whether our own engine gave the same answers, up to one whose content was not read. */
export function sameForAnyCuts(bytes: string, one: readonly Seen[], other: readonly Seen[]): boolean {
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    const [a, b] = [one[i], other[i]]
    if (JSON.stringify(a) === JSON.stringify(b)) continue
    return (
      a !== undefined &&
      b !== undefined &&
      (unreadFirst(bytes, a, b) ||
        (a.status >= 400 && b.status >= 400 && (a.status === b.status || (a.closes && b.closes))))
    )
  }
  return true
}
