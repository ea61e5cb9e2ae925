/** `npm run bench:json`: strict JSON and JSON.parse on a body of 300 bytes, measured in turn, as a ratio. */
import { parseObject } from '../src/corridor/json.ts'

const body = JSON.stringify({
  customerId: 'cus_01h455vb4pex5vsknk084sn02q',
  currency: 'EUR',
  total: '1204.50',
  note: 'Please ring twice; the bell is "quiet".',
  quantity: 12,
  gift: false,
  tags: ['spring', 'fragile'],
  address: { street: 'Via Roma 1', city: 'Torino', zip: '10121' },
  metadata: { channel: 'web', campaign: 'autumn-2026' },
})
const bytes = Buffer.from(body)
const bounds = { maxDepth: 32, maxKeys: 1000 }
const rounds = 200_000

function time(work: () => unknown): number {
  const started = performance.now()
  for (let i = 0; i < rounds; i++) work()
  return performance.now() - started
}

const plain = () => JSON.parse(bytes.toString('utf8'))
const strict = () => parseObject(bytes, bounds)
time(plain)
time(strict)
const ratios = Array.from({ length: 7 }, () => {
  const a = time(plain)
  return time(strict) / a
}).toSorted((a, b) => a - b)
console.log(
  `${bytes.length} bytes: strict takes ${ratios[3]?.toFixed(2)} times the plain parser (${ratios[0]?.toFixed(2)} to ${ratios[6]?.toFixed(2)}; target under 3)`,
)
