/** `npm run fuzz -- --seconds 60 --seed 1`: sends malformed requests to a service. No 5xx, no crash, no hang, no growth. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { overSocket } from '../help/door.ts'
import { startService } from '../help/process.ts'
import { exchange } from './exchange.ts'
import { messagesOf, wrongWith } from './judge.ts'
import { mutate, random, seeds } from './mutate.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const seconds = Number(values.seconds)
const next = random(Number(values.seed))
const slow = 250
const lanes = 8

const service = await startService(new URL('../help/shop.ts', import.meta.url).pathname)
const send = overSocket(service.port)
const raw = seeds(await given())
const failures: { why: string; bytes: string }[] = []
let sent = 0

console.log(`fuzzing for ${seconds} s with seed ${values.seed} at ${service.url}`)
await Promise.all(Array.from({ length: 4 }, () => lane(2)))
const before = memory()
await Promise.all(Array.from({ length: lanes }, () => lane(seconds)))
await new Promise((resolve) => setTimeout(resolve, 500))
const after = memory()
const alive = (await send('GET', '/healthz')).status === 200
if (!alive) failures.push({ why: 'the service does not answer any more', bytes: '' })
if (after > before * 1.5 + 64) failures.push({ why: `memory grew from ${before} to ${after} MB`, bytes: '' })
await service.stop()
if (failures.length > 0) keep()
console.log(`${sent} requests, ${failures.length} failures, memory ${before} to ${after} MB`)
process.exitCode = failures.length > 0 ? 1 : 0

async function given(): Promise<Parameters<typeof seeds>[0]> {
  const made = async (path: string, json: unknown) => send('POST', path, { json })
  const { json, headers } = await made('/customers', { name: 'Ann', email: 'seed@example.com', country: 'IT' })
  for (let i = 0; i < 5; i++) await made('/customers', { name: `N${i}`, email: `n${i}@example.com`, country: 'DE' })
  const cus: string = json.id
  const ord: string = (await made('/orders', { customerId: cus, currency: 'EUR' })).json.id
  const line = { description: 'x', quantity: 1, unitPrice: '1.00' }
  const lin: string = (await made(`/orders/${ord}/order-lines`, line)).json.id
  const whs: string = (await made('/warehouses', { name: 'W' })).json.id
  const cursor: string = (await send('GET', '/customers?limit=2&cursor=')).json.pagination.nextCursor
  return { ids: { cus, ord, lin, whs }, cursor, etag: headers.etag as string }
}

async function lane(forSeconds: number): Promise<void> {
  const until = performance.now() + forSeconds * 1000
  while (performance.now() < until && failures.length < 20) {
    const bytes = mutate(raw[next(raw.length)] as string, raw[next(raw.length)] as string, next)
    const why = await judged(bytes)
    if (why !== null) failures.push({ why, bytes })
  }
}

/** Sends bytes and checks the answer; a slow answer counts only if it is slow three times. */
async function judged(bytes: string): Promise<string | null> {
  for (let tries = 1; ; tries++) {
    sent++
    const { answer, ms } = await exchange(service.port, Buffer.from(bytes, 'latin1'))
    if (ms > slow && tries < 3) continue
    if (ms > slow) return `no end after ${Math.round(ms)} ms`
    const messages = messagesOf(answer, bytes.includes('HEAD '))
    if (typeof messages === 'string') return messages
    const wrong = messages.map(wrongWith).find((one) => one !== null)
    return wrong ?? null
  }
}

/** Resident memory of the service in MB. */
function memory(): number {
  const pages = Number(readFileSync(`/proc/${service.pid}/statm`, 'utf8').split(' ')[1])
  return Math.round((pages * 4096) / 1_048_576)
}

function keep(): void {
  mkdirSync('test/fuzz/found', { recursive: true })
  writeFileSync(`test/fuzz/found/seed-${values.seed}.json`, JSON.stringify(failures, null, 2))
  for (const { why, bytes } of failures) console.log(`${why}\n  ${JSON.stringify(bytes.slice(0, 400))}`)
}
