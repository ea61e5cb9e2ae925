/** Wire server: reads with back-pressure, ends connections in time, and writes answers. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { MemorySocket } from '../../test/help/memory-socket.ts'
import { testWorld } from '../../test/help/world.ts'
import type { ContentBuffer } from './content-buffer.ts'
import type { Fault } from './header-lines.ts'
import { WireServer } from './wire-server.ts'
import type { WrittenAnswer } from './written-answer.ts'

const limits = { head: 1000, headersTimeout: 10_000, requestTimeout: 30_000, idleTimeout: 75_000, requests: 100 }

/** A connection whose requests the test answers. */
function connected() {
  const world = testWorld()
  const asked: { readonly content: ContentBuffer | null; readonly answer: WrittenAnswer }[] = []
  const faults: Fault[] = []
  const server = new WireServer({
    ...{ limits, world, methods: new Set(['GET', 'POST', 'HEAD']), failure: (fault) => fault, timeout: () => {} },
    request: (_, content, answer) => asked.push({ content, answer }),
    refuse: (fault) => faults.push(fault),
  })
  const socket = new MemorySocket({ allowHalfOpen: true })
  server.emit('connection', socket)
  const reply = (headers = {}, body: string | null = null) => asked.shift()?.answer.writeHead(200, headers).end(body)
  const text = () => Buffer.concat(socket.sent.splice(0)).toString('latin1')
  return { world, server, socket, asked, faults, reply, text }
}

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const post = (length: number) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`

it('R18: of pipelined requests 64 are read, and more when half of them have answers', async () => {
  const { socket, asked, reply } = connected()
  socket.push(get.repeat(90))
  await turn()
  assert.deepEqual([asked.length, socket.isPaused()], [64, true])
  for (let i = 0; i < 31; i++) reply()
  assert.equal(asked.length, 33)
  reply()
  await turn()
  assert.deepEqual([asked.length, socket.isPaused()], [58, false])
})

it('R178: while 64 KiB of content are not taken, nothing more is read', async () => {
  const { socket, asked } = connected()
  socket.push(post(200_000))
  socket.push(Buffer.alloc(65_537))
  await turn()
  assert.equal(socket.isPaused(), true)
  const pieces = asked[0]?.content?.pieces()
  assert.equal((await pieces?.next())?.value?.length, 65_537)
  assert.equal(socket.isPaused(), false)
})

it('R178: small chunks of one read are one piece', async () => {
  const { socket, asked } = connected()
  socket.push(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(1000)}0\r\n\r\n`)
  await turn()
  const taken = await asked[0]?.content?.pieces().next()
  assert.equal(taken?.value?.toString(), 'x'.repeat(1000))
})

it('R180: a head, content and an idle connection have their times', async () => {
  const head = connected()
  head.socket.push('GET / HTTP')
  await turn()
  head.world.tick(12_000)
  assert.deepEqual(head.faults, [{ kind: 'late', reason: '' }])
  const content = connected()
  content.socket.push(`${post(5)}abc`)
  await turn()
  content.world.tick(20_000)
  const buffer = content.asked[0]?.content
  assert.equal(buffer?.failure, undefined)
  content.world.tick(12_000)
  await assert.rejects(async () => buffer?.pieces().next(), { kind: 'late' })
  const idle = connected()
  idle.socket.push(get)
  await turn()
  idle.world.tick(500_000)
  assert.equal(idle.socket.destroyed, false, 'a request that has no answer is not idle')
  idle.reply()
  idle.world.tick(75_000)
  assert.equal(idle.socket.destroyed, false, 'the time begins with the next check')
  idle.world.tick(4000)
  assert.equal(idle.socket.destroyed, true)
})

it('R180: time in which the process did not run is not that of a client', async () => {
  const { world, socket, faults } = connected()
  socket.push('GET / HTTP')
  await turn()
  world.leap(60_000)
  world.tick(5000)
  assert.deepEqual(faults, [])
  world.tick(10_000)
  assert.equal(faults.length, 1)
})

it('R18: CVE-2016-2216: an answer whose header would end its line is not sent', async () => {
  const values = ['a\r\nX: b', 'a\nb', 'a\u560d\u560aX: b', '\0', '\u0130'].map((value) => ({ Link: value }))
  for (const headers of [...values, { 'A\r\nB': 'c' }]) {
    const { socket, reply, text } = connected()
    socket.push(get)
    await turn()
    assert.throws(() => reply(headers), /cannot be sent/)
    assert.equal(text(), '')
  }
})

it('R10: an answer says where its content ends', async () => {
  const lines = 'Connection: keep-alive\r\nKeep-Alive: timeout=75\r\n'
  const { socket, reply, text, asked } = connected()
  socket.push(get.repeat(3) + get.replace('GET', 'HEAD'))
  await turn()
  reply({ 'Content-Length': '2' }, 'ok')
  assert.equal(text(), `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${lines}\r\nok`)
  reply({}, 'é')
  assert.equal(text(), `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${lines}\r\n\xc3\xa9`)
  const streamed = asked.shift()?.answer.writeHead(200, {})
  streamed?.flushHeaders()
  for (const piece of ['a', '', 'é']) streamed?.write(piece)
  streamed?.end()
  assert.equal(
    text(),
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${lines}\r\n1\r\na\r\n2\r\n\xc3\xa9\r\n0\r\n\r\n`,
  )
  let closed = false
  streamed?.on('close', () => {
    closed = true
  })
  await turn()
  assert.equal(closed, true, 'the end of a stream is told after its listeners could be added')
  reply()
  assert.equal(text(), `HTTP/1.1 200 OK\r\n${lines}\r\n`)
  const old = connected()
  old.socket.push('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
  await turn()
  const until = old.asked.shift()?.answer.writeHead(200, {})
  until?.write('a')
  until?.end()
  await turn()
  assert.deepEqual([old.text(), old.socket.writableEnded], ['HTTP/1.1 200 OK\r\nConnection: close\r\n\r\na', true])
})

it('R186: a stop closes connections without a request, and leaves others', async () => {
  const { server, socket, reply } = connected()
  socket.push(get)
  await turn()
  server.close()
  assert.equal(socket.destroyed, false)
  reply()
  server.close()
  assert.equal(socket.destroyed, true)
})
