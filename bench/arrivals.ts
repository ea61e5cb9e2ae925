/**
 * `npm run bench:arrivals`: the time from the answer to a creation until its event is in a stream, at an endpoint and in a
 * reaction; then the same while another endpoint hangs.
 */
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type Delivering, note, onBothStores } from './delivering.ts'
import { freePort } from './server.ts'

const [events, usual, worst] = [200, 250, 1000]
const places = ['stream', 'endpoint', 'reaction'] as const
type Place = (typeof places)[number]

/** When each item arrived, by the place. */
const arrived = new Map<Place, Map<string, number>>(places.map((one) => [one, new Map()]))
const arrives = (place: Place, id: string): void => {
  const times = arrived.get(place) as Map<string, number>
  if (!times.has(id)) times.set(id, performance.now())
}

const server = createServer(async (request, response) => {
  if (request.url === '/hang') return
  const text = Buffer.concat(await request.toArray()).toString()
  if (request.url === '/reaction') arrives('reaction', text)
  else arrives('endpoint', JSON.parse(text).data.id)
  response.writeHead(204).end()
})
const port = await freePort()
server.listen(port, '127.0.0.1')
const own = `http://127.0.0.1:${port}`

async function follow({ url, headers }: Delivering, signal: AbortSignal): Promise<void> {
  const response = await fetch(`${url}/events`, { headers: { ...headers, accept: 'text/event-stream' }, signal })
  let rest = ''
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    const lines = (rest + Buffer.from(chunk)).split('\n')
    rest = lines.pop() as string
    for (const line of lines) if (line.startsWith('data: {')) arrives('stream', JSON.parse(line.slice(6)).data.id)
  }
}

const share = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number

async function measure(store: string, what: string, { post }: Delivering): Promise<void> {
  const made = new Map<string, number>()
  for (let n = 0; n < events; n++) {
    const { id } = await post('/notes', note)
    made.set(id, performance.now())
    await pause(20 + Math.random() * 60)
  }
  const isThere = (place: Place) => [...made.keys()].every((id) => arrived.get(place)?.has(id))
  for (const end = Date.now() + 30_000; !places.every(isThere) && Date.now() < end; ) await pause(50)
  for (const place of places) {
    const times = arrived.get(place) as Map<string, number>
    const late = [...made].map(([id, at]) => Math.max(0, (times.get(id) ?? Number.POSITIVE_INFINITY) - at))
    const sorted = late.sort((a, b) => a - b)
    const [half, most] = [share(sorted, 0.5), share(sorted, 0.99)]
    const verdict = half <= usual && most <= worst ? '' : `, above ${usual} or ${worst} ms`
    console.log(`${store}, ${what}: ${place} p50 ${half.toFixed(0)} ms, p99 ${most.toFixed(0)} ms${verdict}`)
  }
}

async function compare(store: string, service: Delivering): Promise<void> {
  const stream = new AbortController()
  const following = follow(service, stream.signal).catch(() => {})
  await service.post('/webhook-endpoints', { url: `${own}/hook`, eventTypes: ['note.*'] })
  await pause(1000)
  await measure(store, 'alone', service)
  await service.post('/webhook-endpoints', { url: `${own}/hang`, eventTypes: ['note.*'] })
  await measure(store, 'beside an endpoint that hangs', service)
  stream.abort()
  await following
}

await onBothStores(compare, { BENCH_REACTION_URL: `${own}/reaction` }).finally(() => {
  server.close()
  server.closeAllConnections()
})
