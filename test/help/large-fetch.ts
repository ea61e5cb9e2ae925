/** Sends many requests for large pages through the fetch door, in a process with a small heap; prints the results. */

import { callerGate } from '../../src/corridor/server-context.ts'
import { Problem } from '../../src/errors/problem.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { makeAnswerMemory } from '../../src/limits/answer-memory.ts'
import { makeIntake } from '../../src/limits/intake.ts'
import { openStore } from '../../src/terminal/open.ts'
import large from './large.ts'

const store = await openStore(large, process.argv[2] as string, 'apply')
const world = serviceWorld(realWorld, store)
const log = { error: () => {}, warn: () => {}, info: () => {} }
const door = fetchDoor({
  service: large,
  store,
  world,
  authenticate: callerGate(large, store, world),
  log,
  open: () => true,
})
const at = (path: string, init?: RequestInit) => door(new Request(`http://localhost${path}`, init))
const headers = { 'content-type': 'application/json' }
const add = (text: string) => at('/notes', { method: 'POST', headers, body: JSON.stringify({ text }) })
for (let n = 0; n < 50; n++) await Promise.all(Array.from({ length: 20 }, () => add('x'.repeat(5900))))

const page = '/notes?page_size=1000'
const ways: ((n: number) => Promise<Response>)[] = [
  (n) => at(n % 2 === 0 ? page : `${page}&tag=a`),
  (n) => at(page, n % 2 === 0 ? {} : { method: 'HEAD' }),
  () => at(page, { headers: { 'accept-encoding': 'gzip' } }),
  () =>
    at('/notes', {
      method: 'QUERY',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'page_size=1000&tag=a',
    }),
]
const found = { answered: 0, refused: 0, other: 0 }
for (const way of ways)
  await Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      const answer = await way(n)
      const { length } = Buffer.from(await answer.arrayBuffer())
      if (answer.status === 200 && length !== 1) found.answered++
      else if (answer.status === 503 && Number(answer.headers.get('retry-after')) > 0) found.refused++
      else found.other++
    }),
  )
// Half of these answers are read in part and then cancelled, the others are cancelled before the first read.
await Promise.all(
  Array.from({ length: 60 }, async (_, n) => {
    const { body, status } = await at(page)
    if (status !== 200) return
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    if (n % 2 === 0) await reader.read()
    await reader.cancel()
  }),
)
// Uploads that fail must release their share of the memory for bodies.
const stopped = async (): Promise<void> => {
  let left = 4
  const body = new ReadableStream({
    pull: (control) => {
      if (left-- > 0) control.enqueue(new Uint8Array(200_000))
      else control.error(new Problem('malformed-request', 'It broke off.'))
    },
  })
  await at('/notes', { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
}
await Promise.all(Array.from({ length: 100 }, stopped))
const last = await at('/notes?page_size=5')
const held = [world.state.of(makeAnswerMemory, { store, world }).held(), world.state.of(makeIntake, world).held()]
console.log(JSON.stringify({ ...found, last: last.status, held }))
await store.close()
