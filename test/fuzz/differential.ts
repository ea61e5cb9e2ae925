/** `npm run fuzz:differential -- --seconds 20`: compares a service with a bare node:http server; every difference has a reason. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { startService } from '../help/process.ts'
import { exchange } from './exchange.ts'
import { mutate, random, seeds } from './mutate.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, seed: { type: 'string', default: '1' } },
})

/** The reasons why the first answer differs from that of a bare server, which answers everything with 200. */
const reasons: Readonly<Record<string, string>> = {
  '200 400':
    'the bare server takes any message that its parser takes; the service reads host, target, parameters, conditions and content',
  '200 404': 'the bare server knows no paths',
  '200 405': 'the bare server knows no methods',
  '200 406': 'the bare server does not negotiate',
  '200 409': 'the bare server keeps nothing',
  '200 410': 'the bare server keeps nothing',
  '200 412': 'the bare server has no conditions',
  '200 413': 'the bare server does not count content',
  '200 414': 'the bare server does not count the target',
  '200 415': 'the bare server takes content of any type',
  '200 417': 'the bare server passes unknown expectations on',
  '200 431': 'the bare server counts header bytes alone',
  '200 421': 'the bare server answers for any host',
  '400 405': 'the parser does not know the method; the service says what is offered',
  '400 404': 'the parser does not know the method; the service knows no such path',
  '400 431': 'the service counts header fields before anything else',
  '400 414': 'the service counts the target before anything else',
  '400 417': 'the bare server misses the host first',
  '417 400': 'the service reads the message before its expectation',
  '417 404': 'the service looks for the path too',
  '417 405': 'the service looks for the method too',
  '417 431': 'the service counts the header fields before it reads one',
  '417 414': 'the service counts the target before it reads a header',
  '431 414': 'a long target is told apart from long headers',
  '431 400': 'the service gives headers more room, and then reads the message',
  '431 404': 'the service gives headers more room, and then reads the message',
  'none 400': 'the bare server closes without a word',
  'none 405': 'the bare server closes CONNECT without a word',
  'none 404': 'the bare server closes CONNECT without a word',
  'none 408': 'the bare server waits for the rest',
}

const bare = createServer((_, response) => response.end('{}'))
await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))
const service = await startService(new URL('../help/shop.ts', import.meta.url).pathname)
const next = random(Number(values.seed))
const id = '01h455vb4pex5vsknk084sn02q'
const ids = { cus: `cus_${id}`, ord: `ord_${id}`, lin: `lin_${id}`, whs: `whs_${id}` }
const given = seeds({ ids, cursor: 'AeInsq', etag: '"1-1-000000"' })
const seen = new Map<string, { count: number; example: string }>()
let sent = 0

const until = performance.now() + Number(values.seconds) * 1000
while (performance.now() < until) {
  const text = mutate(given[next(given.length)] as string, given[next(given.length)] as string, next)
  const bytes = Buffer.from(text, 'latin1')
  const [theirs, ours] = await Promise.all([
    exchange((bare.address() as AddressInfo).port, bytes),
    exchange(service.port, bytes),
  ])
  sent++
  const kind = `${statusOf(theirs.answer)} ${statusOf(ours.answer)}`
  seen.set(kind, { count: (seen.get(kind)?.count ?? 0) + 1, example: seen.get(kind)?.example ?? text })
}
await service.stop()
bare.close()
bare.closeAllConnections()
report()

/** The status of the first answer, `100 Continue` aside; a success of any kind is 200. */
function statusOf(answer: Buffer): string {
  const [, status] = /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 (\d{3})/.exec(answer.toString('latin1')) ?? []
  return status === undefined ? 'none' : /^(2..|304)$/.test(status) ? '200' : status
}

function report(): void {
  let unexplained = 0
  for (const [kind, { count, example }] of [...seen].sort((a, b) => b[1].count - a[1].count)) {
    const [theirs, ours] = kind.split(' ')
    const reason = theirs === ours ? 'the same' : reasons[kind]
    if (reason === undefined) unexplained++
    console.log(
      `${String(count).padStart(7)}  bare ${theirs}, ours ${ours}: ${reason ?? `NOT EXPLAINED ${JSON.stringify(example.slice(0, 300))}`}`,
    )
  }
  console.log(`${sent} requests, ${unexplained} kinds of difference without a reason`)
  process.exitCode = unexplained > 0 ? 1 : 0
}
