/** One message of the database is changed: no request gets a wrong row or waits for ever, and the process goes on. */
import { after, before, type TestContext, test } from 'node:test'
import { random } from '../fuzz/mutate.ts'
import type { Cluster } from '../help/cluster.ts'
import { runsOf } from '../help/runs.ts'
import { until } from '../help/until.ts'
import { cutApi, steps } from './cut-steps.ts'
import { fastWorld, inTime, seed, serverWithPassword, trialOf, urlAt } from './cut-sweep.ts'
import { databaseOf, type Place, type Step } from './cut-trials.ts'
import { type MutatingProxy, message, mutatingProxy, mutations } from './mutating.ts'
import { type Node, node } from './service-on-server.ts'

let server: Cluster
before(async () => {
  server = await serverWithPassword()
})
after(() => server.close())

/** The most milliseconds that a request may wait, also on a busy machine. */
const patience = 20_000
const chance = random(seed)
const names = Object.keys(mutations)
const shown = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1').slice(0, 400))

interface Site extends Place {
  readonly proxy: MutatingProxy
  readonly usage: Node['usage']
}

async function siteOf(t: TestContext): Promise<Site> {
  const proxy = await mutatingProxy(t, server.port)
  const own = await node(urlAt(proxy.port), cutApi, fastWorld(10))
  const { rows, close } = await databaseOf(server.url)
  t.after(() => Promise.all([own.close(), close()]))
  return { call: own.call, usage: own.usage, rows, proxy }
}

interface Change {
  /** The name of the mutation. */
  readonly name: string
  readonly warm: number
  /** Which message is changed: the one with this number, or the next one of this type. */
  readonly which: number | string
}

/** Sends the requests of a step, and changes one of the messages that answer them. */
async function mutateOnce(site: Site, step: Step, { name, warm, which }: Change): Promise<void> {
  const { proxy, usage } = site
  const trial = await trialOf(site, step, warm)
  let change = 'there was no such message'
  proxy.arm(
    (...message) => message.includes(which),
    (message) => {
      const changed = mutations[name]?.(message, chance) ?? message
      change = `${shown(message)} became ${shown(changed)}`
      return changed
    },
  )
  try {
    const answers = await inTime(trial.send(), patience)
    proxy.disarm()
    await inTime(trial.check(answers, false), patience)
    await until(() => usage().connections.every(({ busy, waiting }) => busy === 0 && waiting === 0))
    const connections = usage().connections.reduce((sum, one) => sum + one.most, 0)
    await until(() => proxy.open() <= connections)
  } catch (cause) {
    throw new Error(`${step.name}, message ${which} ${name}: ${change}`, { cause })
  }
}

test('a message of an answer that is lost or sent twice is noticed, also if the next answer follows', async (t) => {
  const site = await siteOf(t)
  const some = steps.filter(({ name }) =>
    ['an item', 'several items at once', 'a creation with a key', 'a page'].includes(name),
  )
  for (const step of some)
    for (const name of ['left out', 'twice', 'longer', 'shorter', 'another count'])
      for (const which of '2DCZ') await mutateOnce(site, step, { name, warm: 2, which })
})

test('a connection whose login or whose messages are not understood is closed', async (t) => {
  const site = await siteOf(t)
  const [item] = steps as readonly [Step]
  const unknownLogin = message('R', '\0\0\0\x0aBOGUS\0\0')
  const rowOfNoQuery = message('D', '\0\0')
  for (const [type, warm, change] of [
    ['R', 0, () => unknownLogin],
    ['Z', 2, (bytes: Buffer) => Buffer.concat([bytes, rowOfNoQuery])],
  ] as const) {
    const trial = await trialOf(site, item, warm)
    site.proxy.arm((one) => one === type, change)
    await trial.check(await inTime(trial.send(), patience), false)
    await until(site.proxy.isClosed)
  }
})

test(`a changed message of the database costs a connection, and gives no wrong row (BYLAW_TEST_SEED=${seed})`, {
  timeout: 600_000,
}, async (t) => {
  const ends = await Promise.allSettled(
    Array.from({ length: 6 }, async () => {
      const site = await siteOf(t)
      for (let run = 0; run < runsOf(16); run++)
        for (const step of steps) {
          const warm = chance(5) === 0 ? 0 : 2
          const name = names[chance(names.length)] as string
          await mutateOnce(site, step, { name, warm, which: chance(warm === 0 ? 40 : 8) })
        }
    }),
  )
  const failures = ends.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} failed`)
})
