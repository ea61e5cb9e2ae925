/** Bucket: keeps contents of files in a bucket of S3, or of a server that speaks its protocol. Part 2, fields. */
import type { ContentStore, World } from '../flow/world.ts'
import { BucketFault, element, elements } from './bucket-fault.ts'
import type { BucketPlace } from './bucket-place.ts'
import { type BucketPatience, BucketRequests, usualPatience } from './bucket-requests.ts'

interface BucketTerms {
  /** How many bytes of an upload are in memory and sent as one part; more for contents that would have too many parts. */
  readonly partSize: number
  readonly patience: BucketPatience
}

const MiB = 1024 * 1024
/** Servers take no smaller parts. */
const usualTerms: BucketTerms = { partSize: 5 * MiB, patience: usualPatience }

/** The name that is written at the start to check the right to write; no content has this name. */
export const probeName = 'bylaw'

const mostParts = 10_000
/** How often reading continues after the connection broke off; arriving bytes reset the count. */
const mostBreaks = 5
const progress = MiB

/** Throws if the bucket is not there, cannot be reached, or refuses the access key; with `writes`, also if the key may not write. */
export async function bucketContents(
  place: BucketPlace,
  world: World,
  writes: boolean,
  { partSize, patience }: BucketTerms = usualTerms,
): Promise<ContentStore> {
  const requests = new BucketRequests(place, world, patience)
  const keyOf = (name: string) => place.prefix + name
  const length = (name: string) => lengthOf(requests, keyOf(name))
  const holds = (most: number) => Math.max(partSize, Math.ceil(most / mostParts))
  await probe(requests, keyOf(probeName))
  if (writes) await probeWriting(requests, keyOf(probeName))
  return {
    ...{ length, holds },
    close: () => requests.close(),
    write: (name, pieces, most) => writeContent(requests, keyOf(name), pieces, holds(most)),
    read: (name, from, end) => readContent(requests, keyOf(name), from, end),
    remove: async (name) => {
      const key = keyOf(name)
      if ((await length(name)) === null) await abortUploads(requests, key)
      else await requests.send({ method: 'DELETE', key })
    },
  }
}

/** Reads a key that is not there: it needs the rights to read and to list, and leaves nothing behind. */
async function probe(requests: BucketRequests, key: string): Promise<void> {
  await requests.send({ method: 'GET', key, headers: { range: 'bytes=0-0' } }).catch((fault: BucketFault) => {
    if (fault.code !== 'NoSuchKey' && fault.code !== 'InvalidRange') throw fault
  })
}

/** Stores an object and removes it. Other processes may do the same at the same time. */
async function probeWriting(requests: BucketRequests, key: string): Promise<void> {
  await naming('s3:PutObject', requests.send({ method: 'PUT', key, body: '', headers: ofBytes }))
  await naming('s3:DeleteObject', requests.send({ method: 'DELETE', key }))
}

/** Names the right that is missing if the bucket denies a request. */
const naming = (right: string, answer: Promise<unknown>): Promise<unknown> =>
  answer.catch((fault: BucketFault) => {
    if (fault.code !== 'AccessDenied') throw fault
    throw new BucketFault(`${fault.message} It lacks ${right}.`, fault.code, { passes: false, cause: fault })
  })

async function lengthOf(requests: BucketRequests, key: string): Promise<number | null> {
  try {
    return Number((await requests.send({ method: 'HEAD', key })).headers['content-length'])
  } catch (fault) {
    if ((fault as BucketFault).code === 'HTTP 404') return null
    throw fault
  }
}

/** Continues where a connection broke off, as contents never change. */
async function* readContent(
  requests: BucketRequests,
  key: string,
  from: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  let at = from
  for (let breaks = 0; at < end; ) {
    const since = at
    const pieces = await requests.open({ method: 'GET', key, headers: { range: `bytes=${at}-${end - 1}` } })
    try {
      for await (const piece of pieces) {
        at += piece.length
        if (at > end) throw new Error(`The bucket has sent more of ${key} than it was asked for.`)
        yield piece
      }
      if (at < end)
        throw new BucketFault(`The bucket has sent less of ${key} than it was asked for.`, '', { passes: true })
    } catch (fault) {
      breaks = at - since < progress ? breaks + 1 : 1
      if (!(fault instanceof BucketFault) || !fault.passes || breaks > mostBreaks) throw fault
    }
  }
}

/** Holds one part at a time. A content that fits into a part is stored by one request. */
async function writeContent(
  requests: BucketRequests,
  key: string,
  pieces: AsyncIterable<Uint8Array>,
  partSize: number,
): Promise<void> {
  let part = new Part(partSize)
  let upload: Upload | null = null
  try {
    for await (const piece of pieces)
      for (let rest = part.take(piece); rest.length > 0; rest = part.take(rest)) {
        upload ??= await Upload.begin(requests, key)
        await upload.add(part.bytes())
        part = new Part(partSize) // its memory counts for other uploads until it is filled
      }
    if (upload === null) await requests.send({ method: 'PUT', key, ...stored(part.bytes()), headers: ofBytes })
    else await upload.complete(part.bytes())
  } catch (error) {
    await upload?.abort().catch(() => {}) // it is aborted again when the content is swept
    throw error
  }
}

const stored = (body: Uint8Array) => ({ body, effort: body.length })
const ofBytes = { 'content-type': 'application/octet-stream' }

/** Bytes up to a size, in memory that grows with them. Pieces are copied, as many small ones would take more memory. */
class Part {
  readonly #size: number
  #buffer = Buffer.alloc(0)
  #length = 0

  constructor(size: number) {
    this.#size = size
  }

  /** Adds the bytes that it has room for, and returns the rest. */
  take(piece: Uint8Array): Uint8Array {
    const taken = piece.subarray(0, this.#size - this.#length)
    const length = this.#length + taken.length
    if (length > this.#buffer.length) this.#grow(length)
    this.#buffer.set(taken, this.#length)
    this.#length = length
    return piece.subarray(taken.length)
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#size, Math.max(length, 2 * this.#buffer.length, 65_536)))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }
}

/** A content that is stored in parts. */
class Upload {
  readonly #requests: BucketRequests
  readonly #key: string
  readonly #id: string
  readonly #tags: string[] = []
  #length = 0

  private constructor(requests: BucketRequests, key: string, id: string) {
    this.#requests = requests
    this.#key = key
    this.#id = id
  }

  static async begin(requests: BucketRequests, key: string): Promise<Upload> {
    const { text } = await requests.send({ method: 'POST', key, query: { uploads: '' }, headers: ofBytes })
    const id = element(text, 'UploadId')
    if (id === undefined) throw new Error('The bucket has begun an upload in parts without an id.')
    return new Upload(requests, key, id)
  }

  async add(body: Uint8Array): Promise<void> {
    const query = { partNumber: String(this.#tags.length + 1), uploadId: this.#id }
    const { headers } = await this.#requests.send({ method: 'PUT', key: this.#key, query, ...stored(body) })
    this.#tags.push(headers.etag ?? '')
    this.#length += body.length
  }

  async complete(last: Uint8Array): Promise<void> {
    await this.add(last)
    const parts = this.#tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
    const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`
    const request = { method: 'POST', key: this.#key, query: { uploadId: this.#id }, body } as const
    const effort = 4 * MiB + this.#length / 50 // some servers copy the parts
    try {
      await this.#requests.send({ ...request, effort, headers: { 'content-type': 'application/xml' } })
    } catch (fault) {
      // The answer to an attempt that succeeded may have been lost: the repeat finds no such upload.
      if ((await lengthOf(this.#requests, this.#key)) !== this.#length) throw fault
    }
  }

  async abort(): Promise<void> {
    await abortUpload(this.#requests, this.#key, this.#id)
  }
}

const abortUpload = (requests: BucketRequests, key: string, uploadId: string) =>
  requests.send({ method: 'DELETE', key, query: { uploadId } })

/**
 * Aborts unfinished uploads of a content whose process has ended, so that their parts are not kept. If uploads cannot
 * be listed it is left to the lifecycle of the bucket: other contents have to be swept.
 */
async function abortUploads(requests: BucketRequests, key: string): Promise<void> {
  try {
    const { text } = await requests.send({ method: 'GET', key: '', query: { uploads: '', prefix: key } })
    for (const id of elements(text, 'UploadId')) await abortUpload(requests, key, id)
  } catch (fault) {
    if (!unlistable.includes((fault as BucketFault).code)) throw fault
  }
}

const unlistable: readonly string[] = ['AccessDenied', 'NotImplemented', 'MethodNotAllowed', 'NoSuchUpload']
