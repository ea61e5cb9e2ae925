/** Malformed messages from the database end a connection, never the process, and the next request succeeds. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { random } from '../fuzz/mutate.ts'
import { cluster } from '../help/cluster.ts'
import { isFull, runsOf } from '../help/runs.ts'
import { node, untilWell } from './service-on-server.ts'

interface Garbling {
  readonly port: number
  /** Sends bytes to all open connections. */
  readonly say: (bytes: Buffer) => void
  /** Ends all connections, and waits until the service has ended them too. */
  readonly cut: () => Promise<void>
  /** Replaces the server's next answer. */
  answer: Buffer | null
  /** The number of answers before that one. */
  skip: number
  /** Replaces the server's first answer to each new connection, which is then ended. */
  greeting: Buffer | null
  /** The number of these connections. */
  greeted: number
}

/** A proxy between a service and its server, which can replace the server's answers. */
async function garbling(t: TestContext, port: number): Promise<Garbling> {
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => {})
    open.add(near)
    near.on('close', () => {
      open.delete(near)
      far.destroy()
    })
    far.on('close', () => near.destroy())
    near.pipe(far)
    let isNew = true
    far.on('data', (bytes) => {
      const greeting = isNew ? own.greeting : null
      isNew = false
      if (greeting) {
        own.greeted++
        near.end(greeting)
        return
      }
      const isNext = own.answer !== null && own.skip-- === 0
      const said = isNext ? (own.answer as Buffer) : bytes
      if (isNext) own.answer = null
      if (near.writable) near.write(said)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const own: Garbling = {
    port: (server.address() as { port: number }).port,
    say: (bytes) => {
      for (const socket of open) if (socket.writable) socket.write(bytes)
    },
    cut: async () => {
      const all = [...open]
      const closed = all.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      for (const socket of all) socket.end()
      await Promise.all(closed)
    },
    answer: null,
    skip: 0,
    greeting: null,
    greeted: 0,
  }
  return own
}

/** A message of the protocol with the correct length. */
function message(code: string, body: string | Buffer): Buffer {
  const [head, content] = [Buffer.alloc(5), Buffer.from(body as string, 'latin1')]
  head.write(code, 'latin1')
  head.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}

/** The description of the columns of an answer. */
const columns = (count: number, ...names: readonly string[]): Buffer =>
  message('T', `\0${String.fromCharCode(count)}${names.map((name) => `${name}\0${'\0'.repeat(18)}`).join('')}`)
/** A row of one column, and the end of the answer. */
const rest = [message('D', '\0\x01\0\0\0\x02{}'), message('C', 'SELECT 1\0'), message('Z', 'I')]

const samples: readonly Buffer[] = [
  columns(3, 'doc'),
  Buffer.concat([columns(3, 'doc'), ...rest]),
  Buffer.concat([columns(1, 'doc', 'hidden'), ...rest]),
  Buffer.concat([columns(0), ...rest]),
  Buffer.concat([columns(2, 'doc', 'hidden'), ...rest]),
  message('T', '\0'),
  message('E', 'SERROR\0MIt has no code.\0\0'),
  Buffer.from('HTTP/1.1 400 '),
  Buffer.from('SSH-2.0-OpenS'),
  message('E', 'MNo end.'),
  message('E', 'MNo end.\0'),
  message('E', 'M'),
  message('E', ''),
  message('E', 'SFATAL\0C57P01\0MGone.\0\0\0'),
  message('N', 'MNo end.'),
  message('D', '\0\x01\0\0\0\x02ab'),
  message('D', '\x7f\xff'),
  message('D', '\xff\xff'),
  message('T', '\x7f\xffx'),
  message('C', 'SELECT 1\0'),
  message('Z', 'I'),
  message('Z', ''),
  message('R', '\0\0\0\x63'),
  message('R', '\0\0\0\x0b'),
  message('R', ''),
  message('R', '\0\0\0\x0aBOGUS\0\0'),
  message('R', '\0\0\0\x0cv=x'),
  message('S', 'no end'),
  message('K', '\0'),
  message('A', ''),
  message('G', '\0\0\0'),
  message('W', '\0\0\0'),
  message('1', ''),
  message('I', ''),
  message('s', ''),
  message('d', ''),
  message('c', ''),
  message('t', '\x7f\xff'),
  Buffer.from('Z\0\0\0\0I'),
  Buffer.from('D\xff\xff\xff\xff', 'latin1'),
  Buffer.from([0]),
]

function* noise(count: number): Generator<Buffer> {
  const next = random(7)
  for (let i = 0; i < count; i++) {
    const bytes = Buffer.from(Array.from({ length: 1 + next(40) }, () => next(256)))
    yield next(2) === 0 ? bytes : message('12ACDEGIKNRSTZcdnst'[next(19)] as string, bytes)
  }
}

test('bytes that are not the protocol cost a connection and nothing else, at any time', {
  timeout: 300_000,
}, async (t) => {
  const server = await cluster(['shared_buffers=16MB'])
  t.after(server.close)
  const between = await garbling(t, server.port)
  const own = await node(server.url.replace(String(server.port), String(between.port)))
  t.after(() => void own.close())
  const { json } = await own.call('POST', '/things', { name: 'one' })
  const ask = () => own.call('GET', `/things/${json.id}`)
  const list = () => own.call('GET', '/things?page=1')
  const write = () => own.call('PATCH', `/things/${json.id}`, { count: 1 })
  let turn = 0
  for (const [i, bytes] of [...samples, ...noise(runsOf(40))].entries())
    for (const act of isFull ? [ask, list, write] : [[ask, list, write][i % 3] ?? ask]) {
      between.skip = turn++ % 2
      between.answer = bytes // on a connection with a query
      const reported = await Promise.race([act(), pause(20)])
      if (reported)
        assert.ok(
          reported.status < 500 || reported.retryAfter !== null,
          `${act.name} ${reported.status} ${JSON.stringify(bytes.toString('latin1'))}`,
        )
      between.answer = null
      between.say(bytes) // on all connections, without a query
      await Promise.race([ask(), pause(20)])
      between.say(message('E', 'SFATAL\0C57P01\0MGone.\0\0')) // ends connections that wait for the rest of a message
      between.say(Buffer.alloc(64))
      await between.cut() // a list and an item may use different connections
      await untilWell(ask)
      assert.equal((await ask()).json.name, 'one', bytes.toString('latin1'))
      await untilWell(list)
      assert.equal((await list()).json.data.length, 1)
    }
})

test('a new connection that does not speak the protocol is an outage for the requests that need one', {
  timeout: 300_000,
}, async (t) => {
  const server = await cluster(['shared_buffers=16MB'])
  t.after(server.close)
  const between = await garbling(t, server.port)
  const own = await node(server.url.replace(String(server.port), String(between.port)))
  t.after(() => void own.close())
  const { json } = await own.call('POST', '/things', { name: 'one' })
  const asks = [
    () => own.call('GET', `/things/${json.id}`),
    () => own.call('GET', '/things?page=1'),
    () => own.call('PATCH', `/things/${json.id}`, { name: 'one' }),
  ]
  for (const bytes of [...samples, ...noise(runsOf(20))]) {
    between.greeting = bytes
    between.greeted = 0
    await between.cut()
    for (const { status, retryAfter } of await Promise.all(asks.map((ask) => ask()))) {
      assert.equal(status, 503, `after ${JSON.stringify(bytes.toString('latin1'))}`)
      assert.match(retryAfter ?? '', /^[1-9]\d*$/)
    }
    assert.ok(between.greeted > 0)
    between.greeting = null
    for (const ask of asks) await untilWell(ask)
  }
})
