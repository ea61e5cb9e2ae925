/** A stand-in for S3: it verifies signatures by itself, knows ranges and parts, and fails as a test asks for. */
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { bucketContents } from '../../src/contents/bucket.ts'
import { bucketPlace } from '../../src/contents/bucket-place.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { ContentStore, World } from '../../src/flow/world.ts'

/** A fault that a test gives a request: a refusal, a broken connection, or no answer. */
export type Fault =
  | { readonly status: number; readonly code: string; readonly headers?: Record<string, string> }
  /** The connection is cut before the request is carried out, or after it, without an answer. */
  | 'cut'
  | 'cut after'
  | 'silent'
  /** Half of the answer is sent. */
  | 'half'
  | 'half and silent'

export interface SeenRequest {
  readonly method: string
  /** Decoded, without the bucket. */
  readonly key: string
  readonly query: URLSearchParams
  readonly range: string | undefined
}

export interface StandIn {
  readonly endpoint: string
  /** The variables of the environment with which a service uses it. */
  readonly environment: Readonly<Record<string, string>>
  readonly place: string
  readonly objects: Map<string, Buffer>
  /** Uploads that are not complete, by their id. */
  readonly uploads: Map<string, { readonly key: string; readonly parts: Map<number, Buffer> }>
  readonly requests: SeenRequest[]
  /** Whether and how a request fails; replaced by tests. */
  fault: (request: SeenRequest) => Fault | null
  /** Its contents, in parts of 1,000 bytes. */
  readonly contents: (more?: {
    readonly place?: string
    readonly environment?: Readonly<Record<string, string>>
    readonly partSize?: number
    /** Whether it tries to write when it is opened. */
    readonly writes?: boolean
    /** How long it may be silent, in milliseconds. */
    readonly patience?: number
    readonly after?: World['after']
  }) => Promise<ContentStore>
  readonly close: () => Promise<void>
}

const keyId = 'AKIDEXAMPLE'
const secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const [bucket, region] = ['shop-files', 'eu-test-1']

class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

// long because: its requests share what it keeps
/** `token`: the session token that has to be sent. `smallest`: the least size of a part that is not the last one. */
export async function standIn({
  token,
  smallest = 1000,
}: {
  readonly token?: string
  readonly smallest?: number
} = {}): Promise<StandIn> {
  const { objects, uploads, requests } = { objects: new Map(), uploads: new Map(), requests: [] } as Pick<
    StandIn,
    'objects' | 'uploads' | 'requests'
  >
  const server = createServer((request, response) => {
    void respond(request, response).catch((error) => {
      if (!(error instanceof Refusal)) throw error
      refuse(response, error.status, error.code)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { seen, path } = requestOf(request)
    requests.push(seen)
    const fault = own.fault(seen)
    if (fault === 'silent') return void request.resume()
    if (fault === 'cut') return void request.socket.destroy()
    const body = await bodyOf(request)
    if (fault !== null && typeof fault === 'object') return refuse(response, fault.status, fault.code, fault.headers)
    verify(request, body, token)
    if (path !== bucket) throw new Refusal(404, 'NoSuchBucket')
    const answer = carryOut(seen, body)
    if (fault === 'cut after') return void request.socket.destroy()
    const { status = 200, headers = {}, content = Buffer.alloc(0) } = answer
    response.writeHead(status, { 'content-length': String(content.length), ...headers })
    if (fault !== 'half' && fault !== 'half and silent')
      return void response.end(request.method === 'HEAD' ? undefined : content)
    response.write(content.subarray(0, Math.ceil(content.length / 2)), () => {
      if (fault === 'half') setTimeout(() => request.socket.destroy(), 20)
    })
  }

  interface Answer {
    readonly status?: number
    readonly headers?: Record<string, string>
    readonly content?: Buffer
  }

  function carryOut({ method, key, query, range }: SeenRequest, body: Buffer): Answer {
    const upload = query.get('uploadId')
    if (upload !== null) return ofUpload(method, key, query, body)
    if (method === 'POST' && query.has('uploads')) return beginUpload(key)
    if (method === 'GET' && key === '' && query.has('uploads')) return listUploads(query.get('prefix') ?? '')
    if (method === 'PUT') {
      objects.set(key, body)
      return { headers: { etag: tagOf(body) } }
    }
    if (method === 'DELETE') {
      objects.delete(key)
      return { status: 204 }
    }
    const found = objects.get(key)
    if (!found) throw new Refusal(404, 'NoSuchKey')
    if (method === 'HEAD') return { headers: { 'content-length': String(found.length) } }
    assert.equal(method, 'GET')
    return range === undefined ? { content: found } : rangeOf(found, range)
  }

  let begun = 0
  function beginUpload(key: string): Answer {
    const id = `upload/${begun++}+&="${key.length}`
    uploads.set(id, { key, parts: new Map() })
    return xml(
      `<InitiateMultipartUploadResult><Key>${escapedText(key)}</Key><UploadId>${escapedText(id)}</UploadId></InitiateMultipartUploadResult>`,
    )
  }

  function listUploads(prefix: string): Answer {
    const listed = [...uploads].filter(([, { key }]) => key.startsWith(prefix))
    const texts = listed.map(
      ([id, { key }]) => `<Upload><Key>${escapedText(key)}</Key><UploadId>${escapedText(id)}</UploadId></Upload>`,
    )
    return xml(
      `<ListMultipartUploadsResult><Prefix>${escapedText(prefix)}</Prefix>${texts.join('')}</ListMultipartUploadsResult>`,
    )
  }

  function ofUpload(method: string, key: string, query: URLSearchParams, body: Buffer): Answer {
    const id = query.get('uploadId') as string
    const upload = uploads.get(id)
    if (!upload || upload.key !== key) throw new Refusal(404, 'NoSuchUpload')
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body)
      return { headers: { etag: tagOf(body) } }
    }
    uploads.delete(id)
    if (method === 'DELETE') return { status: 204 }
    const named = [...String(body).matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>(.*?)<\/ETag>/g)]
    const parts = named.map(([, number, tag], i) => {
      const part = upload.parts.get(Number(number))
      if (!part || Number(number) !== i + 1 || tag !== tagOf(part)) throw new Refusal(400, 'InvalidPart')
      if (part.length < smallest && i < named.length - 1) throw new Refusal(400, 'EntityTooSmall')
      return part
    })
    if (parts.length === 0) throw new Refusal(400, 'MalformedXML')
    objects.set(key, Buffer.concat(parts))
    return xml('<CompleteMultipartUploadResult/>')
  }

  const environment = {
    AWS_ACCESS_KEY_ID: keyId,
    AWS_SECRET_ACCESS_KEY: secret,
    AWS_REGION: region,
    AWS_ENDPOINT_URL_S3: endpoint,
    ...(token !== undefined && { AWS_SESSION_TOKEN: token }),
  }
  const place = `s3://${bucket}/some%20folder/ü`
  const own: StandIn = {
    ...{ endpoint, environment, place, objects, uploads, requests },
    fault: () => null,
    contents: (more = {}) => {
      const { patience = 10_000, after = realWorld.after } = more
      const world = { ...realWorld, after, random: () => 0.02, environment: more.environment ?? environment }
      return bucketContents(bucketPlace(more.place ?? place, world), world, more.writes ?? false, {
        partSize: more.partSize ?? 1000,
        patience: { answer: patience, piece: patience },
      })
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return own
}

function requestOf({ method = '', url = '', headers }: IncomingMessage): { seen: SeenRequest; path: string } {
  const [path = '', search = ''] = url.split('?', 2)
  const [, first = '', ...rest] = path.split('/')
  const key = rest.map(decodeURIComponent).join('/')
  return { seen: { method, key, query: new URLSearchParams(search), range: headers.range }, path: first }
}

function rangeOf(content: Buffer, range: string) {
  const [, first = '', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? assert.fail(range)
  const [from, end] = [Number(first), last === '' ? content.length : Math.min(content.length, Number(last) + 1)]
  if (from >= content.length) throw new Refusal(416, 'InvalidRange')
  const headers = { 'content-range': `bytes ${from}-${end - 1}/${content.length}` }
  return { status: 206, headers, content: content.subarray(from, end) }
}

/** Verifies a request by its raw lines: its digest, its time, its scope, and its signature. */
function verify(request: IncomingMessage, body: Buffer, token: string | undefined): void {
  const lines = new Map<string, string>()
  for (let i = 0; i < request.rawHeaders.length; i += 2)
    lines.set((request.rawHeaders[i] as string).toLowerCase(), request.rawHeaders[i + 1] as string)
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const given = form.exec(lines.get('authorization') ?? '')
  if (!given) throw new Refusal(403, 'AccessDenied')
  const [, id, day = '', place, names = '', signature] = given
  if (id !== keyId) throw new Refusal(403, 'InvalidAccessKeyId')
  if (place !== region) throw new Refusal(400, 'AuthorizationHeaderMalformed')
  if (lines.get('x-amz-security-token') !== token) throw new Refusal(400, 'InvalidToken')
  const date = lines.get('x-amz-date') ?? ''
  const time = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(time - Date.now()) < 15 * 60_000) || !date.startsWith(day))
    throw new Refusal(403, 'RequestTimeTooSkewed')
  const digest = createHash('sha256').update(body).digest('hex')
  if (lines.get('x-amz-content-sha256') !== digest) throw new Refusal(400, 'XAmzContentSHA256Mismatch')
  const signed = names.split(';')
  const needed = [...lines.keys()].filter((name) => name === 'host' || name === 'range' || name.startsWith('x-amz-'))
  if (needed.some((name) => !signed.includes(name))) throw new Refusal(403, 'AccessDenied')
  const [path, search = ''] = (request.url as string).split('?', 2)
  const canonical = `${request.method}\n${path}\n${search.split('&').sort(byName).join('&')}\n${signed
    .map((name) => `${name}:${lines.get(name)}\n`)
    .join('')}\n${names}\n${digest}`
  const hash = createHash('sha256').update(canonical).digest('hex')
  let key = Buffer.from(`AWS4${secret}`)
  for (const part of [day, region, 's3', 'aws4_request']) key = createHmac('sha256', key).update(part).digest()
  const text = `AWS4-HMAC-SHA256\n${date}\n${day}/${region}/s3/aws4_request\n${hash}`
  if (createHmac('sha256', key).update(text).digest('hex') !== signature)
    throw new Refusal(403, 'SignatureDoesNotMatch')
}

const byName = (one: string, other: string): number =>
  (one.split('=')[0] as string) < (other.split('=')[0] as string) ? -1 : 1

const tagOf = (content: Buffer): string => `"${createHash('md5').update(content).digest('hex')}"`

const escapedText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&#34;').replaceAll('>', '&gt;')

const xml = (text: string) => ({
  headers: { 'content-type': 'application/xml' },
  content: Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`),
})

function refuse(response: ServerResponse, status: number, code: string, headers: Record<string, string> = {}): void {
  const region = code === 'AuthorizationHeaderMalformed' ? '<Region>eu-test-1</Region>' : ''
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>Because &quot;${code}&quot;.</Message>${region}</Error>`
  response.writeHead(status, { 'content-type': 'application/xml', ...headers })
  response.end(response.req.method === 'HEAD' ? undefined : text)
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
