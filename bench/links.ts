/** `npm run bench:links`: an item and a list of 20 with links to actions and without, in turn, as ratios of CPU time. */
import { f, service } from 'bylaw'
import { callerGate } from '../src/corridor/server-context.ts'
import { realWorld } from '../src/flow/real-world.ts'
import { serviceWorld } from '../src/flow/world.ts'
import { listen } from '../src/http/node.ts'
import { openStore } from '../src/terminal/open.ts'

const orders = (links: 'actions' | 'none') =>
  ({
    fields: {
      note: f.text(),
      total: f.decimal({ scale: 2, filter: 'range' }),
      country: f.country(),
      tags: f.list(f.text()),
    },
    states: {
      field: 'status',
      initial: 'draft',
      transitions: {
        placements: { from: ['draft'], to: 'placed' },
        cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
      },
    },
    settings: { resource: { links } },
    access: 'public',
  }) as const

const shop = service({
  name: 'shop',
  resources: { linked: { plural: true, ...orders('actions') }, plain: { plural: true, ...orders('none') } },
})
const store = await openStore(shop, 'sqlite::memory:', 'apply')
const world = serviceWorld(realWorld, store)
const log = { error: console.error, warn: () => {}, info: () => {} }
const context = { service: shop, store, world, log, authenticate: callerGate(shop, store, world), open: () => true }
const server = await listen(context, { port: 0, host: '127.0.0.1' })

const ask = async (path: string, json?: object): Promise<string> => {
  const sent = json && { method: 'POST', body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
  return (await fetch(`${server.url}${path}`, sent)).text()
}

const ids = { linked: '', plain: '' }
for (const name of ['linked', 'plain'] as const)
  for (let i = 0; i < 60; i++)
    ids[name] = JSON.parse(
      await ask(`/${name}`, { note: 'x'.repeat(80), total: `${i}.50`, country: 'IT', tags: ['a', 'b'] }),
    ).id

let asked = 0

/** The CPU time of both, in short turns so that what else the machine does falls on both. A star makes each list a new one. */
async function ratio(linked: string, plain: string): Promise<number> {
  const spent = [0, 0]
  for (let turn = 0; turn < 20; turn++)
    for (const [i, path] of [plain, linked].entries()) {
      const started = process.cpuUsage()
      for (let n = 0; n < 20; n++) await ask(path.replace('*', String(++asked)))
      const { user, system } = process.cpuUsage(started)
      spent[i] = (spent[i] ?? 0) + user + system
    }
  return (spent[1] ?? 0) / (spent[0] ?? 1)
}

const works = [
  ['an item', `/linked/${ids.linked}`, `/plain/${ids.plain}`],
  ['a list of 20', '/linked?total[lte]=*&page_size=20', '/plain?total[lte]=*&page_size=20'],
] as const
for (const [what, linked, plain] of works) {
  await ratio(linked, plain)
  const ratios: number[] = []
  for (let i = 0; i < 9; i++) ratios.push(await ratio(linked, plain))
  ratios.sort((a, b) => a - b)
  const [least, middle, most] = [ratios[0], ratios[4], ratios[8]].map((one) => one?.toFixed(2))
  console.log(
    `${what} with links takes ${middle} times one without, client included (${least} to ${most}; target at most 1.10)`,
  )
}
await server.stop(100)
await store.close()
