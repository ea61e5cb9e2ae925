/** Content negotiation: chooses the representation, and refuses content that a route does not take. Part 4, path rules. */
import { shortName } from '../errors/pointer.ts'
import { Problem } from '../errors/problem.ts'
import { type Call, headerLines } from '../flow/call.ts'
import type { Route } from '../flow/route.ts'

interface MediaRange {
  readonly type: string
  readonly quality: number
}

const tokenPattern = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const mediaTypePattern = new RegExp(`[ \\t]*(${tokenPattern}/${tokenPattern})[ \\t]*`, 'y')
const parameterPattern = new RegExp(
  `;[ \\t]*(?:(${tokenPattern})[ \\t]*=[ \\t]*(${tokenPattern}|"(?:[^"\\\\]|\\\\.)*")[ \\t]*)?`,
  'y',
)

interface MediaType {
  readonly type: string
  readonly parameters: readonly (readonly [name: string, value: string])[]
}

/** Parses a media type; the type and the names of parameters become lower case. Null if the text is malformed. */
function parseMediaType(text: string): MediaType | null {
  mediaTypePattern.lastIndex = 0
  const type = mediaTypePattern.exec(text)?.[1]
  if (type === undefined) return null
  const parameters: [string, string][] = []
  let end = mediaTypePattern.lastIndex
  while (end < text.length) {
    parameterPattern.lastIndex = end
    const match = parameterPattern.exec(text)
    if (match === null) return null
    const [, name, value = ''] = match
    if (name !== undefined) parameters.push([name.toLowerCase(), value.replace(/^"|"$|\\(.)/g, '$1')])
    end = parameterPattern.lastIndex
  }
  return { type: type.toLowerCase(), parameters }
}

/** The media ranges of an Accept header; null if it is malformed, which counts as accepting everything. R30. */
function mediaRanges(text: string): MediaRange[] | null {
  const ranges: MediaRange[] = []
  for (const part of text.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []) {
    if (part.trim() === '') continue
    const media = parseMediaType(part)
    const [, quality = '1'] = media?.parameters.find(([name]) => name === 'q') ?? []
    if (!media || /^\*\/[^*]/.test(media.type) || !/^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(quality)) return null
    ranges.push({ type: media.type, quality: Number(quality) })
  }
  return ranges.length === 0 ? null : ranges
}

/** The quality of a media type: that of the most specific range that covers it. */
function typeQuality(type: string, accept: readonly MediaRange[]): number {
  for (const cover of [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*']) {
    const covering = accept.filter((range) => range.type === cover)
    if (covering.length > 0) return Math.max(...covering.map(({ quality }) => quality))
  }
  return 0
}

const jsonType = 'application/json'
export const mergePatchType = 'application/merge-patch+json'
export const streamType = 'text/event-stream'

/** The stream that a client prefers to JSON: it ranks it higher, or as high and names its type. Null without one. R213. */
export function preferredStream({ headers: { accept } }: Call, types: readonly string[]): string | null {
  const wanted = accept === undefined ? null : mediaRanges(accept)
  if (wanted === null) return null
  const json = typeQuality(jsonType, wanted)
  let [best, most]: [string | null, number] = [null, 0]
  for (const stream of types) {
    const quality = typeQuality(stream, wanted)
    const isPreferred = quality > json || (quality === json && wanted.some(({ type }) => type === stream))
    if (isPreferred && quality > most) [best, most] = [stream, quality]
  }
  return best
}

/** Whether a client prefers HTML to JSON, as browsers do. */
export function prefersHtml({ headers: { accept } }: Call): boolean {
  const wanted = accept === undefined ? null : mediaRanges(accept)
  return wanted !== null && typeQuality('text/html', wanted) > typeQuality(jsonType, wanted)
}

/** Refuses a client that accepts neither the type of the answer, which is JSON or a merge patch, nor one of the streams. R31. */
export function negotiate(
  call: Call,
  { streams = [], answersPatch, answersContent }: Pick<Route, 'streams' | 'answersPatch' | 'answersContent'> = {},
): void {
  if (answersContent) return
  const type = answersPatch?.(call) ? mergePatchType : jsonType
  const { headers } = call
  if (streams.length > 0 && preferredStream(call, streams) !== null) return
  const { accept } = headers
  if (accept === undefined || accept === '*/*' || accept === type) return
  const wanted = mediaRanges(accept)
  if (wanted === null || typeQuality(type, wanted) > 0) return
  const only = streams.length === 0 ? `${type} only` : [type, ...streams].join(', ')
  throw new Problem(
    'not-acceptable',
    `The answer is available as ${only}; send Accept: ${[type, ...streams].join(' or ')} or leave it out.`,
  )
}

/** Whether the client accepts errors in the form of RFC 9457, which it must name explicitly. R158. */
export function wantsProblem({ headers }: Call): boolean {
  const { accept } = headers
  if (accept === undefined || !accept.toLowerCase().includes('problem+json')) return false
  return (mediaRanges(accept) ?? []).some(({ type, quality }) => type === 'application/problem+json' && quality > 0)
}

/** The declared length of the content; 0 if there is no content, null if the transfer is chunked. */
export function declaredLength({ headers }: Call): number | null {
  if (headers['transfer-encoding'] !== undefined) return null
  return Number(headers['content-length'] ?? 0)
}

/** Refuses content by its type, coding or declared length. R32, R33, R178. */
export function admitContent(call: Call, route: Route): void {
  route.upload?.admit(call)
  const length = declaredLength(call)
  if (route.content.length === 0 || route.upload) return
  if (call.method === 'QUERY') admitQuery(call, route)
  if (length === 0) return
  admitType(call, route)
  admitCoding(call, route)
  const most = route.resource.settings.limits.body
  if (length !== null && length > most && !route.importing) throw contentTooLarge(most)
}

/** QUERY requires Content-Type even without content. R15. */
function admitQuery({ method, headers }: Call, { content }: Route): void {
  if (headers['content-type'] !== undefined) return
  const message = `This method needs Content-Type: ${content.join(' or ')}.`
  throw new Problem('malformed-request', message, { headers: acceptHeaders(content, method) })
}

export function contentTooLarge(most: number): Problem {
  return new Problem('content-too-large', `The content is larger than ${most} bytes, the maximum here.`)
}

/** The media type of the content in lower case, without parameters; null if there is none or it is malformed. */
export const mediaTypeOf = ({ headers }: Call): string | null =>
  parseMediaType(headers['content-type'] ?? '')?.type ?? null

/** The media type of JSON Patch. R118. */
export const jsonPatchType = 'application/json-patch+json'

function admitType(call: Call, { content }: Route): void {
  const { headers, method } = call
  if (headerLines(call, 'content-type').length > 1)
    throw new Problem('malformed-request', 'The request has more than one Content-Type line. Send one.')
  const contentType = headers['content-type']
  const media = parseMediaType(contentType ?? '')
  if (!media || !content.includes(media.type)) {
    const message = `Content of the type ${shortName(contentType ?? '(none given)')} is not accepted here. Send Content-Type: ${content.join(' or ')}.`
    throw new Problem('unsupported-media-type', message, { headers: acceptHeaders(content, method) })
  }
  const charset = media.parameters.find(([name, value]) => name === 'charset' && value.toLowerCase() !== 'utf-8')
  if (charset !== undefined) {
    const message = `The charset ${shortName(charset[1])} is not accepted; send JSON in utf-8.`
    throw new Problem('unsupported-charset', message, { headers: acceptHeaders(content, method) })
  }
}

/** The accepted media types, in the headers that the method has for them. R15, R32. */
function acceptHeaders(content: readonly string[], method: string): Record<string, string> {
  const types = content.join(', ')
  if (method === 'PATCH') return { Accept: types, 'Accept-Patch': types }
  return method === 'QUERY' ? { Accept: types, 'Accept-Query': types } : { Accept: types }
}

/** The codings of the content in the order they were applied. */
export function codingsOf({ headers }: Call): string[] {
  const header = headers['content-encoding'] ?? ''
  return header
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => one !== '' && one !== 'identity')
}

const mostCodings = 3 // each one is decoded in full, so many of them would be a cheap attack

function admitCoding(call: Call, { resource }: Route): void {
  const { codings } = resource.settings.request
  const sentCodings = codingsOf(call)
  const foreign = sentCodings.find((one) => !(codings as readonly string[]).includes(one === 'x-gzip' ? 'gzip' : one))
  if (foreign === undefined && sentCodings.length <= mostCodings) return
  const what =
    foreign === undefined
      ? `More than ${mostCodings} content codings are`
      : `The content coding ${shortName(foreign)} is`
  const mend = codings.length > 0 ? `Send ${codings.join(', ')} or none.` : 'Send the content as it is.'
  throw new Problem('unsupported-content-coding', `${what} not accepted. ${mend}`, {
    headers: { 'Accept-Encoding': codings.join(', ') || 'identity' },
  })
}

/** The content as it arrives, of any length. Throws if it has another length than declared, so that no part counts as the whole. */
export async function* contentFlow(call: Call, idle: number, part = 0): AsyncGenerator<Uint8Array, void, undefined> {
  const declared = call.headers['content-length'] === undefined ? null : declaredLength(call)
  let length = 0
  for await (const piece of call.content?.flow(idle, part) ?? []) {
    length += piece.length
    yield piece
  }
  if (declared !== null && declared !== length)
    throw new Problem('malformed-request', `The content has ${length} bytes, not ${declared} as declared.`)
}
