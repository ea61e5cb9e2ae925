/** Checks the answers to malformed requests: well-formed messages, no 5xx, errors in the common form. */

export interface Message {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The messages on a connection, in order; a reason if the bytes are not HTTP. */
export function messagesOf(bytes: Buffer, headAsked: boolean): Message[] | string {
  const found: Message[] = []
  let rest = bytes
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return `the head does not end: ${rest.subarray(0, 80)}`
    const [first = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    if (!status) return `no status line: ${first}`
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(':', 1)[0]?.toLowerCase() ?? '', line.slice(line.indexOf(':') + 1).trim()]),
    )
    rest = rest.subarray(end + 4)
    if (status === 100) continue
    // an answer to HEAD ends with its head: nothing follows, or the next answer
    const ends = rest.length === 0 || rest.subarray(0, 5).toString() === 'HTTP/'
    const bare = status === 204 || status === 304 || (headAsked && ends)
    const taken = bare ? { body: Buffer.alloc(0), rest } : bodyOf(rest, headers)
    if (typeof taken === 'string') return taken
    rest = taken.rest
    found.push({ status, headers, body: taken.body.toString() })
  }
  return found
}

function bodyOf(bytes: Buffer, headers: Readonly<Record<string, string>>): { body: Buffer; rest: Buffer } | string {
  const length = Number(headers['content-length'])
  if (Number.isNaN(length)) return 'an answer with content has no Content-Length'
  if (bytes.length < length) return `the content ends after ${bytes.length} of ${length} bytes`
  return { body: bytes.subarray(0, length), rest: bytes.subarray(length) }
}

/** The fault of a message; null if it has none. */
export function wrongWith({ status, headers, body }: Message): string | null {
  if (status >= 500) return `status ${status}: ${body}`
  if (status < 200 || (status >= 300 && status < 400 && status !== 304))
    return `status ${status} is none of this service`
  if (headers['request-id'] === undefined) return 'no Request-Id'
  if (headers['content-encoding'] !== undefined || body === '')
    return status >= 400 && headers['content-length'] === '0' ? 'an error without content' : null
  if (!/^application\/(problem\+)?json$/.test(headers['content-type'] ?? ''))
    return `content type ${headers['content-type']}`
  return wrongBody(status, body)
}

function wrongBody(status: number, body: string): string | null {
  let value: Record<string, unknown>
  try {
    value = JSON.parse(body)
  } catch {
    return `no JSON: ${body.slice(0, 100)}`
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'the top level is no object'
  if (status < 400) return null
  const reported =
    typeof (value.message ?? value.detail) === 'string' && typeof value.type === 'string' && Array.isArray(value.types)
  if (!reported) return `not an error body: ${body.slice(0, 200)}`
  return /node:|\.ts\b|\bat \w+ \(|SELECT |sqlite/i.test(String(value.message))
    ? `the message tells of the inside: ${value.message}`
    : null
}
