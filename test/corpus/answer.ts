/**
 * Puts an answer into the form that is compared.
 *
 * - Random values are replaced by names, see names.ts.
 * - The wording of refusals is left out: `message`, `detail` and `title` of error bodies, and `error_description` of challenges.
 *   Types, pointers, names, further members and their order stay.
 * - Content is decoded; its coding stays in the headers.
 * - `Content-Length` is written `=` if it is the length of the received content. Without content (HEAD, 304) it stays, unless
 *   the content would be a refusal or compressed: then its length depends on wording or on random values, and is written `?`.
 * - Pages for people are left out, as are their tag and their Content-Security-Policy, which change with their style.
 * - Everything else is compared byte by byte: the order of headers, the case of their letters, white space in bodies.
 */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { messageIn, type Received } from './client.ts'
import type { Answer } from './exchange.ts'
import type { Names } from './names.ts'

const decoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
}

const wording = new Set(['message', 'detail', 'title'])

/** A body without the texts that people read. */
function wordless(text: string): string {
  try {
    return JSON.stringify(
      JSON.parse(text, (name, value) => (wording.has(name) && typeof value === 'string' ? '…' : value)),
    )
  } catch {
    return text
  }
}

/** The content of an answer as text, its coding undone. */
export function decoded({ headers, body }: Received): string {
  const coding = headers.find(([name]) => name.toLowerCase() === 'content-encoding')?.[1] ?? ''
  return (body.length > 0 ? (decoders[coding]?.(body) ?? body) : body).toString()
}

export function answerOf(received: Received, names: Names, at: number): Answer {
  const { status, headers, body } = received
  const isCoded = headers.some(([name]) => name.toLowerCase() === 'content-encoding')
  const text = decoded(received)
  const isRefusal = status >= 400
  const isPage = headers.some(([name, value]) => name.toLowerCase() === 'content-type' && value.startsWith('text/html'))
  const length = (value: string): string => {
    if (Number(value) === body.length && body.length > 0) return '='
    return body.length === 0 && value !== '0' && (isRefusal || isCoded) ? '?' : value
  }
  const lines = headers.map(([name, value]) => {
    const shown = name.toLowerCase() === 'content-length' ? length(value) : value
    if (isPage && /^(?:etag|content-security-policy|content-length)$/i.test(name)) return `${name}: …`
    return `${name}: ${shown.replace(/error_description="[^"]*"/, 'error_description="…"')}`
  })
  return {
    status,
    headers: lines.map((line) => names.name(line, at)),
    body: isPage ? '…' : names.name(isRefusal ? wordless(text) : text, at),
  }
}

/** All messages of one connection as one answer: the first message, with the others as JSON after its content. */
export function answersOf(bytes: Buffer, methods: readonly string[], names: Names, at: number): Answer {
  const found: Answer[] = []
  let rest = bytes
  while (rest.length > 0) {
    const taken = messageIn(rest, headOrNot(rest, methods))
    if (taken === null) {
      found.push({ status: 0, headers: [], body: names.name(rest.toString('latin1'), at) })
      break
    }
    found.push(answerOf(taken.message, names, at))
    rest = taken.rest
  }
  const [first = { status: 0, headers: [], body: '' }, ...others] = found
  if (others.length === 0) return first
  return { ...first, body: `${first.body}\n${others.map((one) => JSON.stringify(one)).join('\n')}` }
}

/** Finds out whether an answer is one to HEAD: then nothing follows its headers, or the next answer does. */
function headOrNot(bytes: Buffer, methods: readonly string[]): string {
  if (!methods.includes('HEAD')) return 'GET'
  const end = bytes.indexOf('\r\n\r\n')
  const after = bytes.subarray(end + 4)
  return end >= 0 && (after.length === 0 || after.subarray(0, 5).toString() === 'HTTP/') ? 'HEAD' : 'GET'
}
