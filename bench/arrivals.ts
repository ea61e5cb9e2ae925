/**
 * `npm run bench:arrivals`: the time from the answer to a creation until its event is in a stream, at an endpoint and in a
 * reaction; then the same while another endpoint hangs.
 */
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../test/help/free-port.ts'
import { type DeliveryService, note, onBothStores } from './delivering.ts'

const [events, medianBound, p99Bound] = [200, 250, 1000]
const consumers = ['stream', 'endpoint', 'reaction'] as const
type Consumer = (typeof consumers)[number]

/** By consumer, the time at which the event of each item arrived. */
const arrivalTimes = new Map<Consumer, Map<string, number>>(consumers.map((one) => [one, new Map()]))
const recordArrival = (consumer: Consumer, id: string): void => {
  const times = arrivalTimes.get(consumer) as Map<string, number>
  if (!times.has(id)) times.set(id, performance.now())
}

const server = createServer(async (request, response) => {
  if (request.url === '/hang') return
  const text = Buffer.concat(await request.toArray()).toString()
  if (request.url === '/reaction') recordArrival('reaction', text)
  else recordArrival('endpoint', JSON.parse(text).data.id)
  response.writeHead(204).end()
})
const port = await freePort()
server.listen(port, '127.0.0.1')
const receiverUrl = `http://127.0.0.1:${port}`

async function follow({ url, headers }: DeliveryService, signal: AbortSignal): Promise<void> {
  const response = await fetch(`${url}/events`, { headers: { ...headers, accept: 'text/event-stream' }, signal })
  let rest = ''
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    const lines = (rest + Buffer.from(chunk)).split('\n')
    rest = lines.pop() as string
    for (const line of lines) if (line.startsWith('data: {')) recordArrival('stream', JSON.parse(line.slice(6)).data.id)
  }
}

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number

async function measure(store: string, what: string, { post }: DeliveryService): Promise<void> {
  const createdAt = new Map<string, number>()
  for (let n = 0; n < events; n++) {
    const { id } = await post('/notes', note)
    createdAt.set(id, performance.now())
    await pause(20 + Math.random() * 60)
  }
  const isComplete = (consumer: Consumer) => [...createdAt.keys()].every((id) => arrivalTimes.get(consumer)?.has(id))
  for (const end = Date.now() + 30_000; !consumers.every(isComplete) && Date.now() < end; ) await pause(50)
  for (const consumer of consumers) {
    const times = arrivalTimes.get(consumer) as Map<string, number>
    const delays = [...createdAt].map(([id, at]) => Math.max(0, (times.get(id) ?? Number.POSITIVE_INFINITY) - at))
    const sorted = delays.sort((a, b) => a - b)
    const [half, most] = [quantile(sorted, 0.5), quantile(sorted, 0.99)]
    const verdict = half <= medianBound && most <= p99Bound ? '' : `, above ${medianBound} or ${p99Bound} ms`
    console.log(`${store}, ${what}: ${consumer} p50 ${half.toFixed(0)} ms, p99 ${most.toFixed(0)} ms${verdict}`)
  }
}

async function compare(store: string, service: DeliveryService): Promise<void> {
  const stream = new AbortController()
  const following = follow(service, stream.signal).catch(() => {})
  await service.post('/webhook-endpoints', { url: `${receiverUrl}/hook`, eventTypes: ['note.*'] })
  await pause(1000)
  await measure(store, 'alone', service)
  await service.post('/webhook-endpoints', { url: `${receiverUrl}/hang`, eventTypes: ['note.*'] })
  await measure(store, 'while another endpoint hangs', service)
  stream.abort()
  await following
}

await onBothStores(compare, { BENCH_REACTION_URL: `${receiverUrl}/reaction` }).finally(() => {
  server.close()
  server.closeAllConnections()
})
