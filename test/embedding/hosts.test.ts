/** An embedded service has the same answers, limits and streams as `bylaw serve`, while the program also serves its own routes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { overSocket } from '../help/door.ts'
import { type Host, hosts, logged, startHost } from '../help/hosts.ts'
import { until } from '../help/until.ts'
import { answers } from '../help/wire.ts'

const shop = service({
  name: 'shop',
  events: true,
  resources: {
    orders: {
      prefix: 'ord',
      fields: { total: f.integer(), note: f.text({ optional: true, max: 200_000 }) },
      access: 'public',
    },
  },
  settings: {
    server: { basePath: '/shop/api' },
    events: { stream: true },
    limits: { body: 400_000, url: 300, headers: 4000, requestTimeout: 'PT0.3S' },
  },
}) as unknown as Service

const json = { 'content-type': 'application/json' }

/** Sends bytes on a new connection and returns all that is received. */
async function sent(url: string, ...parts: readonly (string | number)[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  for (const part of parts) socket.write(String(part))
  await once(socket, 'close')
  return text
}

for (const name of Object.keys(hosts))
  describe(`a service in ${name}`, () => {
    let host: Host
    before(async () => {
      host = await startHost(name, shop)
    })
    after(() => host.close())

    const call = (path: string, init?: RequestInit) => fetch(host.url + path, init)
    const create = (body: object, headers = {}) =>
      call('/shop/api/orders', { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })

    it('R49, R164: answers below its base path, with a Request-Id and a line in the log', async () => {
      const created = await create({ total: 1 }, { 'request-id': 'req-1' })
      const order = (await created.json()) as { id: string }
      assert.equal(created.status, 201)
      const path = `/shop/api/orders/${order.id}`
      assert.equal(created.headers.get('location'), path)
      assert.equal(created.headers.get('request-id'), 'req-1')
      const read = await call(path)
      assert.deepEqual([read.status, await read.json()], [200, order])
      assert.equal((await call(path, { headers: { 'if-none-match': read.headers.get('etag') as string } })).status, 304)
      const head = await call(path, { method: 'HEAD' })
      assert.deepEqual([head.status, await head.text()], [200, ''])
      assert.equal((await call(path, { method: 'OPTIONS' })).status, 204)
      assert.equal((await call('/shop/api/docs')).status, 200)
      const { about } = await logged(host.lines, (one) => one.about.requestId === 'req-1')
      const { ms, ...line } = about
      assert.deepEqual(line, { requestId: 'req-1', method: 'POST', path: '/shop/api/orders', status: 201 })
    })

    it('R5: leaves other paths to the host, and answers unknown ones of its own', async () => {
      const own = await call('/own')
      assert.deepEqual([own.status, await own.text()], [200, 'own /own'])
      const missing = await call('/shop/api/nothing')
      assert.deepEqual([missing.status, ((await missing.json()) as { type: string }).type], [404, 'route-not-found'])
      assert.equal((await call('/shop/apis')).status, name === 'express' ? 200 : 404)
    })

    it('R13, R8: answers unknown methods and broken escapes itself', async () => {
      assert.equal((await call('/shop/api/orders', { method: 'PUT' })).status, 405)
      const broken = await call('/shop/api/orders/%zz')
      const { type } = (await broken.json()) as { type?: string }
      // Fastify refuses such paths before any plugin gets them.
      assert.deepEqual([broken.status, type], [400, name === 'fastify' ? undefined : 'invalid-url-encoding'])
    })

    it('R178, R179: limits bodies, URLs and headers', async () => {
      const send = overSocket(Number(new URL(host.url).port)) // a connection for each, as some hosts close those of refused bodies
      const refused = async (...request: Parameters<typeof send>) => {
        const { status, json: body } = await send(...request)
        return [status, body?.type]
      }
      const large = JSON.stringify({ total: 1, note: 'x'.repeat(400_001) })
      const path = '/shop/api/orders'
      const tooLarge = [413, 'content-too-large']
      assert.deepEqual(await refused('POST', path, { body: large, headers: json }), tooLarge)
      const streamed = {
        method: 'POST',
        headers: json,
        body: new Blob([large]).stream(),
        duplex: 'half',
      } as RequestInit
      assert.equal((await call(path, streamed)).status, 413)
      assert.deepEqual(await refused('GET', `${path}?a=${'x'.repeat(300)}`), [414, 'uri-too-long'])
      const headers = { 'x-long': 'x'.repeat(4000) }
      assert.deepEqual(await refused('GET', path, { headers }), [431, 'header-fields-too-large'])
      const text = { body: 'total=1', headers: { 'content-type': 'text/plain' } }
      assert.deepEqual(await refused('POST', path, text), [415, 'unsupported-media-type'])
    })

    it('R178: refuses a body that does not arrive in time', async () => {
      const head = `POST /shop/api/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
      for (const start of ['Content-Length: 20\r\n\r\n{"to', 'Transfer-Encoding: chunked\r\n\r\n4\r\n{"to\r\n']) {
        const [first] = answers(await sent(host.url, head + start))
        assert.deepEqual([first?.status, first?.json.type], [408, 'request-timeout'])
      }
    })

    it('R19: answers a request that waits for 100 Continue once', async () => {
      const body = '{"total":1}'
      const received = await sent(
        host.url,
        `POST /shop/api/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
        body,
      )
      assert.equal(received.match(/HTTP\/1\.1 100/g)?.length, 1)
      assert.match(received, /HTTP\/1\.1 201/)
    })

    it('sends large answers completely', async () => {
      const note = 'ä'.repeat(150_000)
      const created = await create({ total: 2, note })
      assert.equal(((await created.json()) as { note: string }).note, note)
    })

    it('R213: streams events, until the client leaves', async () => {
      const aborter = new AbortController()
      const stream = await call('/shop/api/events', {
        headers: { accept: 'text/event-stream' },
        signal: aborter.signal,
      })
      assert.equal(stream.headers.get('content-type'), 'text/event-stream')
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
      let text = ''
      const { id } = (await (await create({ total: 3 })).json()) as { id: string }
      while (!text.includes(id)) text += Buffer.from((await reader.read()).value as Uint8Array).toString()
      assert.match(text, /event: order\.created/)
      aborter.abort()
      await assert.rejects(reader.read())
    })
  })

it('R186: streams and requests under way end when the app closes', { timeout: 180_000 }, async () => {
  for (const name of Object.keys(hosts)) {
    const host = await startHost(name, shop)
    const stream = await fetch(`${host.url}/shop/api/events`, { headers: { accept: 'text/event-stream' } })
    const over = stream.text()
    await host.close()
    assert.match(await over, /retry: 1000/, name)
    await until(async () =>
      fetch(host.url).then(
        () => false,
        () => true,
      ),
    )
  }
})
