/** `npm run bench:versions`: an item and a list of 50 in the newest version and three versions back, in turn, as ratios. */
import { fetchDoor } from '../src/http/fetch.ts'
import { gate } from '../src/http/house.ts'
import { realWorld } from '../src/http/world.ts'
import { openStore } from '../src/terminal/open.ts'
import history from '../test/help/history.ts'

const store = await openStore(history, 'sqlite::memory:', 'apply')
const world = realWorld([store.secret])
const log = { error: console.error, warn: () => {}, info: () => {} }
const authenticate = gate(history, store, world)
const door = fetchDoor({ service: history, store, world, log, authenticate, open: () => true })
const ask = async (path: string, json?: object) => {
  const sent = json
    ? { method: 'POST', body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
    : {}
  return (await door(new Request(`http://localhost${path}`, sent))).text()
}

const account = JSON.parse(await ask('/v4/accounts', { country: 'IT' })).id
const made: { id: string }[] = []
for (let i = 0; i < 100; i++)
  made.push(
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

async function time(path: string, rounds: number): Promise<number> {
  const started = performance.now()
  for (let i = 0; i < rounds; i++) await ask(path)
  return (performance.now() - started) / rounds
}

const id = made[0]?.id
const works = [
  ['an item', `/customers/${id}`, `/clients/${id}`, 2000, 2],
  ['a list of 50', '/customers?limit=50&cursor=', '/clients?limit=50&cursor=', 300, 3],
] as const
for (const [what, now, old, rounds, target] of works) {
  for (const label of ['v3', 'v1']) {
    const older = `/${label}${label === 'v1' ? old : now}`
    await time(older, rounds / 2)
    const ratios: number[] = []
    for (let i = 0; i < 7; i++) {
      const newest = await time(`/v4${now}`, rounds)
      ratios.push((await time(older, rounds)) / newest)
    }
    ratios.sort((a, b) => a - b)
    const [least, middle, most] = [ratios[0], ratios[3], ratios[6]].map((one) => one?.toFixed(2))
    console.log(
      `${what} in ${label} takes ${middle} times the newest one (${least} to ${most}; target at most ${target})`,
    )
  }
}
await store.close()
