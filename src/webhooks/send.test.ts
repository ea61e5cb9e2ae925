/** Attempts of deliveries: what is sent, what is reported, and which connections are used. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { rawSink, sending, sink } from '../../test/help/sinks.ts'
import { until } from '../../test/help/until.ts'
import { mostConnections, systemResolver } from './send.ts'

describe('an attempt', () => {
  test('posts the body with its headers, and reports the answer', async (t) => {
    const got: unknown[] = []
    const { url } = await sink(t, async (request, response) => {
      const chunks = await request.setEncoding('utf8').toArray()
      got.push([request.method, request.url, request.headers, chunks.join('')])
      response.writeHead(202, { 'retry-after': '7' }).end('thanks')
    })
    const { post } = sending(t)
    const headers = { 'content-type': 'application/json', 'user-agent': 'bylaw', 'webhook-id': 'evt_1' }
    assert.deepEqual(await post(url, { headers, body: '{"name":"Zoë"}' }), {
      responseStatus: 202,
      error: null,
      duration: 0,
      response: 'thanks',
      retryAfter: '7',
    })
    const own = {
      host: new URL(url).host,
      connection: 'keep-alive',
      'accept-encoding': 'identity',
      'content-length': '15',
    }
    assert.deepEqual(got, [['POST', '/in?a=b', { ...headers, ...own }, '{"name":"Zoë"}']])
  })
  test('fails with every status but 2xx, and does not follow redirects', async (t) => {
    let status = 200
    let requests = 0
    const { url } = await sink(t, (_, response) => {
      requests++
      response.writeHead(status, { location: '/elsewhere' }).end('text')
    })
    const { post } = sending(t)
    for (status of [200, 201, 204, 299]) assert.equal((await post(url)).error, null)
    for (status of [400, 404, 410, 429, 500, 503])
      assert.partialDeepStrictEqual(await post(url), {
        responseStatus: status,
        error: `The endpoint answered ${status}.`,
        response: 'text',
      })
    for (status of [300, 301, 302, 303, 307, 308])
      assert.equal((await post(url)).error, `The endpoint answered ${status}; redirects are not followed.`)
    assert.equal(requests, 16)
  })
  test('reads 1,024 bytes of an answer, whole characters, and ends the connection', async (t) => {
    const { url, sockets } = await sink(t, (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write('0'.repeat(65_536)));
      }
      response.writeHead(200).write(`\0${'é'.repeat(600)}`)
      response.on('drain', more)
      more()
    })
    const { post } = sending(t)
    const { response, error } = await post(url)
    assert.equal(error, null)
    assert.equal(response, `\ufffd${'é'.repeat(511)}`)
    await until(() => sockets.every(({ destroyed }) => destroyed))
  })
  test('takes the time of the monotonic clock', async (t) => {
    const { post, world } = sending(t)
    const { url } = await sink(t, (_, response) => {
      world.tick(183.456)
      response.end()
    })
    assert.equal((await post(url)).duration, 183.46)
  })
})

describe('connections', () => {
  test('one is kept for the next delivery, for one endpoint alone', async (t) => {
    const { url, sockets } = await sink(t, (_, response) => void response.end('ok'))
    const { post } = sending(t)
    for (let i = 0; i < 3; i++) assert.equal((await post(url)).error, null)
    assert.equal(sockets.length, 1)
    await post(url, { endpoint: 'whe_2' })
    assert.equal(sockets.length, 2)
  })
  test('an endpoint has at most ten, and they delay no other endpoint', async (t) => {
    const held: ServerResponse[] = []
    const { url, sockets } = await sink(t, (_, response) => void held.push(response))
    const { post, world } = sending(t)
    const all = Array.from({ length: mostConnections + 5 }, () => post(url))
    await until(() => held.length === mostConnections)
    const other = post(url, { endpoint: 'whe_2' })
    await until(() => held.length === mostConnections + 1)
    held.at(-1)?.end()
    assert.equal((await other).error, null)
    assert.equal(sockets.length, mostConnections + 1)
    for (const response of held.slice(0, 2)) response.end()
    await until(() => held.length === mostConnections + 3)
    world.tick(20_000) // for those that wait too
    const errors = (await Promise.all(all)).map(({ error }) => error)
    assert.equal(errors.filter((error) => error === null).length, 2)
    assert.equal(errors.filter((error) => error?.includes('20 seconds')).length, mostConnections + 3)
  })
  test('a kept connection that the endpoint closes at that moment is replaced', async (t) => {
    let requests = 0
    const url = await rawSink(t, (socket) => {
      requests++
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      socket.once('data', () => socket.resetAndDestroy())
    })
    const { post } = sending(t)
    for (let i = 0; i < 2; i++) assert.partialDeepStrictEqual(await post(url), { responseStatus: 200, error: null })
    assert.equal(requests, 2)
  })
  test('closing the sender ends attempts that are under way', async (t) => {
    const { url, sockets } = await sink(t, () => {})
    const { post, sender } = sending(t)
    const attempt = post(url)
    await until(() => sockets.length === 1)
    sender.close()
    assert.match((await attempt).error ?? '', /stopped during/)
    assert.match((await post(url)).error ?? '', /stopped during/)
    assert.equal(sockets.length, 1)
  })
  test('closing the sender ends an attempt on a kept connection, which is not replaced', async (t) => {
    const seen: number[] = []
    const { url } = await sink(t, (_, response) => {
      if (seen.push(1) === 1) response.end()
    })
    const { post, sender } = sending(t)
    assert.equal((await post(url)).error, null)
    const attempt = post(url)
    await until(() => seen.length === 2)
    sender.close()
    assert.match((await attempt).error ?? '', /stopped during/)
    assert.equal(seen.length, 2)
  })
})

describe('the resolver', () => {
  test('joins the addresses of both families; one that fails does not matter', async () => {
    const fails = () => Promise.reject(new Error('SERVFAIL'))
    const four = async () => ['8.8.8.8']
    const six = async () => ['2606:4700::1111']
    const resolved = (resolve4: () => Promise<string[]>, resolve6: () => Promise<string[]>) =>
      systemResolver({ privateTargets: false }, { resolve4, resolve6 } as never)('hooks.example')
    assert.deepEqual(await resolved(four, six), ['8.8.8.8', '2606:4700::1111'])
    assert.deepEqual(await resolved(fails, six), ['2606:4700::1111'])
    assert.deepEqual(await resolved(four, fails), ['8.8.8.8'])
    assert.deepEqual(await resolved(fails, fails), [])
  })
  test('finds names of the machine in development', async () => {
    const found = await systemResolver({ privateTargets: true })('localhost')
    assert.ok(found.some((address) => address === '127.0.0.1' || address === '::1'))
  })
})
