/** Contents in a bucket: they are stored and read although single requests fail, and a failed upload leaves nothing behind. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Fault, type SeenRequest, standIn } from '../../test/help/bucket.ts'
import { realWorld } from '../flow/real-world.ts'
import type { World } from '../flow/world.ts'
import { BucketFault } from './bucket-fault.ts'

async function opened(t: TestContext, patience?: number) {
  const bucket = await standIn()
  t.after(bucket.close)
  return { bucket, contents: await bucket.contents(patience === undefined ? {} : { patience }) }
}

async function* inPieces(content: Buffer, size = 300): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

/** A length limit for which parts keep their usual size. */
const most = 1_000_000
const contentOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) % 251))

/** Gives one fault after the other to the requests that `found` accepts. */
function faultsOf(found: (request: SeenRequest) => boolean, faults: readonly Fault[]) {
  const left = [...faults]
  return (request: SeenRequest): Fault | null => (found(request) ? (left.shift() ?? null) : null)
}

test('contents of all lengths are stored whole, in parts of one size', async (t) => {
  const { bucket, contents } = await opened(t)
  for (const length of [0, 1, 999, 1000, 1001, 2000, 2001, 5500])
    for (const size of [1, 300, 1000, 6000]) {
      const [name, content] = [`n${length}-${size}`, contentOf(length)]
      await contents.write(name, inPieces(content, size), most)
      assert.deepEqual(bucket.objects.get(`some folder/ü/${name}`), content)
      assert.equal(await contents.length(name), length)
      assert.deepEqual(await bytesOf(contents.read(name, 0, length)), content)
      if (length > 10) assert.deepEqual(await bytesOf(contents.read(name, 3, 7)), content.subarray(3, 7))
      await contents.remove(name)
      assert.equal(await contents.length(name), null)
    }
  assert.equal(bucket.objects.size + bucket.uploads.size, 0)
})

test('a content of one part takes one request, and others are stored in parts', async (t) => {
  const { bucket, contents } = await opened(t)
  const methods = async (length: number) => {
    bucket.requests.length = 0
    await contents.write(`a${length}`, inPieces(contentOf(length)), most)
    return bucket.requests.map(({ method }) => method).join(' ')
  }
  assert.equal(await methods(1000), 'PUT')
  assert.equal(await methods(1001), 'POST PUT PUT POST')
  assert.equal(await methods(3000), 'POST PUT PUT PUT POST')
  bucket.requests.length = 0
  await contents.write('large', inPieces(contentOf(3000)), 15_000_000)
  assert.equal(bucket.requests.filter(({ query }) => query.has('partNumber')).length, 2)
})

const failing: readonly Fault[] = [
  'cut',
  'cut after',
  'silent',
  { status: 503, code: 'SlowDown' },
  { status: 500, code: 'InternalError' },
  { status: 400, code: 'RequestTimeout' },
  { status: 200, code: 'InternalError' },
]

test('each request of a content is repeated if its failure passes', async (t) => {
  const { bucket, contents } = await opened(t, 400)
  const content = contentOf(2500)
  for (const [i, fault] of failing.entries())
    for (const found of [
      ({ method, query }: SeenRequest) => method === 'POST' && query.has('uploads'),
      ({ query }: SeenRequest) => query.get('partNumber') === '2',
      ({ method, query }: SeenRequest) => method === 'POST' && query.has('uploadId'),
    ]) {
      const name = `${i}`
      bucket.fault = faultsOf(found, [fault])
      await contents.write(name, inPieces(content), most)
      assert.deepEqual(await bytesOf(contents.read(name, 0, 2500)), content, JSON.stringify(fault))
    }
})

test('an upload that fails for good is aborted, and so is one whose content breaks off', async (t) => {
  const { bucket, contents } = await opened(t)
  const ofPart = ({ query }: SeenRequest) => query.get('partNumber') === '2'
  bucket.fault = (request) => (ofPart(request) ? { status: 503, code: 'SlowDown' } : null)
  await assert.rejects(contents.write('a', inPieces(contentOf(2500)), most), /answered 503 SlowDown/)
  assert.equal(bucket.requests.filter(ofPart).length, 3)
  bucket.fault = () => null
  async function* broken() {
    yield contentOf(1500)
    throw new Error('The client has left.')
  }
  await assert.rejects(contents.write('b', broken(), most), /The client has left/)
  assert.equal(bucket.uploads.size + bucket.objects.size, 0)
})

test('parts of a process that has ended are removed with the content that was noted', async (t) => {
  const { bucket, contents } = await opened(t)
  bucket.fault = ({ method, query }) =>
    query.has('uploadId') && method !== 'PUT' ? { status: 503, code: 'SlowDown' } : null
  await assert.rejects(contents.write('left', inPieces(contentOf(2500)), most))
  await assert.rejects(contents.write('other', inPieces(contentOf(2500)), most))
  assert.equal(bucket.uploads.size, 2)
  bucket.fault = () => null
  await contents.remove('left')
  assert.deepEqual(
    [...bucket.uploads.values()].map(({ key }) => key),
    ['some folder/ü/other'],
  )
  for (const [status, code] of [
    [403, 'AccessDenied'],
    [501, 'NotImplemented'],
  ] as const) {
    bucket.fault = ({ query }) => (query.has('uploads') ? { status, code } : null)
    await contents.remove('other') // left to the lifecycle of the bucket
  }
  bucket.fault = ({ query }) => (query.has('uploads') ? { status: 503, code: 'SlowDown' } : null)
  await assert.rejects(contents.remove('other'), /SlowDown/)
})

test('a content that breaks off is read on where it broke', async (t) => {
  const { bucket, contents } = await opened(t, 400)
  const content = contentOf(100_000)
  await contents.write('a', inPieces(content, 50_000), most)
  bucket.requests.length = 0
  bucket.fault = faultsOf(({ method }) => method === 'GET', ['half', 'cut', 'half and silent', 'half'])
  assert.deepEqual(await bytesOf(contents.read('a', 10, 99_000)), content.subarray(10, 99_000))
  const ranges = bucket.requests.map(({ range }) => range)
  assert.equal(ranges[0], 'bytes=10-98999')
  assert.equal(ranges[1], 'bytes=49505-98999')
  bucket.fault = ({ method }) => (method === 'GET' ? 'half' : null)
  await assert.rejects(bytesOf(contents.read('a', 0, 100_000)), BucketFault)
})

test('a reader that is slow is no failure of the bucket: no time passes while a piece is read', async (t) => {
  const bucket = await standIn()
  t.after(bucket.close)
  let running = 0
  const after: World['after'] = (time, act) => {
    running++
    const cancel = realWorld.after(time, act)
    return () => {
      running--
      cancel()
    }
  }
  const contents = await bucket.contents({ after })
  const content = contentOf(300_000)
  bucket.objects.set('some folder/ü/a', content)
  const all: Uint8Array[] = []
  for await (const piece of contents.read('a', 0, content.length)) {
    await new Promise(setImmediate)
    assert.equal(running, 0)
    all.push(piece)
  }
  assert.deepEqual(Buffer.concat(all), content)
})

test('a bucket that is away fails within bounds', async (t) => {
  const { bucket, contents } = await opened(t, 400)
  await contents.write('a', inPieces(contentOf(10)), most)
  bucket.fault = () => 'silent'
  await assert.rejects(contents.length('a'), /did not answer within 0.4 seconds/)
  bucket.requests.length = 0
  await assert.rejects(bytesOf(contents.read('a', 0, 10)), /did not answer/)
  assert.equal(bucket.requests.length, 3)
  await assert.rejects(contents.write('b', inPieces(contentOf(10)), most), /did not answer/)
  await assert.rejects(contents.remove('a'), /did not answer/)
  await bucket.close()
  await assert.rejects(contents.length('a'), /cannot be reached \(ECONN/)
})

test('a content that is not there is null, and others are refused', async (t) => {
  const { bucket, contents } = await opened(t)
  assert.equal(await contents.length('absent'), null)
  await contents.remove('absent')
  await assert.rejects(bytesOf(contents.read('absent', 0, 10)), /NoSuchKey/)
  await contents.write('short', inPieces(contentOf(5)), most)
  await assert.rejects(bytesOf(contents.read('short', 0, 10)), /InvalidRange/)
  bucket.fault = () => ({ status: 403, code: 'AccessDenied' })
  await assert.rejects(contents.length('absent'), /needs s3:GetObject/)
})

test('the start says what is wrong with the bucket or the access key', async (t) => {
  const bucket = await standIn({ token: 'temporary' })
  t.after(bucket.close)
  const { environment, place } = bucket
  const refused = async (says: RegExp, changed: Record<string, string>, at = place) => {
    const own = { ...bucket.environment, ...changed }
    await assert.rejects(bucket.contents({ place: at, environment: own }), says)
  }
  await bucket.contents()
  await refused(/does not know AWS_ACCESS_KEY_ID/, { AWS_ACCESS_KEY_ID: 'other' })
  await refused(/AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID/, { AWS_SECRET_ACCESS_KEY: 'other' })
  await refused(/AWS_SESSION_TOKEN does not belong/, { AWS_SESSION_TOKEN: '' })
  await refused(/in the region eu-test-1: write region=eu-test-1/, {}, `${place}?region=us-east-1`)
  await refused(/There is no bucket other-files: create it/, {}, 's3://other-files')
  await refused(/cannot be reached \(ECONNREFUSED\)/, { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' })
  await refused(/ENOTFOUND|EAI_AGAIN/, { AWS_ENDPOINT_URL_S3: 'http://no-such-host.invalid' })
  const away = { status: 301, code: 'PermanentRedirect', headers: { 'x-amz-bucket-region': 'ap-south-1' } }
  bucket.fault = () => away
  await refused(/in the region ap-south-1/, environment)
  bucket.fault = () => ({ status: 307, code: 'TemporaryRedirect', headers: { location: 'http://elsewhere' } })
  await refused(/redirects are not followed/, environment)
  bucket.fault = () => ({ status: 403, code: 'RequestTimeTooSkewed' })
  await refused(/clock of this machine differs too much from that of the bucket, where it is \w{3}, /, environment)
  bucket.fault = () => ({ status: 403, code: 'AccessDenied' })
  await refused(/needs s3:GetObject, s3:PutObject, .* for shop-files\/some folder\/ü\/\*/, environment)
  assert.equal(bucket.requests.filter(({ method }) => method !== 'GET').length, 0)
})

test('the start names the right that a key for reading lacks, and leaves nothing behind', async (t) => {
  const bucket = await standIn()
  t.after(bucket.close)
  const denied = (method: string) => (seen: SeenRequest) =>
    seen.method === method ? { status: 403, code: 'AccessDenied' } : null
  const own = `${bucket.place}/own`
  for (const [method, right] of [
    ['PUT', 's3:PutObject'],
    ['DELETE', 's3:DeleteObject'],
  ] as const) {
    bucket.fault = denied(method)
    await assert.rejects(
      bucket.contents({ place: own, writes: true }),
      ({ message }: Error) =>
        /^The bucket shop-files at .* 403 AccessDenied\. .* for shop-files\/some folder\/ü\/own\/\*/.test(message) &&
        message.endsWith(` It lacks ${right}.`),
    )
    await bucket.contents({ place: own })
  }
  bucket.fault = () => null
  bucket.requests.length = 0
  await bucket.contents({ place: own, writes: true })
  assert.deepEqual(
    bucket.requests.map(({ method, key }) => `${method} ${key}`),
    ['GET', 'PUT', 'DELETE'].map((method) => `${method} some folder/ü/own/bylaw`),
  )
  assert.equal(bucket.objects.size, 0)
})
