/** Message head: the parts of a head as texts, and how long its content is. Part 1, requests. */
import { type Fault, type HeaderLines, malformed } from './header-lines.ts'

/** A head, as far as it could be read. */
export interface MessageHead {
  readonly method: string
  readonly target: string
  /** The version of HTTP, as `1.1`; empty if the request line is incomplete. */
  readonly http: string
  /** By lower-case name, joined as node:http joins repeated lines. */
  readonly headers: Record<string, string | undefined>
  /** Names and values alternate. */
  readonly raw: readonly string[]
}

/** How a message goes on after its head. */
export interface Framing {
  /** The bytes of its content; null for chunks. */
  readonly length: number | null
  /** Whether another message may follow on the connection. */
  readonly keepAlive: boolean
}

/** Headers of which only the first line counts, as HTTP forbids a list. */
const single =
  'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since last-modified location max-forwards proxy-authorization referer retry-after server user-agent'
/** Pure: the spelling of usual names, each with its lower-case form. Names of other spellings are lowered each time. */
const usual: ReadonlyMap<string, string> = new Map(
  `${single} accept accept-encoding accept-language cache-control connection cookie idempotency-key if-match if-none-match origin prefer request-id sec-fetch-mode traceparent tracestate transfer-encoding x-forwarded-for x-forwarded-proto`
    .split(' ')
    .flatMap((name) => [
      [name, name],
      [name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase()), name],
    ]),
)
const singles: ReadonlySet<string> = new Set(single.split(' '))

/** Has no inherited members, as a header may be called `constructor`; an object of Object.create(null) would be slower. */
class HeaderValues {
  [name: string]: string | undefined
}
Object.setPrototypeOf(HeaderValues.prototype, null)
Reflect.deleteProperty(HeaderValues.prototype, 'constructor')

export function headOf(bytes: Buffer, from: number, lines: HeaderLines): MessageHead {
  const { marks, count, method, target, version } = lines
  const text = bytes.toString('latin1', from, from + Math.max(lines.at, method, target))
  const headers = new HeaderValues()
  const raw: string[] = []
  for (let i = 0; i < count; i += 4) {
    const name = text.substring(marks[i] as number, marks[i + 1] as number)
    const value = text.substring(marks[i + 2] as number, marks[i + 3] as number)
    raw.push(name, value)
    const header = usual.get(name) ?? name.toLowerCase()
    const before = headers[header]
    if (before === undefined) headers[header] = value
    else if (!singles.has(header)) headers[header] = `${before}${header === 'cookie' ? '; ' : ', '}${value}`
  }
  return {
    method: text.slice(0, method),
    target: text.slice(method + 1, target),
    http: version > 0 ? text.slice(version - 3, version) : '',
    headers,
    raw,
  }
}

/** Refuses a message whose length a proxy could read differently. R18. */
export function framingOf({ http, headers, raw }: MessageHead): Framing | Fault {
  const { connection, 'content-length': contentLength, 'transfer-encoding': coding } = headers
  const keepAlive = isKeptAlive(http, connection)
  if (contentLength === undefined && coding === undefined) return keepAlive ? bare : bareAndLast
  if (coding !== undefined) {
    if (contentLength !== undefined) return malformed('Content-Length and Transfer-Encoding exclude each other')
    if (http !== '1.1' || coding.toLowerCase() !== 'chunked')
      return malformed('Transfer-Encoding can only be chunked, and only in HTTP/1.1')
    return { length: null, keepAlive }
  }
  const length = Number(contentLength)
  if (!/^\d+$/.test(contentLength as string) || !Number.isSafeInteger(length))
    return malformed('Invalid Content-Length')
  let count = 0
  for (let i = 0; i < raw.length; i += 2) if ((raw[i] as string).toLowerCase() === 'content-length') count++
  return count === 1 ? { length, keepAlive } : malformed('Content-Length is repeated')
}
/** Whether lines say how long a message is. */
export const hasFraming = ({ headers }: Pick<MessageHead, 'headers'>): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

const bare: Framing = { length: 0, keepAlive: true }
const bareAndLast: Framing = { length: 0, keepAlive: false }

function isKeptAlive(http: string, connection: string | undefined): boolean {
  if (connection === undefined) return http === '1.1'
  const options = connection.toLowerCase().split(/[\t ]*,[\t ]*/)
  return !options.includes('close') && (http === '1.1' || options.includes('keep-alive'))
}
