/** Uploads and downloads of files over a socket: R162, R178, R180, and what becomes of contents that no row has. */
// long because: the same tests run on folders and buckets
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { f, service, sum } from 'bylaw'
import { folderContents } from '../../src/contents/folder.ts'
import { memoryContents } from '../../src/contents/memory.ts'
import { sweepFiles } from '../../src/files/sweep-files.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { type ContentStore, serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { listen } from '../../src/http/listening.ts'
import { openStore } from '../../src/terminal/open.ts'
import { type StandIn, standIn } from '../help/bucket.ts'
import { openContext } from '../help/context.ts'
import { until } from '../help/until.ts'
import { testWorld } from '../help/world.ts'

const MiB = 1024 * 1024
const shop = service({
  name: 'shop',
  settings: {
    limits: { body: 1000, requestTimeout: 'PT1S', headersTimeout: 'PT1S', idleTimeout: 'PT5S', writeTimeout: 'PT1S' },
  },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { scan: f.file({ max: 50 * MiB }), total: f.integer({ derived: sum('lines', 'amount') }) },
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: { resource: 'orders', onDelete: 'cascade' },
      fields: { amount: f.integer({ default: 0 }), photo: f.file() },
      access: 'public',
    },
  },
})

/** A place of contents; `stored` lists the names of all contents in it, incomplete ones too. */
interface TestPlace {
  readonly contents: ContentStore
  readonly stored: () => Promise<string[]>
  /** Loses a content. */
  readonly lose: (name: string) => Promise<void>
  readonly remove: () => Promise<void>
}

async function folderPlace(): Promise<TestPlace & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'bylaw-files-'))
  const stored = async () =>
    (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((one) => one.isFile())
      .map(({ name }) => name)
  return {
    ...{ folder, contents: await folderContents(folder), stored },
    lose: (name) => rm(join(folder, name.slice(0, 2), name)),
    remove: () => rm(folder, { recursive: true }),
  }
}

async function bucketPlace(partSize?: number, patience?: number): Promise<TestPlace & { readonly bucket: StandIn }> {
  const bucket = await standIn()
  const { objects, uploads } = bucket
  return {
    ...{ bucket, contents: await bucket.contents({ ...(partSize && { partSize }), ...(patience && { patience }) }) },
    stored: async () => [...objects.keys(), ...[...uploads.values()].map(({ key }) => key)],
    lose: async (name) => void objects.delete(name),
    remove: bucket.close,
  }
}

/** The service on a place of contents. */
async function serve(t: TestContext, { contents, stored, lose, remove }: TestPlace) {
  const store = await openStore(shop, 'sqlite::memory:', 'apply')
  const world = serviceWorld(realWorld, store, undefined, contents)
  const errors: object[] = []
  const log = { error: (about: object) => errors.push(about), warn: () => {}, info: () => {} }
  const context = openContext(shop, store, world, log)
  const server = await listen(context, { port: 0, host: '127.0.0.1' })
  t.after(async () => {
    await server.stop(100)
    await store.close()
    await remove()
  })
  const post = async (path: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    return ((await (await fetch(server.url + path, { method: 'POST', headers, body: '{}' })).json()) as { id: string })
      .id
  }
  const put = (path: string, body: Buffer) =>
    fetch(server.url + path, { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: new Uint8Array(body) })
  const sweep = (days: number) =>
    sweepFiles({ store, world: { contents, due: () => world.due() + days * 24 * 60 * 60 * 1000 } })
  return { url: server.url, stored, lose, post, put, sweep, errors }
}

/** An upload that the test sends by itself. */
function upload(url: string, headers: Record<string, string> = {}) {
  const sent = request(url, { method: 'PUT', headers: { 'content-type': 'text/plain', ...headers }, agent: false })
  const answered = once(sent, 'response').then(async ([answer]) => {
    const chunks: Buffer[] = []
    for await (const chunk of answer as IncomingMessage) chunks.push(chunk as Buffer)
    return { status: (answer as IncomingMessage).statusCode, text: Buffer.concat(chunks).toString() }
  })
  answered.catch(() => {})
  return { sent: sent as ClientRequest, answered }
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

for (const [place, make] of [
  ['folder', () => folderPlace()],
  ['bucket', bucketPlace],
] as const satisfies [string, (partSize?: number) => Promise<TestPlace>][])
  describe(place, () => {
    test('R178, R180: an upload may take longer than a request and be larger than a body, as long as bytes flow', async (t) => {
      const { url, post } = await serve(t, await make())
      const place = `${url}/orders/${await post('/orders')}/scan`
      const { sent, answered } = upload(place)
      for (let i = 0; i < 15; i++) {
        sent.write(Buffer.alloc(1000, 97))
        await sleep(300)
      }
      sent.end()
      const { status, text } = await answered
      assert.equal(status, 201, text)
      assert.equal(JSON.parse(text).length, 15_000)
    })

    test('R180: an upload that stops is ended, and nothing of it is stored', async (t) => {
      const { url, post, stored } = await serve(t, await make())
      const { sent, answered } = upload(`${url}/orders/${await post('/orders')}/scan`)
      sent.on('error', () => {})
      sent.write('a')
      assert.equal((await answered).status, 408)
      await until(async () => (await stored()).length === 0)
    })

    test('R162: an upload that breaks off leaves the content from before', async (t) => {
      const { url, post, put, stored } = await serve(t, await make())
      const place = `/orders/${await post('/orders')}/scan`
      await put(place, Buffer.from('before'))
      const [before] = await stored()
      for (const headers of [{ 'content-length': '50000' }, { 'transfer-encoding': 'chunked' }]) {
        const { sent } = upload(url + place, headers)
        sent.on('error', () => {})
        sent.write(Buffer.alloc(20_000, 97))
        await until(async () => (await stored()).length === 2)
        sent.destroy()
        await until(async () => (await stored()).length === 1)
        assert.deepEqual(await stored(), [before])
        assert.equal(await (await fetch(url + place)).text(), 'before')
      }
    })

    test('R178: a content that passes its maximum while it arrives is refused, and nothing of it is stored', async (t) => {
      const { url, post, stored } = await serve(t, await make(MiB))
      const { sent, answered } = upload(`${url}/orders/${await post('/orders')}/scan`)
      sent.on('error', () => {})
      for (let i = 0; i <= 50 && !sent.destroyed; i++)
        if (!sent.write(Buffer.alloc(MiB, 97))) await Promise.race([once(sent, 'drain'), answered])
      const { status, text } = await answered
      assert.equal(status, 413)
      assert.match(text, /larger than 52428800 bytes/)
      await until(async () => (await stored()).length === 0)
    })

    test('two uploads at once do not mix: one of them is the last', async (t) => {
      const { url, post, put } = await serve(t, await make(MiB))
      const place = `/orders/${await post('/orders')}/scan`
      const contents = [97, 98, 99, 100].map((byte) => Buffer.alloc(2 * MiB, byte))
      const answers = await Promise.all(contents.map((one) => put(place, one)))
      const statuses = answers.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [200, 200, 200, 201], (await Promise.all(answers.map((one) => one.text()))).join('\n'))
      const read = Buffer.from(await (await fetch(url + place)).arrayBuffer())
      const item = (await (await fetch(url + place.replace('/scan', ''))).json()) as { scan: { sha256: string } }
      assert.equal(digest(read), item.scan.sha256)
      assert.ok(contents.some((one) => one.equals(read)))
    })

    test('contents that no row has are removed after a day, and those of rows stay', async (t) => {
      const { url, post, put, stored, sweep } = await serve(t, await make())
      const [kept, gone] = [await post('/orders'), await post('/orders')]
      const line = await post(`/orders/${gone}/lines`)
      await put(`/orders/${kept}/scan`, Buffer.from('first'))
      await put(`/orders/${kept}/scan`, Buffer.from('second'))
      await put(`/orders/${gone}/scan`, Buffer.from('of a removed row'))
      await put(`/lines/${line}/photo`, Buffer.from('of a row that is removed with its owner'))
      assert.equal((await put(`/orders/${kept}/scan?dryRun=true`, Buffer.from('dry'))).status, 200)
      assert.equal((await fetch(`${url}/orders/${gone}`, { method: 'DELETE' })).status, 204)
      await sweep(0)
      assert.equal((await stored()).length, 4)
      await sweep(2)
      assert.equal((await stored()).length, 1)
      assert.equal(await (await fetch(`${url}/orders/${kept}/scan`)).text(), 'second')
    })

    test('R162: a content that is lost is a failure that is logged, not an empty answer, and can be uploaded again', async (t) => {
      const { url, post, put, stored, lose, errors } = await serve(t, await make())
      const place = `/orders/${await post('/orders')}/scan`
      await put(place, Buffer.from('lost'))
      const [name = ''] = await stored()
      await lose(name)
      assert.equal((await fetch(url + place)).status, 500)
      assert.match(JSON.stringify(errors.map(({ err }: { err?: Error }) => err?.message)), /is missing or incomplete/)
      assert.equal((await put(place, Buffer.from('lost'))).status, 200)
      assert.equal(await (await fetch(url + place)).text(), 'lost')
    })
  })

test('R180: a client that stops reading is cut, and one that continues gets everything', async (t) => {
  const own = testWorld()
  const store = await openStore(shop, 'sqlite::memory:', 'apply', {}, own)
  t.after(() => store.close())
  const world = serviceWorld(own, store, undefined, memoryContents())
  const log = { error: () => assert.fail(), warn: () => {}, info: () => {} }
  const door = fetchDoor(openContext(shop, store, world, log))
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  const { id } = (await (await door(new Request('http://a/orders', json))).json()) as { id: string }
  const content = new Uint8Array(3 * MiB)
  const [place, headers] = [`http://a/orders/${id}/scan`, { 'content-type': 'application/octet-stream' }]
  assert.equal((await door(new Request(place, { method: 'PUT', headers, body: content }))).status, 201)
  const open = async () => ((await door(new Request(place))).body as ReadableStream<Uint8Array>).getReader()
  const lazy = await open()
  assert.equal((await lazy.read()).done, false)
  await own.pass(1500)
  await assert.rejects(async () => {
    for (let next = await lazy.read(); !next.done; ) next = await lazy.read()
  }, /not read in time/)
  const steady = await open()
  let bytes = 0
  for (let next = await steady.read(); !next.done; next = await steady.read()) {
    bytes += next.value.length
    await own.pass(50)
  }
  assert.equal(bytes, content.length)
})

test('contents are readable by the service alone', async (t) => {
  const place = await folderPlace()
  const { post, put, stored } = await serve(t, place)
  await put(`/orders/${await post('/orders')}/scan`, Buffer.from('secret'))
  const [name = ''] = await stored()
  assert.equal((await stat(join(place.folder, name.slice(0, 2), name))).mode & 0o077, 0)
})

/** The error types of answers, and their statuses. */
async function refusal(answer: Response): Promise<unknown[]> {
  const { type } = (await answer.json()) as { type: string }
  return [answer.status, type, answer.headers.get('retry-after')]
}

test('R161: a bucket that is away is 503 for reads and uploads, and no item changes', async (t) => {
  const { bucket, ...place } = await bucketPlace(undefined, 400)
  const { url, post, put, errors } = await serve(t, place)
  const id = await post('/orders')
  const at = `/orders/${id}/scan`
  await put(at, Buffer.from('before'))
  for (const fault of [
    'silent',
    'cut',
    { status: 503, code: 'SlowDown' },
    { status: 403, code: 'AccessDenied' },
  ] as const) {
    bucket.fault = () => fault
    assert.deepEqual(await refusal(await fetch(url + at)), [503, 'dependency-unavailable', '5'])
    assert.deepEqual(await refusal(await put(at, Buffer.from('after'))), [503, 'dependency-unavailable', '5'])
    assert.deepEqual(await refusal(await put(at, Buffer.alloc(20_000, 97))), [503, 'dependency-unavailable', '5'])
    assert.equal((await fetch(`${url}/orders/${id}`)).status, 200)
  }
  bucket.fault = () => null
  assert.equal(await (await fetch(url + at)).text(), 'before')
  const [first] = errors as { readonly err?: Error }[]
  assert.match(String(first?.err?.message), /^The bucket shop-files at 127.0.0.1:\d+ did not answer/)
})

test('R162: a download that the bucket breaks off continues, and its connection ends if the bucket stays unavailable', async (t) => {
  const { bucket, ...place } = await bucketPlace(MiB)
  const { url, post, put } = await serve(t, place)
  const at = `/orders/${await post('/orders')}/scan`
  const content = Buffer.alloc(MiB, 'abc')
  await put(at, content)
  let broken = 0
  bucket.fault = ({ method }) => (method === 'GET' && broken++ < 2 ? 'half' : null)
  assert.equal(digest(Buffer.from(await (await fetch(url + at)).arrayBuffer())), digest(content))
  broken = 0
  bucket.fault = ({ method }) => (method === 'GET' ? (broken++ === 0 ? 'half' : 'cut') : null)
  const answer = await fetch(url + at)
  assert.equal(answer.status, 200)
  await assert.rejects(answer.arrayBuffer())
})
