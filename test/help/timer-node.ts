/** A node with transitions by the clock. As a process it carries out those that are due, and kills itself when a given one begins. */
import { f, service } from 'bylaw'
import { callerGate } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { runDueTimers, type TimerContext } from '../../src/timers/run-timers.ts'
import { throughFetch } from './door.ts'

/** A reminder leads back to the same state, so that only its timer prevents it from firing twice. */
export const reminding = service({
  name: 'tasks',
  resources: {
    tasks: {
      prefix: 'tsk',
      fields: { remindAt: f.timestamp({ optional: true }) },
      states: {
        field: 'status',
        initial: 'open',
        transitions: { reminders: { from: ['open'], to: 'open', at: 'remindAt', set: { remindAt: null } } },
      },
      access: 'public',
    },
  },
})

/** Opens a node whose clock is ahead; `heed` may wrap the store that the timers use. */
export async function remindingNode(url: string, ahead = 0, heed = (store: Store) => store) {
  const store = await openStore(reminding, url, 'apply')
  const clock = { now: () => store.clock.now() + ahead, due: () => store.clock.due() + ahead }
  const world = { ...serviceWorld(realWorld, store), ...clock }
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const authenticate = callerGate(reminding, store, world)
  const send = throughFetch(fetchDoor({ service: reminding, store, world, authenticate, log, open: () => true }))
  const { resources, writer } = reminding
  const timers: TimerContext = { resources, writer, store: heed(store), world, log }
  return { send, timers, close: store.close }
}

if (import.meta.main) {
  const [, , url = '', ahead, count] = process.argv
  let begun = 0
  const heed = (store: Store): Store => ({
    ...store,
    execute: (plan) => {
      if (plan.do === 'decide' && plan.read.do === 'read' && ++begun === Number(count))
        process.kill(process.pid, 'SIGKILL')
      return store.execute(plan)
    },
  })
  const { timers, close } = await remindingNode(url, Number(ahead), heed)
  await runDueTimers(timers)
  await close()
}
