/**
 * `npm run fuzz:engines -- --seconds 60 --seed 1`: the same bytes, cut at the same places, go to node:http and to our own
 * engine. Both must give the service the same requests and refuse the same bytes, and our own must not depend on the cuts.
 */
import { parseArgs } from 'node:util'
import { acceptedDifference, sameForAnyCuts } from './accepted.ts'
import { echoServers, type Seen } from './echo.ts'
import { random } from './mutate.ts'
import { stream } from './streams.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    show: { type: 'string', default: '5' },
  },
})
const next = random(Number(values.seed))
const { node, own } = await echoServers()
const counts = new Map<string, number>()
const found: string[] = []
let streams = 0
let requests = 0

const note = (reason: string): void => void counts.set(reason, (counts.get(reason) ?? 0) + 1)
const text = (seen: readonly Seen[]): string => JSON.stringify(seen)

/** Cuts a stream: not at all, after each byte, or at some places. */
function cut(bytes: Buffer): Buffer[] {
  const how = next(4)
  if (how === 0) return [bytes]
  if (how === 1) return Array.from(bytes, (byte) => Buffer.of(byte))
  const places = Array.from({ length: 1 + next(4) }, () => next(bytes.length + 1)).sort((a, b) => a - b)
  return [...places, bytes.length]
    .map((end, i) => bytes.subarray(i === 0 ? 0 : places[i - 1], end))
    .filter((one) => one.length > 0)
}

async function tryStream(bytes: Buffer): Promise<void> {
  const pieces = cut(bytes)
  const slow = next(4) === 0
  const [theirs, ours, whole] = await Promise.all([
    node.converse(pieces, slow),
    own.converse(pieces, slow),
    own.converse([bytes]),
  ])
  streams++
  requests += theirs.length
  if (!sameForAnyCuts(bytes.toString('latin1'), whole, ours))
    found.push(report('our own engine depends on the cuts', bytes, whole, ours, pieces))
  if (text(theirs) === text(ours)) return note('the same')
  const reason = acceptedDifference(bytes.toString('latin1'), theirs, ours)
  note(reason ?? 'NOT EXPLAINED')
  if (reason === null) found.push(report('a difference without a reason', bytes, theirs, ours, pieces))
}

const short = (text: string): string =>
  text
    .replace(/x{50,}/g, 'xxx')
    .replace(/y{50,}/g, 'yyy')
    .replace(/a{50,}/g, 'aaa')

const report = (
  what: string,
  bytes: Buffer,
  one: readonly Seen[],
  other: readonly Seen[],
  pieces: readonly Buffer[],
): string =>
  short(
    `${what}\n  ${JSON.stringify(bytes.toString('latin1'))}\n  in ${pieces.length} pieces: ${pieces.slice(0, 5).map(({ length }) => length)}\n  ${text(one)}\n  ${text(other)}`,
  )

console.log(`fuzzing with seed ${values.seed}`)
const until = performance.now() + Number(values.seconds) * 1000
async function lane(): Promise<void> {
  while (performance.now() < until && found.length < Number(values.show))
    await tryStream(Buffer.from(stream(next), 'latin1'))
}
await Promise.all(Array.from({ length: 32 }, lane))
for (const [reason, count] of [...counts].sort((a, b) => b[1] - a[1]))
  console.log(`${String(count).padStart(8)}  ${reason}`)
for (const one of found) console.log(one)
for (const error of [...node.errors, ...own.errors].slice(0, 5)) console.log('logged', error)
const failures = found.length + own.errors.length
console.log(`${streams} streams, ${requests} answers, ${failures} failures`)
process.exit(failures > 0 ? 1 : 0)
