/** Part 7 of the contract, errors: an answer that breaks off is never taken for a complete one. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { before, describe } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { f, service } from 'bylaw'
import { answerPhases, callerPhases, placePhases } from '../../src/corridor/handle.ts'
import { check, corridorOf } from '../../src/corridor/phase.ts'
import { type Door, doors, overSocket, spec } from '../help/door.ts'
import { startService } from '../help/process.ts'
import { answers, message } from '../help/wire.ts'

const shop = service({
  name: 'shop',
  settings: { limits: { writeTimeout: 'PT1S', idleTimeout: 'PT1S' }, list: { maxPageSize: 1000 } },
  resources: { notes: { prefix: 'not', plural: true, fields: { text: f.text({ max: 10_000 }) }, access: 'public' } },
})

/** The memory of an answer fails at the call that the request names: the second is made before any content is sent. */
const faults = check({
  name: 'faults',
  pass: () => {},
  completes: (_, way) => {
    const failing = Number(way.call.headers['x-fail-at'] ?? 0)
    const { space } = way.admission
    let calls = 0
    const set = (bytes: number) => {
      if (++calls === failing) throw new Error('The memory fails.')
      space?.set(bytes)
    }
    if (failing > 0) way.admission.space = { set, leave: () => space?.leave() }
  },
})
const corridor = corridorOf(faults, ...placePhases, ...callerPhases, ...answerPhases)

const page = '/notes?page_size=1000'
const random = (length: number) => Array.from({ length }, () => Math.random().toString(36).slice(2)).join('')

async function fill(door: Pick<Door, 'send'>): Promise<void> {
  for (let n = 0; n < 40; n++)
    await Promise.all(Array.from({ length: 25 }, () => door.send('POST', '/notes', { json: { text: random(800) } })))
}

interface Received {
  readonly text: string
  readonly ended: string
}

/** Returns what a client receives that starts to read when `begin` resolves, and how its connection ends. */
function receive(port: number, bytes: string, begin: Promise<unknown> = Promise.resolve()): Promise<Received> {
  return new Promise((resolve) => {
    let [text, ended] = ['', 'normally']
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.pause()
    begin.then(() => socket.resume())
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      ended = String(code)
    })
    socket.on('close', () => resolve({ text, ended }))
  })
}

/** Asserts that the connection was reset, and that the bytes before are not a complete answer. */
function broken({ text, ended }: Received, before: readonly number[] = []): void {
  assert.equal(ended, 'ECONNRESET', `${text.length} bytes: ${text.slice(0, 500)}`)
  if (text === '') return
  assert.throws(() => answers(text), /cut off|no answer/, String(before))
}

/** Asserts that the HTTP clients of Node report a broken answer. */
async function seenByClients(port: number, headers: Record<string, string>): Promise<void> {
  const byHttp = new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path: page, headers, agent: false }, async (incoming) => {
      incoming.on('error', reject).on('end', resolve).resume()
    })
    sent.on('error', reject).end()
  })
  await assert.rejects(byHttp, /aborted|ECONNRESET|hang up/)
  await assert.rejects(fetch(`http://127.0.0.1:${port}${page}`, { headers }).then((answer) => answer.text()))
}

doors(
  'broken answers',
  shop,
  (door) => {
    before(() => fill(door))
    const closed = ['Connection: close']

    for (const [what, at] of [
      ['before its content', 2],
      ['within its content', 3],
    ] as const)
      for (const coding of ['identity', 'gzip'])
        spec('R162', `a failure ${what} (${coding}) resets the connection, and the service goes on`, async () => {
          const lines = [`X-Fail-At: ${at}`, `Accept-Encoding: ${coding}`]
          const { errors } = door
          errors.length = 0
          for (const more of [[], closed]) broken(await receive(door.port, message(`GET ${page}`, [...lines, ...more])))
          await seenByClients(door.port, { 'x-fail-at': String(at), 'accept-encoding': coding })
          assert.equal(errors.length, 4)
          for (const error of errors) assert.match(String((error as { err: Error }).err), /The memory fails/)
          assert.equal(
            (await door.send('GET', page, { headers: { 'accept-encoding': coding } })).json.data.length,
            1000,
          )
        })

    spec('R162', 'a failure before the status line is an error with its body', async () => {
      const { text, ended } = await receive(door.port, message(`GET ${page}`, ['X-Fail-At: 1', ...closed]))
      assert.deepEqual([ended, answers(text)[0]?.status], ['normally', 500])
    })

    spec('R162', 'an answer without content is complete with its head', async () => {
      const head = message(`HEAD ${page}`, ['X-Fail-At: 2', ...closed])
      const { text, ended } = await receive(door.port, head)
      const [answer, ...more] = answers(text, 1)
      assert.deepEqual([ended, answer?.status, answer?.text, more], ['normally', 200, '', []])
      assert.ok(Number(answer?.headers['content-length']) > 1_000_000)
    })

    spec('R162', 'nothing is answered after it on its connection', async () => {
      const before = (await door.send('GET', '/notes')).json.pagination.totalRecords
      const create = message('POST /notes', ['Content-Type: application/json'], '{"text":"late"}')
      broken(await receive(door.port, message(`GET ${page}`, ['X-Fail-At: 3']) + create))
      assert.equal((await door.send('GET', '/notes')).json.pagination.totalRecords, before)
    })

    spec('R162', 'a client that stops reading is reset', async () => {
      // The client waits until even a slow machine has made the compressed answer, and has waited for a reader.
      const ways = [[], closed, ['Accept-Encoding: gzip']]
      const all = await Promise.all(ways.map((lines) => receive(door.port, message(`GET ${page}`, lines), pause(8000))))
      for (const one of all) broken(one)
      assert.equal((await door.send('GET', page)).status, 200)
    })

    spec('R162', 'an idle connection ends normally', async () => {
      const { text, ended } = await receive(door.port, message('GET /notes?page_size=1', ['Connection: keep-alive']))
      assert.deepEqual([ended, answers(text)[0]?.status], ['normally', 200])
    })
  },
  { socketOnly: true, corridor, database: 'sqlite::memory:' },
)

doors(
  'broken answers and their memory',
  shop,
  (door) => {
    before(() => fill(door))
    const failing = { 'x-fail-at': '3' }

    spec('R162', 'a broken answer leaves no memory behind', async () => {
      for (let n = 0; n < 80; n++)
        if (door.name === 'fetch')
          await assert.rejects(door.send('GET', page, { headers: failing }), /The memory fails/)
        else broken(await receive(door.port, message(`GET ${page}`, ['X-Fail-At: 3'])))
      assert.equal((await door.send('GET', page)).json.data.length, 1000)
    })
  },
  { corridor, database: 'sqlite::memory:' },
)

describe('the end of a service', () => {
  spec('R162 R186', 'resets a connection whose answer is not read in time', async () => {
    const { port, stop } = await startService(new URL('../help/large.ts', import.meta.url).pathname, {
      args: ['--drain', 'PT1S'],
    })
    await fill({ send: overSocket(port) })
    const stopped = Promise.withResolvers<void>()
    const stuck = receive(port, message(`GET ${page}`), stopped.promise)
    await overSocket(port)('GET', '/healthz')
    assert.equal(await stop(), 0)
    stopped.resolve()
    broken(await stuck)
  })
})
