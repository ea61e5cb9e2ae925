/** What hosts do wrong, or do in their own way: bodies that they have read, HTTP/2, tries without a socket. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { f, type Service, service } from 'bylaw'
import { toFastify, toFetch, toHono, toNode } from 'bylaw/embedding'
import fastify from 'fastify'
import { Hono } from 'hono'
import { openLogged } from '../help/hosts.ts'
import { until } from '../help/until.ts'

const notes = service({
  name: 'notes',
  resources: { notes: { prefix: 'not', fields: { text: f.text({ max: 200_000 }) }, access: 'public' } },
  settings: { server: { basePath: '/api' } },
}) as Service

async function opened(t: TestContext) {
  const found = await openLogged(notes)
  t.after(() => found.app.close())
  return found
}

describe('a host that has read the body', () => {
  const mend = /was read before it reached the service.*Mount the service before/
  it('R157: is told in the log how to mend it, with node:http', async (t) => {
    const { app, lines } = await opened(t)
    const answer = toNode(app)
    const server = createServer(async (request, response) => {
      for await (const _ of request);
      answer(request, response)
    }).listen(0)
    t.after(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/notes`
    const failed = await fetch(url, {
      method: 'POST',
      body: '{"text":"a"}',
      headers: { 'content-type': 'application/json' },
    })
    assert.deepEqual([failed.status, ((await failed.json()) as { type: string }).type], [500, 'internal-error'])
    const { about } = lines.find(({ level }) => level === 'error') ?? { about: {} }
    assert.match(String((about as { err?: Error }).err), mend)
    assert.equal((await fetch(url)).status, 200)
  })

  it('R157: is told in the log how to mend it, with fetch', async (t) => {
    const { app, lines } = await opened(t)
    const hono = new Hono()
    hono.use(async ({ req }, next) => {
      await req.json()
      await next()
    })
    hono.use(toHono(app))
    const failed = await hono.request('http://localhost/api/notes', {
      method: 'POST',
      body: '{"text":"a"}',
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(failed.status, 500)
    const { about } = lines.find(({ level }) => level === 'error') ?? { about: {} }
    assert.match(String((about as { err?: Error }).err), mend)
  })
})

describe('a host', () => {
  it('of HTTP/2 is refused by toNode, and served through fetch', async (t) => {
    const { app, lines } = await opened(t)
    const [answer, through] = [toNode(app), getRequestListener(toFetch(app))]
    const server = createHttp2Server((request, response) => {
      if (request.headers['x-way'] === 'node') answer(request as never, response as never)
      else void through(request, response)
    }).listen(0)
    t.after(() => server.close())
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    t.after(() => session.close())
    const asked = (way: string) =>
      new Promise<number>((resolve) => {
        const stream = session.request({ ':path': '/api/notes', 'x-way': way })
        stream.on('response', (headers) => resolve(Number(headers[':status'])))
        stream.resume()
      })
    assert.equal(await asked('node'), 505)
    assert.match(String(lines.at(-1)?.message), /HTTP\/1\.1 only.*HTTP\/2.*toFetch/)
    assert.equal(await asked('fetch'), 200)
  })

  it('of Fastify can be tried without a socket', async (t) => {
    const { app } = await opened(t)
    const server = fastify()
    await server.register(toFastify(app))
    for (const text of ['short', 'long '.repeat(30_000)]) {
      const created = await server.inject({ method: 'POST', url: '/api/notes', payload: { text } })
      assert.equal(created.statusCode, 201, created.body)
      const read = await server.inject(String(created.headers.location))
      assert.deepEqual(read.json(), created.json())
    }
  })

  it('R14: of Fastify passes on methods that Fastify does not know', async (t) => {
    const { app } = await opened(t)
    const server = fastify()
    await server.register(toFastify(app))
    const url = await server.listen({ port: 0 })
    t.after(() => server.close())
    for (const method of ['QUERY', 'PROPFIND']) assert.equal((await fetch(`${url}/api/notes`, { method })).status, 405)
  })
})

it('R162: a client that does not read its answer is disconnected', { timeout: 180_000 }, async (t) => {
  const limits = { writeTimeout: 'PT0.5S' }
  const { app } = await openLogged(
    service({ ...notes.declaration, settings: { limits } } as never) as unknown as Service,
  )
  t.after(() => app.close())
  const server = createServer(toNode(app)).listen(0)
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const body = JSON.stringify({ text: 'x'.repeat(200_000) })
  const headers = { 'content-type': 'application/json' }
  for (let i = 0; i < 50; i++)
    await (await fetch(`http://127.0.0.1:${port}/notes`, { method: 'POST', headers, body })).arrayBuffer()
  const accepted = once(server, 'connection')
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.write('GET /notes?limit=50 HTTP/1.1\r\nHost: localhost\r\n\r\n')
  socket.pause()
  const open = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))
  server.closeIdleConnections()
  await accepted
  await until(async () => (await open()) === 0)
  socket.resume()
  await assert.rejects(once(socket, 'close'), /ECONNRESET/) // so that the client does not mistake the close for the end of the answer
})
