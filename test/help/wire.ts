/** Sends raw bytes, which no HTTP client would send, and parses all answers on the connection. */
import { connect } from 'node:net'

/** One answer as it was sent. */
export interface RawAnswer {
  readonly status: number
  /** By lower-case name; the last line of repeated ones. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly json: any
}

/** Parses the answers on a connection; the first `bare` of them have no content, such as answers to HEAD. */
export function answers(bytes: string, bare = 0): RawAnswer[] {
  const found: RawAnswer[] = []
  for (let rest = bytes; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) \S/.exec(first)?.[1])
    if (end < 0 || Number.isNaN(status)) throw new Error(`This is no answer: ${rest.slice(0, 200)}`)
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const length = found.length < bare ? 0 : Number(headers['content-length'] ?? 0)
    const content = rest.slice(end + 4, end + 4 + length)
    if (content.length < length) throw new Error(`This answer is cut off: ${rest.slice(0, 200)}`)
    const text = Buffer.from(content, 'latin1').toString()
    const json = /json/.test(headers['content-type'] ?? '') && text !== '' ? JSON.parse(text) : null
    found.push({ status, headers, text, json })
    rest = rest.slice(end + 4 + length)
  }
  return found
}

/** The head of a message. */
export const head = (...lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`

/** A complete request with a valid Host. */
export function message(line: string, lines: readonly string[] = [], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  return head(`${line} HTTP/1.1`, 'Host: localhost', ...length, ...lines) + body
}

/** Sends each part after an answer to the part before, half-closes, and returns everything that was received. */
export function converse(port: number, parts: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    let next = 0
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const say = () => {
      if (next < parts.length) socket.write(parts[next++] as string)
      if (next === parts.length) socket.end()
    }
    socket.setTimeout(30_000, () => socket.destroy(new Error(`Nothing more came back behind: ${text}`)))
    socket.on('connect', say)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      say()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}

/** Sends everything before it reads anything, as a simple client does, and returns everything that was received. */
export function unload(port: number, first: string, rest: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect({ port, host: '127.0.0.1' })
    socket.setTimeout(30_000, () => socket.destroy(new Error(`Nothing more came back behind: ${text}`)))
    socket.pause()
    socket.write(first)
    socket.write(rest, () => socket.resume())
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}
