/** A node with an asynchronous operation. As a process it runs those that are due, prints a line for each step, and stops at one. */
import { f, service } from 'bylaw'
import { callerGate, handlerSources } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { pause, serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { runJobsEvery, Worker } from '../../src/jobs/worker.ts'
import { openStore } from '../../src/terminal/open.ts'
import { throughFetch } from './door.ts'

export const bank = service({
  name: 'bank',
  resources: {
    accounts: {
      prefix: 'acc',
      fields: { balance: f.integer({ default: 0 }) },
      access: 'public',
      operations: {
        payments: {
          at: 'collection',
          input: { from: f.ref('accounts'), to: f.ref('accounts'), times: f.integer({ max: 1000 }) },
          output: { paid: f.integer() },
          asynchronous: true,
        },
        naps: { at: 'collection', asynchronous: true },
      },
    },
  },
  settings: { operations: { attempts: 20 } },
})

/** Pays in many steps, each after `before`; a nap lasts until it is cancelled. */
const payingAfter = (before: () => Promise<void>) =>
  bank.handlers({
    accounts: {
      async payments({ input: { from, to, times }, step }) {
        for (let i = 0; i < times; i++)
          await step(`payment ${i}`, async ({ change }) => {
            await before()
            if (import.meta.main) process.stdout.write('step\n')
            change('accounts', from, ({ balance }) => ({ balance: balance - 1 }))
            change('accounts', to, ({ balance }) => ({ balance: balance + 1 }))
          })
        return { paid: times }
      },
      async naps({ signal, attempt, log }) {
        log.info('It naps.')
        log.info(`Try ${attempt}.`)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('It was woken.'))))
      },
    },
  })

/** Opens a node whose clock is ahead; `heed` may wrap the store that the worker uses. */
export async function payingNode(url: string, ahead = 0, before = async () => {}, heed = (store: Store) => store) {
  const paying = payingAfter(before)
  const store = await openStore(paying, url, 'apply')
  const clock = { now: () => store.clock.now() + ahead, due: () => store.clock.due() + ahead }
  const world = { ...serviceWorld(realWorld, store), ...clock }
  const logged: string[] = []
  const line = (_: object, message: string) => void logged.push(message)
  const log = { error: line, warn: line, info: line }
  const sources = handlerSources(paying, store, world, log)
  if (!sources) throw new Error('There are no handlers.')
  const jobs = { sources: { ...sources, store: heed(store) }, settings: paying.settings.operations }
  const context = { service: paying, store, world, authenticate: callerGate(paying, store, world), log }
  const open = (wakeWorker?: () => void) =>
    throughFetch(fetchDoor({ ...context, handlers: sources, open: () => true, ...(wakeWorker && { wakeWorker }) }))
  const working = (interval: number) => {
    const worker = runJobsEvery(jobs, interval)
    return { ...worker, send: open(worker.wake) }
  }
  return { send: open(), worker: new Worker(jobs), working, world, logged, close: store.close }
}

if (import.meta.main) {
  const [, , url = '', ahead, last] = process.argv
  let begun = 0
  // The last step never ends, so that the test can kill the process in it.
  const before = () => (++begun > Number(last) ? new Promise<void>(() => {}) : Promise.resolve())
  const { worker, world, close } = await payingNode(url, Number(ahead), before)
  await worker.finish()
  await pause(world, 0)
  await close()
}
