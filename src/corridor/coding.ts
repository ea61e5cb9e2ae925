/** Content coding: compresses answers as the client accepts; each coding has its own tag. Part 7, conditional read. */
import { promisify } from 'node:util'
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib'
import type { Call } from '../flow/call.ts'
import { Memo } from '../flow/memo.ts'
import type { Reply } from '../flow/reply.ts'
import type { Settings } from '../settings.ts'

interface Encoder {
  readonly now: (body: string) => Buffer
  readonly later: (body: string) => Promise<Buffer>
}

/** The levels of Brotli, Zstandard and gzip. */
const encodersOf = (quality: number, zstd: number, level: number): Readonly<Record<string, Encoder>> => {
  const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }
  const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: zstd } }
  return {
    br: {
      now: (body) => brotliCompressSync(body, brotliOptions),
      later: (body) => promisify(brotliCompress)(body, brotliOptions),
    },
    zstd: {
      now: (body) => zstdCompressSync(body, zstdOptions),
      later: (body) => promisify(zstdCompress)(body, zstdOptions),
    },
    gzip: { now: (body) => gzipSync(body, { level }), later: (body) => promisify(gzip)(body, { level }) },
  }
}

/** The codings on offer, the best one first. A page of 40 kB takes 75 µs and becomes 6.9 kB; four times the time gives 6.0 kB. */
const encoders = encodersOf(1, 1, 1)
/** For documents, which are compressed once while the service runs: a page with 30 resources becomes 78 kB with gzip, and 137 kB at the fastest level. */
const thoroughEncoders = encodersOf(9, 12, 9)

/** Up to this length a thread does not pay: the handover takes 60 to 100 µs, a third of it on the event loop. */
const mostInLoop = 65_536

const encodeBody = ({ now, later }: Encoder, body: string): Buffer | Promise<Buffer> =>
  body.length <= mostInLoop ? now(body) : later(body)

const offeredCodings = Object.keys(encoders)

type CodingQualities = ReadonlyMap<string, number>
const noQualities: ReadonlyMap<string, number> = new Map()
/** Pure: qualities by the text of the header; clients send few different ones. */
const qualitiesByHeader = new Memo<string, CodingQualities>(500)
const longestKept = 200

/** The qualities of an Accept-Encoding header; empty if it cannot be parsed. */
function qualitiesOf(text: string): CodingQualities {
  const before = qualitiesByHeader.get(text)
  if (before) return before
  const qualities = parseQualities(text)
  return text.length > longestKept ? qualities : qualitiesByHeader.set(text, qualities)
}

function parseQualities(text: string): CodingQualities {
  const qualities = new Map<string, number>()
  for (const part of text.split(',')) {
    if (part.trim() === '') continue
    const [, coding, quality = '1'] =
      /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i.exec(part) ?? []
    if (coding === undefined) return noQualities
    qualities.set(coding.toLowerCase() === 'x-gzip' ? 'gzip' : coding.toLowerCase(), Number(quality))
  }
  return qualities
}

const codingQuality = (coding: string, qualities: CodingQualities): number =>
  qualities.get(coding) ?? qualities.get('*') ?? 0

/** The best coding that the client accepts; null if the answer is sent uncompressed. R146. */
export function acceptedCoding({ headers }: Call): string | null {
  const text = headers['accept-encoding']
  if (text === undefined || text === '' || headers['cache-control']?.toLowerCase().includes('no-transform')) return null
  const qualities = qualitiesOf(text)
  let best: string | null = null
  let most = qualities.get('identity') ?? 0
  for (const coding of offeredCodings) {
    const quality = codingQuality(coding, qualities)
    if (quality > 0 && (best === null ? quality >= most : quality > most)) [best, most] = [coding, quality]
  }
  return best
}

/** Whether the client still accepts this coding ('' for uncompressed), so that its tag may be answered with 304. R142. */
export function isCodingAcceptable({ headers }: Call, coding: string): boolean {
  const qualities = qualitiesOf(headers['accept-encoding'] ?? '')
  if (coding === '') return qualities.get('identity') !== 0 && !(qualities.get('*') === 0 && !qualities.has('identity'))
  return offeredCodings.includes(coding) && codingQuality(coding, qualities) > 0
}

/** The coding that an answer will be sent in; null if it is too short, coding is off, or the client accepts no coding. */
export function replyCoding(call: Call, { body, headers }: Reply, { compression, resource }: Settings): string | null {
  const { minBytes } = compression
  if (typeof body !== 'string' || minBytes === null || !resource.compress || headers['Content-Encoding'] !== undefined)
    return null
  if (body.length < minBytes && (body.length * 3 < minBytes || Buffer.byteLength(body) < minBytes)) return null
  return acceptedCoding(call)
}

/** Compresses an answer to which no preconditions apply. */
export function encodeIfAccepted(call: Call, reply: Reply, settings: Settings): Promise<Reply> | Reply {
  const coding = replyCoding(call, reply, settings)
  return coding === null ? reply : encodeReply(call, reply, coding)
}

/**
 * Compresses an answer, or takes its compressed body from `kept`; `thoroughly` if many requests get it. HEAD gets the
 * headers of GET without compressing. R10, R122.
 */
export async function encodeReply(
  call: Call,
  reply: Reply,
  coding: string,
  { kept, thoroughly = false }: { readonly kept?: Map<string, Buffer> | undefined; readonly thoroughly?: boolean } = {},
): Promise<Reply> {
  const { ETag } = reply.headers
  const headers: Record<string, string> = { ...reply.headers, 'Content-Encoding': coding }
  if (ETag !== undefined) headers.ETag = tagOfCoding(ETag, coding)
  if (call.method === 'HEAD') return { ...reply, headers, body: '' }
  const encoder = (thoroughly ? thoroughEncoders : encoders)[coding] as Encoder
  const body = kept?.get(coding) ?? (await encodeBody(encoder, reply.body as string))
  kept?.set(coding, body)
  return { ...reply, headers, body }
}

/** The tag of a coding: the plain tag with the coding as a suffix. R122. */
export const tagOfCoding = (etag: string, coding: string): string => `${etag.slice(0, -1)}+${coding}"`

/** Splits a tag into the plain tag and the coding, '' if it has none. */
export function splitCodedTag(tag: string): readonly [plain: string, coding: string] {
  const cut = tag.lastIndexOf('+')
  return cut < 0 ? [tag, ''] : [tag.slice(0, cut), tag.slice(cut + 1)]
}
