/** Attempts of deliveries to hostile endpoints: each one ends, in time, as data. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import tls from 'node:tls'
import { without } from '../../test/help/programs.ts'
import { rawSink, routePublicToLoopback, secureSink, sending, sink } from '../../test/help/sinks.ts'
import { until } from '../../test/help/until.ts'

describe('hostile endpoints', () => {
  const late = 'The endpoint did not answer within 20 seconds.'
  const closed = 'The endpoint closed the connection before its answer ended.'

  test('after 20 seconds an attempt has failed, in whichever phase it is', async (t) => {
    let reached = 0
    const acts: ((socket: Socket) => void)[] = [
      () => {},
      (socket) => void socket.write('HTTP/1.1 200 OK\r\n'),
      (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345'),
      (socket) => void socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)),
    ]
    for (const [i, act] of acts.entries()) {
      const url = await rawSink(t, (socket) => {
        act(socket)
        reached++
      })
      const { post, world } = sending(t)
      const attempt = post(url)
      await until(() => reached === i + 1)
      await new Promise((done) => setTimeout(done, 50)) // the written bytes arrive meanwhile
      world.tick(19_999)
      assert.equal(await Promise.race([attempt, new Promise((done) => setTimeout(done, 20, 'waits'))]), 'waits')
      world.tick(1)
      const isAnswered = i === 2
      assert.deepEqual(await attempt, {
        responseStatus: isAnswered ? 200 : null,
        error: late,
        duration: 20_000,
        response: isAnswered ? '12345' : null,
        retryAfter: null,
      })
      assert.equal(world.timers(), 0)
    }
  })
  test('a name server that hangs counts too, and so does one that answers later', async (t) => {
    let answer: (addresses: string[]) => void = () => {}
    const { url, sockets } = await sink(t, (_, response) => void response.end())
    const { post, world } = sending(t, true, () => new Promise((found) => (answer = found)))
    const attempt = post(url)
    await new Promise(setImmediate)
    world.tick(20_000)
    assert.equal((await attempt).error, late)
    answer(['127.0.0.1'])
    await new Promise((done) => setTimeout(done, 50))
    assert.equal(sockets.length, 0)
  })
  test('headers without end', async (t) => {
    const url = await rawSink(t, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const more = () => {
        while (!socket.destroyed && socket.write(`x-${'a'.repeat(100)}: 1\r\n`));
      }
      socket.on('drain', more)
      more()
    })
    const { error, responseStatus } = await sending(t).post(url)
    assert.deepEqual([responseStatus, error], [null, 'The answer is not valid HTTP (HPE_HEADER_OVERFLOW).'])
  })
  test('connections that end early, at each point of an answer', async (t) => {
    const texts = [
      '',
      'HTTP/1.1 2',
      'HTTP/1.1 200 OK\r\na: b\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345',
    ]
    for (const text of texts)
      for (const end of [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.resetAndDestroy()]) {
        const url = await rawSink(t, (socket) => void socket.write(text, () => setTimeout(() => end(socket), 20)))
        const { error, responseStatus, response } = await sending(t).post(url)
        const isAnswered = text.endsWith('12345')
        assert.equal(error, closed, text)
        assert.deepEqual([responseStatus, response], isAnswered ? [200, '12345'] : [null, null])
      }
  })
  test('bytes that are not HTTP, and a switch to another protocol', async (t) => {
    for (const text of ['SSH-2.0-OpenSSH_9\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n', '\0'.repeat(100)]) {
      const url = await rawSink(t, (socket) => void socket.write(text))
      assert.match((await sending(t).post(url)).error ?? '', /^The answer is not valid HTTP \(HPE_\w+\)\.$/)
    }
    const broken = await rawSink(
      t,
      (socket) => void socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nxyz\r\n'),
    )
    assert.partialDeepStrictEqual(await sending(t).post(broken), {
      responseStatus: 200,
      error: closed,
    })
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'
    const url = await rawSink(t, (socket) => void socket.write(upgrade))
    assert.equal((await sending(t).post(url)).error, closed)
  })
  test('a port without a listener, TLS on a port without TLS, and headers that cannot be sent', async (t) => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    const { post } = sending(t)
    assert.equal((await post(`http://hooks.example:${port}`)).error, 'The endpoint cannot be reached (ECONNREFUSED).')
    const { url } = await sink(t, (_, response) => void response.end())
    assert.match((await post(url.replace('http:', 'https:'))).error ?? '', /^The TLS connection failed \(\w+\)\.$/)
    assert.match(
      (await post(url, { headers: { a: 'b\r\nc: d' } })).error ?? '',
      /^The request failed \(ERR_INVALID_CHAR\)/,
    )
  })
})

describe('the guard', () => {
  test('refuses private hosts and names before anything is sent', async (t) => {
    const { url, sockets } = await sink(t, (_, response) => void response.end())
    const { post } = sending(t, false)
    const to = (host: string, protocol = 'https:') =>
      post(url.replace('http:', protocol).replace('hooks.example', host)).then(({ error }) => error)
    assert.equal(await to('hooks.example', 'http:'), 'The URL must be an absolute https URL.')
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '0x7f000001', 'localhost'])
      assert.equal(await to(host), 'The URL must not have a private host.')
    assert.equal(await to('user@hooks.example'), 'The URL must not have a user name or a password.')
    assert.equal(await to('hooks.example'), 'The host has no public address.')
    assert.equal(sockets.length, 0)
  })

  test('holds for the address of the connection: a name that changes between look-ups is not followed', {
    skip: without('openssl'),
  }, async (t) => {
    const { port, requests } = await secureSink(t)
    const connected: string[] = []
    routePublicToLoopback(t, connected)
    const answers = [['93.184.216.34'], ['127.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['2606:4700::1111', '93.184.216.34']]
    const { post } = sending(t, false, async () => answers.shift() ?? [])
    const attempt = (endpoint: string) => post(`https://hooks.example:${port}/`, { endpoint })
    assert.equal((await attempt('whe_1')).error, null)
    assert.deepEqual(connected, ['93.184.216.34'])
    for (const endpoint of ['whe_2', 'whe_3'])
      assert.equal((await attempt(endpoint)).error, 'The host has no public address.')
    assert.deepEqual([connected.length, requests()], [1, 1])
    assert.equal((await attempt('whe_4')).error, null)
    assert.deepEqual(connected.slice(1), ['2606:4700::1111', '93.184.216.34'])
    assert.equal(answers.length, 0)
    assert.equal((await attempt('whe_1')).error, null) // on the connection that was judged
    assert.equal(connected.length, 3)
  })

  test('TLS: a certificate that is not trusted, or of another name, is refused', {
    skip: without('openssl'),
  }, async (t) => {
    const { port, requests } = await secureSink(t)
    const { post } = sending(t)
    const other = await post(`https://other.example:${port}/`)
    assert.equal(other.error, 'The TLS connection failed (ERR_TLS_CERT_ALTNAME_INVALID).')
    assert.equal((await post(`https://hooks.example:${port}/`)).error, null)
    tls.setDefaultCACertificates([])
    const { error } = await post(`https://hooks.example:${port}/`, { endpoint: 'whe_2' })
    assert.equal(error, 'The TLS connection failed (DEPTH_ZERO_SELF_SIGNED_CERT).')
    assert.equal(requests(), 1)
  })
})
