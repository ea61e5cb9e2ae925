/** Payload: reads the content of a request within its limit, decodes it and parses it. Part 8, body size. */
import { pipeline } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createZstdDecompress,
  gunzip,
  zstdDecompress,
} from 'node:zlib'
import {
  codingsOf,
  contentFlow,
  contentTooLarge,
  declaredLength,
  jsonPatchType,
  mediaTypeOf,
} from '../endpoints/content-negotiation.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Document, RequestContext } from '../flow/intent.ts'
import type { Route } from '../flow/route.ts'
import { readJsonPatch } from '../resources/json-patch.ts'
import type { Settings } from '../settings.ts'
import { parseJson, parseObject } from './json.ts'

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
}

const streamDecoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/** The content of a request: the JSON object or form, or the operations of a JSON Patch. */
type Payload = Pick<RequestContext, 'patch'> & { readonly body: Document }

/** The content of a request; null if the route takes none. Complete content has its declared length. */
export async function readPayload(
  call: Call,
  { content, contentOptional, resource, about }: Route,
): Promise<Payload | null> {
  const { settings } = resource
  if (content.length === 0) return admitNoContent(call, settings)
  const whole = call.content?.readIfComplete?.() ?? null
  const sent = whole ? bufferOf(whole) : await readContent(call, settings.limits.body)
  const bytes = sent.length === 0 ? sent : await decodeContent(sent, codingsOf(call), settings.limits.body)
  if (about.body === 'form') return { body: { form: bytes.toString() } }
  if (bytes.length === 0 && contentOptional) return { body: {} }
  if (bytes.length === 0) throw new Problem('body-required', 'Content is required: send a JSON object.')
  if (!content.includes(jsonPatchType) || mediaTypeOf(call) !== jsonPatchType)
    return { body: parseObject(bytes, settings.body) }
  return { body: {}, patch: readJsonPatch(parseJson(bytes, settings.body), settings.body.maxKeys) }
}

/** The content of a request as it arrives, decoded, however long it is. */
export async function* flowingContent(call: Call, settings: Settings): AsyncGenerator<Uint8Array, void, undefined> {
  const codings = codingsOf(call).toReversed()
  let pieces: AsyncIterable<Uint8Array> = contentFlow(call, settings.limits.idleTimeout)
  for (const coding of codings)
    pieces = pipeline(pieces, streamDecoders[coding as keyof typeof streamDecoders](), () => {}) as never
  try {
    yield* pieces
  } catch (cause) {
    if (cause instanceof Problem) throw cause
    const isCoded =
      codings.length > 0 &&
      /^(?:Z_|ERR_(?:_?ERROR|BROTLI|ZSTD|PADDING))/.test((cause as NodeJS.ErrnoException).code ?? '')
    throw isCoded ? invalidCoding(codings.join(', '), cause) : brokenOffContent(cause)
  }
}

/** Refuses content where it has no meaning. R16. */
export async function admitNoContent(call: Call, settings: Settings): Promise<null> {
  const length = declaredLength(call)
  if (call.content === null || length === 0) return null
  if (settings.body.onBodyless === 'ignore') await readContent(call, settings.limits.body)
  else if (length !== null || (await hasBytes(call.content)))
    throw new Problem('unexpected-body', `${call.method} accepts no content here; leave it out.`)
  return null
}

async function hasBytes(content: AsyncIterable<Uint8Array>): Promise<boolean> {
  try {
    for await (const chunk of content) if (chunk.length > 0) return true
  } catch (cause) {
    throw cause instanceof Problem ? cause : brokenOffContent(cause)
  }
  return false
}

async function readContent({ content }: Call, most: number): Promise<Buffer> {
  if (content === null) return Buffer.alloc(0)
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of content) {
      length += chunk.length
      if (length > most) throw contentTooLarge(most)
      chunks.push(chunk)
    }
  } catch (cause) {
    throw cause instanceof Problem ? cause : brokenOffContent(cause)
  }
  const [first, ...more] = chunks
  return first && more.length === 0 ? bufferOf(first) : Buffer.concat(chunks)
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

const invalidCoding = (coding: string, cause: unknown): Problem =>
  new Problem('malformed-request', `The content is not valid ${coding}.`, { extra: { in: 'body' }, cause })

/** Content that breaks off because the client disconnected is not a failure of the service. */
const brokenOffContent = (cause: unknown): Problem =>
  new Problem('malformed-request', 'The content broke off before its end.', { cause })

/** Undoes the codings, the last one first; the decoded size is limited too. R33. */
async function decodeContent(bytes: Buffer, codings: readonly string[], most: number): Promise<Buffer> {
  let plain = bytes
  for (const coding of codings.toReversed()) {
    try {
      plain = await decoders[coding as keyof typeof decoders](plain, { maxOutputLength: most })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw contentTooLarge(most)
      throw invalidCoding(coding, error)
    }
  }
  return plain
}
