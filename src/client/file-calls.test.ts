/** Files through the typed client: uploads of all kinds of contents, downloads, and their refusals. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { f, service } from 'bylaw'
import { client } from 'bylaw/client'
import { testing } from 'bylaw/testing'
import { errorOf } from '../../test/help/client-shop.ts'

const api = service({
  name: 'shop',
  resources: {
    orders: {
      fields: {
        note: f.text({ optional: true }),
        scanOfLetter: f.file({ max: 1000, types: ['text/plain', 'image/*'] }),
      },
      access: 'public',
    },
  },
})

function shopOf(t: TestContext) {
  const { call, close } = testing(api)
  t.after(close)
  const fetch = (url: string, init: RequestInit) => call(url.replace('http://shop', ''), init as object)
  return client<typeof api>({ url: 'http://shop', fetch })
}

test('R34: a download has the uploaded content, from every kind of source', async (t) => {
  const shop = shopOf(t)
  const { id } = await shop.orders.create({})
  const text = { type: 'text/plain' }
  const stream = () => new Blob(['a stream']).stream()
  for (const [content, options, type, name] of [
    [new File(['a file'], 'ä(1).txt', text), {}, 'text/plain', 'ä(1).txt'],
    [new Blob(['a blob'], text), { name: 'b.txt' }, 'text/plain', 'b.txt'],
    [new TextEncoder().encode('bytes'), text, 'text/plain', null],
    ['a text', text, 'text/plain', null],
    [stream(), text, 'text/plain', null],
  ] as const) {
    const member = await shop.orders.upload(id, 'scanOfLetter', content, options)
    assert.deepEqual([member?.type, member?.name], [type, name])
    const read = await shop.orders.download(id, 'scanOfLetter')
    assert.equal(read.headers.get('content-type'), type)
    assert.equal((await read.text()).length, member?.length)
  }
  assert.equal((await shop.orders.get(id)).scanOfLetter?.href, `/orders/${id}/scan-of-letter`)
  await shop.orders.removeFile(id, 'scanOfLetter')
  assert.equal((await shop.orders.get(id)).scanOfLetter, null)
})

test('R51: a download reads a part, and the rest of the same content alone', async (t) => {
  const shop = shopOf(t)
  const { id } = await shop.orders.create({})
  await shop.orders.upload(id, 'scanOfLetter', 'a long letter', { type: 'text/plain' })
  const read = async (options: Parameters<typeof shop.orders.download>[2]) => {
    const answer = await shop.orders.download(id, 'scanOfLetter', options)
    return [answer.status, await answer.text(), answer.headers.get('etag')]
  }
  const [, whole, etag] = await read({})
  assert.deepEqual(await read({ range: { from: 2, end: 6 } }), [206, 'long', etag])
  assert.deepEqual(await read({ range: { from: 7 }, ifRange: String(etag) }), [206, 'letter', etag])
  assert.deepEqual(await read({ range: { from: 7 }, ifRange: '"other"' }), [200, whole, etag])
  assert.equal((await errorOf(read({ range: { from: 99 } }))).type, 'range-not-satisfiable')
})

test('R32, R178: a refusal is an error of the client', async (t) => {
  const shop = shopOf(t)
  const { id } = await shop.orders.create({})
  assert.equal((await errorOf(shop.orders.download(id, 'scanOfLetter'))).type, 'resource-not-found')
  assert.equal((await errorOf(shop.orders.upload(id, 'scanOfLetter', 'a'))).type, 'unsupported-media-type')
  const large = shop.orders.upload(id, 'scanOfLetter', 'a'.repeat(1001), { type: 'text/plain' })
  assert.equal((await errorOf(large)).type, 'content-too-large')
  const signal = AbortSignal.abort(new Error('no longer'))
  await assert.rejects(shop.orders.download(id, 'scanOfLetter', { signal }), /no longer/)
  // @ts-expect-error: it is no file
  await assert.rejects(shop.orders.download(id, 'note'))
})
