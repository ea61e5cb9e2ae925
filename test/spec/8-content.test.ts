/** Part 8 of the contract: content is read completely, however it is split and whatever its request waits for. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { f, service } from 'bylaw'
import type { Store } from '../../src/flow/store.ts'
import { type Door, doors, spec } from '../help/door.ts'
import { answers, head, message, type RawAnswer } from '../help/wire.ts'

const notes = service({
  name: 'notes',
  resources: {
    notes: {
      prefix: 'not',
      fields: { text: f.text({ max: 1_000_000 }), tag: f.text({ filter: true, max: 20 }) },
      access: 'public',
    },
  },
  settings: { methods: { query: true }, query: { ignored: ['pad'] } },
  tiers: { anonymous: { hourly: 1_000_000 }, plain: { hourly: 1_000_000 } },
})

/** Steps of a request that can wait while its content arrives. */
const waits = ['nothing', 'the key', 'the quota', 'the request before it', 'Expect: 100-continue'] as const
type Wait = (typeof waits)[number]

/** The step that waits now, and the end of the wait. */
const held: { by: Wait; until: Promise<void> } = { by: 'nothing', until: Promise.resolve() }

const slow = (store: Store): Store => ({
  ...store,
  mark: () => null,
  execute: async (plan) => {
    if (held.by === 'the key' && plan.do === 'table') await held.until
    if (held.by === 'the request before it' && plan.do === 'read') await held.until
    return store.execute(plan)
  },
})

const ledger = async () => {
  if (held.by === 'the quota') await held.until
  return { used: 1, until: Number.MAX_SAFE_INTEGER }
}

const sizes = [1, 2000, 16_000, 65_000, 65_536, 66_000, 90_000, 131_072, 200_000, 900_000]

/** Splits content into pieces of the given lengths, which are repeated. */
function* cut(content: string, lengths: readonly number[]): Generator<string> {
  for (let at = 0, n = 0; at < content.length; n++) {
    const length = lengths[n % lengths.length] as number
    yield content.slice(at, at + length)
    at += length
  }
}

const cuts: readonly (readonly number[])[] = [[2_000_000], [45_000], [1, 65_535, 7, 30_000], [9973]]

const written = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => socket.write(text, (error) => (error ? reject(error) : resolve())))

interface Way {
  readonly wait: Wait
  readonly lengths: readonly number[]
  readonly chunked?: boolean
}

/** Sends a request while the service waits, until all content has been sent, or as much as the service accepts. */
async function sent(
  door: Door,
  line: string,
  content: string,
  { wait, lengths, chunked = false }: Way,
): Promise<RawAnswer> {
  let go = () => {}
  held.until = new Promise((resolve) => {
    go = resolve
  })
  held.by = wait
  const type = line.startsWith('QUERY') ? 'application/x-www-form-urlencoded' : 'application/json'
  const lines = [
    'Host: localhost',
    'Connection: close',
    `Content-Type: ${type}`,
    chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${content.length}`,
    ...(wait === 'the key' ? [`Authorization: ${door.as(`h${sent.count++}`).authorization}`] : []),
    ...(wait === 'Expect: 100-continue' ? ['Expect: 100-continue'] : []),
  ]
  const socket = connect({ port: door.port, host: '127.0.0.1' }).setNoDelay()
  let text = ''
  const over = new Promise<void>((resolve, reject) => socket.on('close', resolve).on('error', reject))
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  if (wait === 'the request before it') await written(socket, message('GET /notes/not_00000000000000000000000000'))
  await written(socket, head(`${line} HTTP/1.1`, ...lines))
  for (const piece of cut(content, lengths)) {
    await written(socket, chunked ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece)
    if (piece.length > 1000) await turn()
  }
  if (chunked) await written(socket, '0\r\n\r\n')
  for (let n = 0; n < 5; n++) await turn() // the service reads what has arrived
  go()
  await over
  held.by = 'nothing'
  return answers(text).at(-1) as RawAnswer
}
sent.count = 0

const holders = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`h${n}`, { tier: 'plain' }]))

doors(
  'content in pieces',
  notes,
  (door) => {
    for (const wait of waits)
      spec('R178', `content of any size and in any pieces arrives whole after a wait for ${wait}`, async () => {
        for (const size of sizes)
          for (const lengths of size > 500_000 ? cuts.slice(0, 2) : cuts)
            for (const chunked of [false, true]) {
              const text = `${'abcdefghi\\n'
                .repeat(Math.ceil(size / 11))
                .slice(0, size)
                .replace(/\\$/, 'x')}`
              const body = `{"tag":"t","text":"${text}"}`
              const reported = await sent(door, 'POST /notes', body, { wait, lengths, chunked })
              const about = `${size} in ${lengths} ${chunked ? 'chunked' : ''}: ${reported.text.slice(0, 300)}`
              assert.equal(reported.status, 201, about)
              assert.equal(reported.json.text, JSON.parse(body).text, about)
            }
      })

    spec('R178', 'PUT, PATCH and QUERY take their content whole too', async () => {
      for (const [n, wait] of waits.slice(0, 4).entries()) {
        const body = `{"tag":"t${n}","text":"${'x'.repeat(90_000)}"}`
        const way: Way = { wait, lengths: [45_000] }
        const made = await sent(door, 'POST /notes', body, way)
        for (const method of ['PATCH', 'PUT'])
          assert.equal(
            (await sent(door, `${method} /notes/${made.json.id}`, body, way)).status,
            200,
            `${method} ${wait}`,
          )
        // The condition is at the end of a long form.
        const form = (tag: string) => `pad=${'y'.repeat(90_000)}&tag=${tag}`
        const found = await sent(door, 'QUERY /notes', form(`t${n}`), way)
        assert.equal(found.json?.data?.length, 1, `${wait}: ${found.text.slice(0, 200)}`)
        assert.equal((await sent(door, 'QUERY /notes', form('none'), way)).json.data.length, 0, wait)
      }
    })
  },
  { socketOnly: true, store: slow, ledger, holders },
)
