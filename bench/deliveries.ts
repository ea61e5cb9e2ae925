/** `npm run bench:deliveries`: deliveries of events to a server, against loops that send the same bodies by `fetch`, in turn. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../test/help/free-port.ts'
import { type DeliveryService, log, note, onBothStores } from './delivering.ts'
import { median } from './report.ts'
import { pinned, type RunningServer, serve } from './server.ts'

const here = import.meta.dirname
const [rounds, events, bound] = [5, 2000, 0.5]

const receivedCount = async ({ url }: RunningServer): Promise<number> => Number(await (await fetch(url)).text())

/** Deliveries a second, from the call of `act` until the sink has received all of them. */
async function rateOf(sink: RunningServer, act: () => Promise<unknown>): Promise<number> {
  const before = await receivedCount(sink)
  const start = performance.now()
  await act()
  while ((await receivedCount(sink)) < before + events) await pause(10)
  return (events / (performance.now() - start)) * 1000
}

/** Requests a second of loops of `fetch` in a separate process, on the core that the service runs on. */
function rateOfLoops(sink: RunningServer, body: string, most: number): number {
  const args = [join(here, 'fetch-loop.ts'), `${sink.url}/hook`, body, String(events), String(most)]
  const [command, ...rest] = pinned(0, process.execPath, ...args) as [string, ...string[]]
  return Number(spawnSync(command, rest, { encoding: 'utf8' }).stdout)
}

async function compare(store: string, { url, headers, post }: DeliveryService, sink: RunningServer): Promise<void> {
  for (let n = 0; n < events; n += 20) await Promise.all(Array.from({ length: 20 }, () => post('/notes', note)))
  await pause(1000)
  const { id } = await post('/webhook-endpoints', { url: `${sink.url}/hook`, eventTypes: ['note.created'] })
  const replay = () => post(`/webhook-endpoints/${id}/replays`, { since: '2020-01-01T00:00:00Z' })
  const sample = (await (await fetch(`${url}/events?limit=1`, { headers })).json()) as { data: object[] }
  const body = JSON.stringify(sample.data[0])
  const sides = [() => rateOf(sink, replay), () => rateOfLoops(sink, body, 1), () => rateOfLoops(sink, body, 10)]
  const rates = sides.map((): number[] => [])
  for (let round = 0; round <= rounds; round++)
    for (const [i, act] of sides.entries()) {
      const rate = await act()
      if (round > 0) rates[i]?.push(rate)
      await pause(500)
    }
  const [own = 0, loop = 0, ten = 0] = rates.map(median)
  const verdict = own / loop >= bound ? '' : `, below ${bound}`
  console.log(
    `${store}: ${own.toFixed(0)} deliveries a second; a loop of fetch ${loop.toFixed(0)}: ${(own / loop).toFixed(2)} times as many${verdict}; ten loops at once ${ten.toFixed(0)}: ${(own / ten).toFixed(2)}`,
  )
}

const port = await freePort()
const sink = await serve([join(here, 'sink.ts'), String(port)], port, log('sink'), {}, 1)
await onBothStores((store, service) => compare(store, service, sink)).finally(sink.stop)
