/** `npm run bench:versions`: an item and a list of 50 in the newest version and three versions back, in turn, as ratios. */

import { callerGate } from '../src/corridor/server-context.ts'
import { realWorld } from '../src/flow/real-world.ts'
import { serviceWorld } from '../src/flow/world.ts'
import { fetchDoor } from '../src/http/fetch.ts'
import { openStore } from '../src/terminal/open.ts'
import history from '../test/help/history.ts'

const store = await openStore(history, 'sqlite::memory:', 'apply')
const world = serviceWorld(realWorld, store)
const log = { error: console.error, warn: () => {}, info: () => {} }
const authenticate = callerGate(history, store, world)
const door = fetchDoor({ service: history, store, world, log, authenticate, open: () => true })
const ask = async (path: string, json?: object) => {
  const sent = json
    ? { method: 'POST', body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
    : {}
  return (await door(new Request(`http://localhost${path}`, sent))).text()
}

const account = JSON.parse(await ask('/v4/accounts', { country: 'IT' })).id
const customers: { id: string }[] = []
for (let i = 0; i < 100; i++)
  customers.push(
    JSON.parse(
      await ask('/v4/customers', {
        name: `Ann Lee ${i}`,
        email: `ann${i}@example.com`,
        accountId: account,
        note: 'x'.repeat(80),
        metadata: { channel: 'web', campaign: 'autumn' },
      }),
    ),
  )

/** Replaces `*` in a path, so that each request is a new one, which no cache can answer. */
let requestNumber = 1000

/** The ratio of the CPU times of two requests, measured in short turns, so that other load of the machine affects both. */
async function ratio(newest: string, older: string, turns: number): Promise<number> {
  const spent = [0, 0]
  for (let turn = 0; turn < turns; turn++)
    for (const [i, path] of [newest, older].entries()) {
      const started = process.cpuUsage()
      for (let n = 0; n < 20; n++) await ask(path.replace('*', String(++requestNumber)))
      const { user, system } = process.cpuUsage(started)
      spent[i] = (spent[i] ?? 0) + user + system
    }
  return (spent[1] ?? 0) / (spent[0] ?? 1)
}

const id = customers[0]?.id
const comparisons = [
  ['an item', `/customers/${id}`, `/clients/${id}`, 100, 2],
  ['a list of 50', '/customers?limit=50&cursor=', '/clients?limit=50&cursor=', 20, 3],
  [
    'one that was not asked for',
    '/customers?limit=50&cursor=&score[lte]=*',
    '/clients?limit=50&cursor=&score[lte]=*',
    20,
    3,
  ],
] as const
for (const [what, now, old, turns, target] of comparisons) {
  for (const label of ['v3', 'v1']) {
    const older = `/${label}${label === 'v1' ? old : now}`
    await ratio(`/v4${now}`, older, turns)
    const ratios: number[] = []
    for (let i = 0; i < 9; i++) ratios.push(await ratio(`/v4${now}`, older, turns))
    ratios.sort((a, b) => a - b)
    const [least, middle, most] = [ratios[0], ratios[4], ratios[8]].map((one) => one?.toFixed(2))
    console.log(
      `${what} in ${label} takes ${middle} times the newest one (${least} to ${most}; target at most ${target})`,
    )
  }
}
await store.close()
